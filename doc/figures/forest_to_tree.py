"""README's picture: the forest of its first example, and the tree that `simplify` recommends.

python doc/figures/forest_to_tree.py    writes doc/_static/forest_to_tree.svg
"""

from html import escape
from pathlib import Path
from textwrap import wrap

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ensemble_simplify import simplify
from ensemble_simplify.datasets import load_heart

ROOT = Path(__file__).resolve().parent.parent.parent
FILE = ROOT / "doc" / "_static" / "forest_to_tree.svg"
WIDTH, COLUMNS, MARGIN = 600, 20, 12
NAMES = {"yes": "disease: yes", "no": "disease: no"}
STEP = 96
COLORS = {"yes": "#d9730d", "no": "#2f6fa8"}


def places(left, right):
    """Position of every node: leaves in a row, a split in the middle above its children."""
    x, depth, leaves = {}, {0: 0}, []

    def walk(node):
        if left[node] < 0:
            x[node] = len(leaves) + 0.5
            leaves.append(node)
            return
        for child in (left[node], right[node]):
            depth[child] = depth[node] + 1
            walk(child)
        x[node] = (x[left[node]] + x[right[node]]) / 2

    walk(0)
    return {node: (x[node] / len(leaves), depth[node]) for node in x}


def skeleton(tree, x, y, width, height):
    """Edges of a tree as a path in a box."""
    at, path = places(tree.children_left, tree.children_right), []
    deepest = max(max(depth for _, depth in at.values()), 1)

    def point(node):
        across, depth = at[node]
        return f"{x + across * width:.1f} {y + depth / deepest * height:.1f}"

    for node, child in enumerate(tree.children_left):
        if child >= 0:
            other = tree.children_right[node]
            path.append(f"M{point(child)}L{point(node)}L{point(other)}")
    return "".join(path)


def drawn(tree, y):
    """A `NamedTree` with its conditions, from y downwards."""
    nodes, spans, step = tree.nodes, dict(tree.paths()), STEP
    at, edges, boxes = places(nodes.left, nodes.right), [], []
    for node, (across, depth) in at.items():
        cx, cy = MARGIN + across * (WIDTH - 2 * MARGIN), y + depth * step
        left, right = int(nodes.left[node]), int(nodes.right[node])
        if left < 0:
            label = tree.label(node)
            boxes.append(
                f'<rect x="{cx - 56:.0f}" y="{cy:.0f}" width="112" height="30" rx="15" '
                f'fill="{COLORS[label]}"/><text x="{cx:.0f}" y="{cy + 20:.0f}" '
                f'fill="#fff">{NAMES[label]}</text>'
            )
            continue
        name = tree.shown(int(nodes.feature[node]))
        condition = tree.question(node, spans[node]).removeprefix(name)
        lines = [name.replace("_", " "), *wrap(f"{condition} ?", 25)]
        height = 8 + 18 * len(lines)
        for child, word in ((left, "yes"), (right, "no")):
            to = MARGIN + at[child][0] * (WIDTH - 2 * MARGIN)
            edges.append(f'<path d="M{cx:.0f} {cy + height:.0f}L{to:.0f} {cy + step:.0f}"/>')
            side = -22 if child == left else 22
            boxes.append(
                f'<text x="{(cx + to) / 2 + side:.0f}" y="{cy + height + 16:.0f}" class="small">'
                f"{word}</text>"
            )
        told = "".join(
            f'<text x="{cx:.0f}" y="{cy + 18 * (i + 1):.0f}">{escape(line)}</text>'
            for i, line in enumerate(lines)
        )
        boxes.append(
            f'<rect x="{cx - 98:.0f}" y="{cy:.0f}" width="196" height="{height}" rx="7" '
            f'fill="#fff" stroke="#8a949e"/>{told}'
        )
    return f'<g stroke="#8a949e" stroke-width="1.5" fill="none">{"".join(edges)}</g>' + "".join(
        boxes
    )


def picture(forest, tree, agreement):
    """The whole picture as SVG."""
    n_leaves = sum(int(member.get_n_leaves()) for member in forest.estimators_)
    cell = (WIDTH - 2 * MARGIN) / COLUMNS
    paths = []
    for i, member in enumerate(forest.estimators_):
        x, y = MARGIN + i % COLUMNS * cell + 2, 42 + i // COLUMNS * 27
        paths.append(skeleton(member.tree_, x, y, cell - 4, 20))
    top = 42 + len(forest.estimators_) // COLUMNS * 27
    depth = tree.nodes.depth
    height = top + 84 + depth * STEP + 42
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" \
height="{height}" font-family="system-ui, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif" \
font-size="15" text-anchor="middle" fill="#1c2228" role="img">
<title>A random forest and the tree that simplify recommends</title>
<style>.small{{font-size:13px;fill:#5c6773}}.head{{font-weight:600}}</style>
<rect width="{WIDTH}" height="{height}" rx="10" fill="#fff"/>
<text x="{WIDTH / 2}" y="28" class="head">A random forest: {len(forest.estimators_)} trees, \
{n_leaves:,} leaves</text>
<path d="{"".join(paths)}" stroke="#2f6fa8" stroke-width=".7" fill="none"/>
<path d="M{WIDTH / 2} {top + 6}v22m-7 -8l7 8l7 -8" stroke="#5c6773" stroke-width="2" fill="none"/>
<text x="{WIDTH / 2}" y="{top + 54}" class="head">One tree: {tree.nodes.n_leaves} leaves, \
the same answer on {100 * agreement:.0f} % of new rows</text>
{drawn(tree, top + 72)}
</svg>
"""


def main():
    """Fit as README does, and write the file."""
    X, y = load_heart(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
    words = make_column_selector(dtype_exclude="number")
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), words), remainder="passthrough"
    )
    model = make_pipeline(encode, RandomForestClassifier(random_state=0)).fit(X, y)
    outcome = simplify(model, X_new, y_new, X_more=X, max_leaf_nodes=5, random_state=0)
    text = picture(model[-1], outcome.best_model.named_tree, outcome.verdict.agreement)
    FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
