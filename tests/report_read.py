"""A program that reads a report as a person does: by its words alone, all of them.

`read` takes the text apart, sentence by sentence and cell by cell, and refuses what it does not
know, so that no figure stands outside. `hold_together` compares what is said twice. `hold_true`
recomputes each figure from the answers to the rows that judge, without the package's own code.
"""

import re
from html.parser import HTMLParser

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta, skew, t
from sklearn.metrics import balanced_accuracy_score, r2_score

P = r"((?:[<>] )?-?[\d.]+(?: %)?)"  # a figure; what is nearly all or nothing is not rounded to it
ENDS = r"((?:[<>] )?-?[\d.]+) to ((?:[<>] )?-?[\d.]+)"
SIZE = r"([\d,]+) (?:leaf|leaves|bins?)"
LEVELS = {
    "follows the model.": (2, 2),
    "shows what the model goes by, but cannot replace it.": (1, 1),
    "does not follow the model.": (0, 0),
    "shows what the model goes by. Whether it can replace it is not decided": (1, 2),
    "cannot replace the model. Whether it shows what the model goes by is not decided": (0, 1),
}
SENTENCES = {
    "level": rf"The (?:tree|scorecard) of {SIZE} (%s)(?: by [\d,]+ rows: give more\.)?"
    % "|".join(re.escape(words) for words in LEVELS),
    "far": rf"How far the (?:tree|scorecard) of {SIZE} follows the model is not decided by "
    r"([\d,]+) rows: give more\.",
    "none": r"No (?:tree of at most [\d,]+ leaves|small scorecard) follows this model\.",
    "best_one": rf"The best one, of {SIZE},",
    "learned": rf"How far the (?:tree|scorecard) of {SIZE} follows the model on new rows cannot be "
    r"told, since the model has learned from these\. On these, it",
    "proven": rf"The (?:tree|scorecard) of {SIZE} is proven to give the model's answer at every "
    r"input\.",
    "constant": rf"The model answers .+? to all ([\d,]+) rows, and so does the tree of {SIZE}\. "
    r"These rows cannot tell whether it follows the model elsewhere\.",
    "agreement": rf"(?:It )?agrees with the model on {P} of (?:weighted )?rows"
    rf"(?: \(95 % interval {ENDS}\))?\.",
    "agreement_r2": rf"(?:It )?explains {P} of the variance of the model's answers \(R2(?:, 95 % "
    rf"interval {ENDS})?\)\.",
    "majority": rf"Always answering .+? would agree on {P}\.",
    "larger": rf"The (?:tree|scorecard) of {SIZE} (?:follows it|shows what it goes by), with {P}\.",
    "chosen": rf"Results that are chosen in this way (?:agree on|have an R2 of) {P} (?:of|on) new "
    r"rows, as the best of several is partly luck\.",
    "accuracies": rf"The model is right on {P} of the ([\d,]+) rows, the (?:tree|scorecard) on "
    rf"{P}: (?:nothing is lost|{P} points are (lost|gained)) \(95 % interval {ENDS}\)\.",
    "accuracies_r2": rf"On the true values of the ([\d,]+) rows, R2 is {P} for the model and {P} "
    rf"for the (?:tree|scorecard): (?:nothing is lost|{P} is (lost|gained)) \(95 % interval "
    rf"{ENDS}\)\.",
    "plain_on_y": rf"A plain tree of {SIZE}, grown on y without the model, agrees on {P}"
    rf"(?: and is right on {P})?\.",
    "plain_on_y_r2": rf"A plain tree of {SIZE}, grown on y without the model, has an R2 of {P} on "
    rf"the model's answers(?:, and {P} on the true values)?\.",
    "distances": r"Its values are within (\S+) of the model's on half of the rows, and within "
    r"(\S+?) on nine rows in ten\.",
    "within": r"They are proven to be within \S+ at every input\.",
    "score": r"Its \w+ against the model's answers is (\S+?)\.(?= |$)",
    "lost_class": r"Of the ([\d,]+) rows to which the model answers (.+?), the (?:tree|scorecard) "
    r"gives that answer to ([\d,]+)\.",
    "lost_classes": r"The (?:tree|scorecard) misses more than half of the rows to which the model "
    r"answers .+?\.(?= |$)",
    "made_by": r"This (?:tree|scorecard) was made by the method (\w+)\.",
    "no_other": r"No other (?:tree|tree or scorecard)(?: of at most [\d,]+ leaves)? .*?clearly "
    r"better .*?\(by more than 1\.5 standard errors\)\.",
    "better": r"(?:It|This (?:tree|scorecard)) is better than (\w+), by more than 1\.5 standard "
    r"errors\.",
    "smallest": r"(?:It|This \w+) is the smallest (?:tree|scorecard) that does at least as well as "
    r"(\w+)(?:, on all rows and on those of each answer)?\.",
    "only": r"(?:It|This \w+) is the only result of the kind that was asked for\.",
    "proof": rf"\w+ has {SIZE} and is proven to give the model's answer at every input\.",
}
NOTES = {
    "closer": r"A (?:larger result|result that is no single ordinary tree) is closer to the "
    rf"model: (\w+)(?: \({SIZE}\))? (?:agrees on|has an R2 of) {P}(?: of rows)?\.(?= |$)",
    "smaller": rf"A smaller (?:tree|scorecard) may be as good: (\w+) with {SIZE}\. The difference "
    r"is within one standard error\.",
    "rare": r"The model answers (.+?) to only ([\d,]+) of these rows\. These are too few to tell "
    r"how the (?:tree|scorecard) does there\.",
    "rares": r"The model gives ([\d,]+) of its answers to fewer than 15 of these rows each\. They "
    r"are too few to tell how the (?:tree|scorecard) does there\.",
    "fitted": r"(?:The model was (?:probably )?fitted on these rows(?:, among others)?\.|The rows "
    r"that the model was fitted on are probably among these\.)",
    "copies": r"So copies of it were fitted .*? that part\.",
    "bag": r"So its out-of-bag .*? has not seen\.",
    "nothing": r"Nothing tells what the result does on new rows\. Give .*? soon\.",
    "no_error": r"The model makes no error on these rows, .*? has not seen\.",
}
END = {
    "folds": r"Measured on ([\d,]+) rows in ([\d,]+) parts, each part with (?:trees|results) that "
    r"learned from the other parts\.",
    "aside": r"Measured on ([\d,]+) rows that the (?:trees|results) did not learn from\.",
    "learned_from": r"In all, there were ([\d,]+) rows to learn from\.",
    "seconds": r"It took [\d,]+ s\.",
}


def taken(text, patterns):
    """What sentences say, by name, and what is left without them."""
    facts = {}
    for name, pattern in patterns.items():
        if found := re.search(pattern, text):
            facts[name] = found.groups()
            text = text[: found.start()] + " " + text[found.end() :]
    return facts, " ".join(text.split())


def number(text):
    return float(text.replace(",", "").removesuffix(" %").lstrip("<> "))


def table_of(lines):
    """Rows of a table of text, by their first cells: a dict of headings and cells each."""
    heads = [(m.group(), m.start(), m.end()) for m in re.finditer(r"\S+(?: \S+)*", lines[0])]
    rows = {}
    for line in lines[1:]:
        is_best, name = line.startswith("*"), line[2:].split("  ")[0].strip()
        row = {"is_best": is_best}
        for found in re.finditer(r"\S+(?: \S+)*", line):
            for head, begin, end in heads:
                if found.end() == end or (" by " in head and found.start() == begin):
                    row[head] = found.group()
        rows[name] = row
    return rows


def read(text):
    """All that a report says. AssertionError for a figure that stands in no known sentence."""
    blocks = [block.split("\n") for block in text.split("\n\n")]
    facts = {"title": blocks[0][0]}
    verdict = " ".join(" ".join(blocks[1]).split())
    head, *notes = verdict.split(" Note: ")
    facts |= taken(head.removeprefix("Verdict: "), SENTENCES)[0]
    rest = taken(head.removeprefix("Verdict: "), SENTENCES)[1]
    assert not re.search(r"\d", rest), rest
    facts["notes"] = []
    for note in notes:
        told, rest = taken(note, NOTES)
        assert told, note
        assert not re.search(r"\d", rest), rest
        facts["notes"].append(told)
    k = 2
    while k < len(blocks):
        first = blocks[k][0]
        if found := re.fullmatch(
            rf"The (?:closest|recommended) (?:tree \((\w+), |scorecard \(){SIZE}\):", first
        ):
            facts["heading"] = found.groups()
            facts["tree"] = blocks[k + 1]
            k += 1
        elif first.startswith(("Each leaf shows", "base")) or first.startswith("Where the"):
            pass
        elif first.startswith("The two differ"):
            joined = " ".join(" ".join(blocks[k]).split())
            found = re.match(
                r"The two differ (?:by more than \S+ (?:the mean, )?)?on ([\d,]+) of ([\d,]+) rows "
                r"\((\S+ %)\)\.", joined
            )  # fmt: skip
            facts["differ"] = found.groups()
        elif first.startswith("Trees of several sizes"):
            facts["curve"] = table_of([line.replace("*", " ", 0) for line in blocks[k + 1]])
            k += 1
        elif first.startswith("All methods"):
            facts["methods"] = table_of(blocks[k + 1])
            k += 1
        elif first.startswith("Measured on"):
            told, rest = taken(" ".join(" ".join(blocks[k]).split()), END)
            facts |= told
            assert not re.search(r"\d", rest.replace("95 % interval", "").replace("R²", "")), rest
        k += 1
    return facts


LEAF = re.compile(r"\((?:about )?(?:([\d.]+ %), )?([\d,]+) rows?\)$")


def near(text, value, what):
    """Whether a figure is a number, rounded to the digits that are shown."""
    shown = number(text)
    share = text.endswith(" %")
    digits = len(text.removesuffix(" %").partition(".")[2])
    truth = 100 * value if share else value
    if text[0] in "<>":
        assert truth < shown if text[0] == "<" else truth > shown, (what, text, truth)
        return
    assert abs(shown - truth) <= 0.5000001 * 10.0**-digits, (what, text, truth)


def hold_together(facts):
    """What is said twice is the same; and what follows from figures is what is said of them."""
    best = next((row for row in facts["methods"].values() if row["is_best"]), None)
    if best is None:
        return
    by_class = "agreement" in best
    head = "agreement" if by_class else "agreement (R²)"
    told = facts.get("agreement") or facts.get("agreement_r2")
    if told:
        assert told[0] == best[head], (told, best)
        if told[1]:
            assert f"{told[1]} to {told[2]}" == best.get("interval", f"{told[1]} to {told[2]}")
    curve = [row for row in facts.get("curve", {}).values() if row["is_best"]]
    name = facts["heading"][0]
    for row in curve if name == "representer" else []:
        for key in {"agreement", "accuracy", "R² of y", "interval"} & set(row) & set(best):
            assert row[key] == best[key], (key, row, best)
    size = best.get("leaves") or best["bins"]
    sizes = [facts["heading"][1]]
    sizes += [facts[key][0] for key in ("level", "far", "best_one", "learned") if key in facts]
    assert set(sizes) == {size}, (sizes, size)
    if "made_by" in facts:
        assert facts["made_by"][0] == name
    for key in ("accuracies", "accuracies_r2"):
        if key not in facts:
            continue
        own, column = list(facts[key]), "accuracy" if by_class else "R² of y"
        n = own.pop(1 if by_class else 0)
        assert own[0] == facts["methods"]["model"][column] or n != facts_n(facts)
        assert own[1] == best[column]
        lost = float(own[2] or 0) * (-1 if own[3] == "gained" else 1)
        step = 0.1 if by_class else 0.001
        assert abs(number(own[0]) - number(own[1]) - lost) <= 1.51 * step
    for key in ("plain_on_y", "plain_on_y_r2"):
        if key in facts:
            row = facts["methods"]["plain_tree_on_y"]
            assert facts[key][0] == row["leaves"]
            assert facts[key][1] == row[head]
    if "level" in facts and by_class and facts["agreement"][1]:
        low = number(facts["agreement"][1])
        ends = LEVELS[facts["level"][1]]
        # the level also needs a part of the way from the majority: these are necessary alone
        assert low >= (0, 70, 95)[ends[0]] - 0.06, facts
        majority = number(facts["majority"][0])
        if (low - majority) / max(100 - majority, 1e-9) > 0.76 and low > 95.05:
            assert ends[0] == 2, facts
    if "differ" in facts and by_class:
        n, of, share = facts["differ"]
        near(share, number(n) / number(of), "differ")
        weighted = "weighted" in facts.get("agreement", "")
        if not weighted and "agreement" in facts:
            assert abs(100 - number(share) - number(best[head])) <= 0.11 or facts["is_weighted"]
    leaves = [LEAF.search(line) for line in facts.get("tree", []) if LEAF.search(line)]
    if name is not None and leaves and int(number(size)) <= 40:
        assert len(leaves) == int(number(size)), (len(leaves), size)
        facts["rows_in_leaves"] = sum(int(number(found[2])) for found in leaves)
        facts["fewest"] = min(int(number(found[2])) for found in leaves)


def facts_n(facts):
    return (facts.get("folds") or facts.get("aside"))[0]


def r2_interval(truth, predicted):
    """Where Hall's cubic of the studentised R2 is at both ends of three times the variance."""
    n, apart = len(truth), np.square(truth - truth.mean())
    if not apart.any() or np.array_equal(truth, predicted):
        return [r2_score(truth, predicted)] * 2
    parts = np.square(truth - predicted) / apart.mean()
    of_rows = parts - parts.mean() * apart / apart.mean()
    slant, ends = skew(of_rows), []
    for share in (0.025, 0.975):
        aim = t.ppf(share, n - 1) * np.sqrt(3.0 / n) - slant / (6.0 * n)
        at = brentq(lambda x, aim=aim: x + slant * x**2 / 3 + slant**2 * x**3 / 27 - aim, -50, 50)
        ends.append(min(1.0 - parts.mean() + at * np.std(of_rows), 1.0))
    return ends


def hold_true(facts, outcome, weight=None):
    """Each figure, computed again from answers to rows."""
    judged, by_class = outcome._judged, outcome.is_classifier
    answers, y = judged.answers, judged.y
    weight = np.ones(len(answers)) if weight is None else weight
    head = "agreement" if by_class else "agreement (R²)"
    truth = {}
    for name, candidate in outcome._candidates.items():
        rows, said = candidate.rows, candidate.predicted
        own, w = answers[rows], weight[rows]
        if by_class:
            alike = said[rows] == own
            value = np.average(alike, weights=w)
            if (w == 1).all():
                # copies of the model vary: rows tell as much as half as many
                share = 2 if outcome._task.copies else 1
                n, right = len(alike) / share, alike.sum() / share
                ends = beta.ppf([0.025, 0.975], [right, right + 1], [n - right + 1, n - right])
                ends = np.nan_to_num(ends, nan=right == n)
            else:
                ends = None
        else:
            value, ends = r2_score(own, said[rows]), r2_interval(own, said[rows])
        truth[name] = value, ends
        cell = facts["methods"][name]
        if candidate.is_proven:
            continue
        near(cell[head], value, (name, head))
        if "interval" in cell and ends is not None:
            for end, known in zip(cell["interval"].split(" to "), ends, strict=True):
                if by_class:
                    near(f"{end} %", known, (name, cell, ends))
                else:  # in another way
                    slack = 0.35 * (ends[1] - ends[0]) + 0.002
                    assert abs(float(end) - known) <= slack, (name, cell, ends)
        right = "accuracy" if by_class else "R² of y"
        if right in cell and y is not None:
            score = np.mean(said[rows] == y[rows]) if by_class else r2_score(y[rows], said[rows])
            near(cell[right], score, (name, right))
        if "balanced accuracy" in cell and y is not None:
            score = balanced_accuracy_score(y[rows], said[rows])
            near(cell["balanced accuracy"], score, (name, "balanced"))
    if outcome.best is None:
        return
    best = outcome._candidates[outcome.best]
    rows, said = best.rows, best.predicted
    if "majority" in facts:
        places = np.unique(answers[rows], return_inverse=True)[1]
        counts = np.bincount(places, weights=weight[rows])
        near(facts["majority"][0], counts.max() / counts.sum(), "majority")
    if by_class and "accuracies" in facts:
        model, n, own, size, _, low, high = facts["accuracies"]
        right = [np.mean(each[rows] == y[rows]) for each in (answers, said)]
        near(model, right[0], "model's accuracy")
        near(own, right[1], "accuracy")
        assert number(n) == rows.sum()
        lost = 100 * (right[0] - right[1])
        assert abs(abs(lost) - float(size or 0)) <= 0.0500001
        assert (size is None) == (abs(lost) < 0.05)
        ends = sorted([float(low), float(high)])
        assert ends[0] - 0.1 <= abs(lost) <= ends[1] + 0.1
    if "differ" in facts and by_class:
        assert number(facts["differ"][0]) == (said[rows] != answers[rows]).sum()
        assert number(facts["differ"][1]) == rows.sum()
    if "distances" in facts:
        apart = np.abs(said[rows] - answers[rows])
        for shown, part in zip(facts["distances"], (0.5, 0.9), strict=True):
            assert float(shown) == float(f"{np.quantile(apart, part):.3g}")
    if "lost_class" in facts:
        n, _, given = facts["lost_class"]
        own, alike = answers[rows], answers[rows] == said[rows]
        counts = [((own == c).sum(), alike[own == c].sum()) for c in np.unique(own)]
        assert (number(n), number(given)) in counts
    if "rows_in_leaves" in facts:
        assert facts["rows_in_leaves"] == outcome.n_rows
    for note in facts["notes"]:
        if "closer" in note:
            name, size, shown = note["closer"]
            known = [
                truth[name][0] if name in truth else np.nan,
                *(each.agreement_ for each in outcome._by_size.values()),
            ]
            assert any(_is_near(shown, value) for value in known), (note, known)


def _is_near(text, value):
    try:
        near(text, value, "")
    except AssertionError:
        return False
    return True


class _Cells(HTMLParser):
    """Tables and paragraphs of a page."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.parts, self.open = [], [], []
        self.feed(text.replace("\xa0", " "))

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td") and self.rows:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if "style" in self.open:
            return
        if self.rows and {"th", "td"} & set(self.open):
            self.rows[-1][-1] += data
        self.parts.append(data)


def hold_page(page, text, facts):
    """A page says what the text says."""
    seen = _Cells(page)
    told = " ".join(" ".join(seen.parts).split())
    heads, rows = None, {}
    for row in seen.rows:
        if row[:1] == ["method"]:
            heads = row
        elif heads is not None and row and row[0] in facts["methods"]:
            rows[row[0]] = dict(zip(heads, row, strict=True))
    assert set(rows) == set(facts["methods"])
    for name, row in facts["methods"].items():
        for head, cell in row.items():
            assert head == "is_best" or rows[name][head].replace("\xa0", " ") == cell, (name, head)
    paragraph = " ".join(" ".join(text.split("\n\n")[1].split("\n")).split())
    for sentence in re.split(r"(?<=\.) |Note: ", paragraph.removeprefix("Verdict: ")):
        assert sentence.strip() in told, sentence
