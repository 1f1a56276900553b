"""The picture on which method is for which situation, wide and narrow, as HTML.

conf.py calls `write` before anything is read. The pictures take their colours from the theme, so
they follow it from light to dark, and their boxes are links.
"""

from html import escape

START = "You have a fitted model"
UNSURE = ("Not sure, or in a hurry?", "simplify", "tries all and recommends one")
GUIDE = "how_to/"
# Situation, and of each method: when, name, page, promise in a few words.
SITUATIONS = [
    (
        "You want one tree",
        [
            ("exactly the same answers", "Born-again tree", "born_again", "proven equal"),
            ("answers close to the model's", "Representer tree", "representer", "measured"),
            ("values within a tolerance", "Born-again regressor", "born_again_regressor", "proven"),
            ("accuracy only", "GENESIM", "genesim", "measured; try a plain tree first"),
        ],
    ),
    (
        "You want points to add up",
        [("a few bins of each feature", "Scorecard", "scorecard", "measured")],
    ),
    (
        "You want fewer trees",
        [("with the same answers", "Faithful pruning", "faithful_pruning", "proven equal")],
    ),
    (
        "Features cost money or time",
        [("pay for fewer of them", "Feature budget", "feature_budget", "best error for the cost")],
    ),
    (
        "You must know when it is unsure",
        [("one soft tree, or abstain", "Cultivated forest", "cultivated", "measured")],
    ),
    (
        "You want to check a model",
        [
            ("are two models equal?", "verify", "verify", "proof or counterexample"),
            ("which feature, which change?", "is_monotone, nearest_flip", "audit", "proof"),
        ],
    ),
    (
        "You want it in SQL or C",
        [("a tree, or the whole ensemble", "Export", "export", "the same answers")],
    ),
]
METHOD, GAP = 44, 10


def _text(x, y, text, kind):
    return f'<text x="{x}" y="{y}" class="{kind}">{escape(text)}</text>'


def _box(x, y, width, height, kind):
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="7" class="{kind}"/>'


def _method(x, y, width, when, name, page, promise):
    return (
        f'<a href="{GUIDE}{page}.html">{_box(x, y, width, METHOD, "method")}'
        f"{_text(x + 12, y + 18, when, 'when')}{_text(x + 12, y + 36, name, 'name')}"
        f'<text x="{x + width - 12}" y="{y + 36}" class="promise">{escape(promise)}</text></a>'
    )


def _curve(x, y, to_x, to_y):
    middle = (x + to_x) / 2
    return f'<path d="M{x} {y}C{middle} {y} {middle} {to_y} {to_x} {to_y}" class="edge"/>'


def _svg(kind, width, height, content):
    return (
        f'<svg class="decision {kind}" viewBox="-2 -2 {width + 4} {height + 4}" role="img" '
        f'xmlns="http://www.w3.org/2000/svg"><title>Which method for which situation</title>'
        f"{''.join(content)}</svg>\n"
    )


def wide():
    """From left to right: the model, the situations, the methods."""
    y, content, edges, middles = 0, [], [], []
    for situation, methods in SITUATIONS:
        block = len(methods) * (METHOD + GAP) - GAP
        middle = y + block / 2
        middles.append(middle)
        content += [
            _box(206, middle - 20, 270, 40, "situation"),
            _text(341, middle + 5, situation, "center"),
        ]
        for method in methods:
            edges.append(_curve(476, middle, 522, y + METHOD / 2))
            content.append(_method(522, y, 398, *method))
            y += METHOD + GAP
        y += 6
    height = y - GAP - 6
    start = height / 2 - 40
    edges += [_curve(160, start, 206, middle) for middle in middles]
    head, name, _ = UNSURE
    content += [
        _box(0, start - 26, 160, 52, "start"),
        _text(80, start - 3, "You have", "center strong"),
        _text(80, start + 15, "a fitted model", "center strong"),
        f'<path d="M80 {start + 26}V{start + 64}" class="edge"/>',
        f'<a href="{GUIDE}simplify.html">{_box(0, start + 64, 160, 84, "method")}',
        _text(80, start + 83, head, "center small"),
        _text(80, start + 106, name, "center name"),
        _text(80, start + 124, "tries all methods", "center small"),
        _text(80, start + 139, "and recommends one", "center small") + "</a>",
    ]
    return _svg("wide", 920, height, edges + content)


def narrow():
    """From top to bottom, for a phone."""
    content = [_box(0, 0, 340, 36, "start"), _text(170, 23, START, "center strong")]
    head, name, what = UNSURE
    y = 50
    content += [
        f'<a href="{GUIDE}simplify.html">{_box(24, y, 316, METHOD, "method")}',
        _text(36, y + 18, head, "when"),
        _text(36, y + 36, name, "name"),
        f'<text x="328" y="{y + 36}" class="promise">{what}</text></a>',
        f'<path d="M10 {y + METHOD / 2}H24" class="edge"/>',
    ]
    y += METHOD + 20
    for situation, methods in SITUATIONS:
        content += [
            f'<circle cx="10" cy="{y + 6}" r="5" class="dot"/>',
            _text(24, y + 11, situation, "strong"),
        ]
        last = y + 6
        y += 22
        for method in methods:
            content.append(_method(24, y, 316, *method))
            y += METHOD + GAP
        y += 10
    rail = f'<path d="M10 36V{last}" class="edge"/>'
    return _svg("narrow", 340, y - GAP - 10, [rail, *content])


def write(folder):
    """Write both pictures into a file of the folder."""
    folder.mkdir(exist_ok=True)
    (folder / "decision.html").write_text(wide() + narrow(), encoding="utf-8")
