"""JavaScript, Java, Go and C# answer as the model does: by compiling and running them.

All models are written for one run of each language. A row is a line of entries, each with its kind.
"""

import re
import shutil
import subprocess
import warnings
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from written_code import by_python
from written_models import hard_rows, made

from ensemble_simplify import export_model, export_tree
from ensemble_simplify.reading import Table

HOSTILE = ['a "b" \\u00e9 */', "it's ${x} `y`", "\u202e\U0001f600\\"]


def forest_with_hostile_names():
    model, rows, _, _ = made("tree_of_numbers", None)
    rows = rows.set_axis(HOSTILE, axis=1)
    expected = model.predict(rows.to_numpy(float)).tolist()
    expected = [["x", 'a "b"', "c\\d*/"][model.classes_.tolist().index(own)] for own in expected]
    return (
        model,
        rows,
        expected,
        {"feature_names": HOSTILE, "class_names": ["x", 'a "b"', "c\\d*/"]},
    )


def numbers():
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=30).fit(X, y)
    rows = hard_rows(model, [f"x{j}" for j in range(X.shape[1])], gaps=False)
    expected = model.predict(rows.to_numpy(float)).tolist()
    return model, rows, expected, {"feature_names": list(rows)}


def levels_of_numbers(unknown="refused"):
    """Levels that are numbers, in rows of texts, as ``csv.DictReader`` gives them."""
    rng = np.random.default_rng(0)
    table = Table.of_levels(
        np.array(["level", "flag", "text"], dtype=object),
        (
            np.array([3, 1, 2.5, 10**7]),
            np.array([False, True]),
            np.array(["4", "", "\u00e9"], object),
        ),
        (unknown, unknown, unknown),
    )
    codes = np.column_stack([rng.integers(0, n, 500) for n in (4, 2, 3)]).astype(float)
    codes[rng.random(codes.shape) < 0.1] = np.nan
    tree = DecisionTreeClassifier(random_state=0)
    tree.fit(codes, (codes[:, 0] % 2 == 1) ^ (codes[:, 1] == 1) ^ (codes[:, 2] > 0))
    tree._table = table
    entries = [["3", "1", "2.5", "10000000", ""], ["False", "True", ""], ["4", "", "\u00e9", None]]
    more = [] if unknown == "refused" else ["99", "x"]
    rows = pd.DataFrame(
        {
            name: pd.Series(rng.choice(np.array([*own, *more], object), 200), dtype=object)
            for name, own in zip(["level", "flag", "text"], entries, strict=True)
        }
    )
    meant = rows.copy()
    meant["level"] = [float(own) if own not in ("", "x") else own or None for own in rows["level"]]
    meant["flag"] = [{"True": True, "False": False, "": None}.get(own, own) for own in rows["flag"]]
    expected = tree.predict(np.asarray(table.encode(meant.to_numpy(object)), float)).tolist()
    return tree, rows, expected, {}


def histogram_of_levels():
    model, rows, expected, options = made("histogram_of_levels", None)
    return model, rows, expected.tolist(), options


def xgboost():
    model, rows, expected, options = made("xgboost", None)
    return model, rows, expected.tolist(), options


CASES = [
    forest_with_hostile_names,
    numbers,
    levels_of_numbers,
    lambda: levels_of_numbers("code"),
    lambda: levels_of_numbers("missing"),
    histogram_of_levels,
    xgboost,
]


def cases():
    for k, case in enumerate(CASES):
        try:
            yield k, *case()
        except pytest.skip.Exception:
            continue


def written(model, language, options):
    write = export_tree if isinstance(model, DecisionTreeClassifier) else export_model
    return write(model, language, **options)


def line(row):
    """The entries of a row: d, a number; t, a text; n, nothing."""
    parts = []
    for own in row:
        if isinstance(own, str):
            parts.append("t" + quote(own, safe=""))
        else:
            parts.append("n" if own is None or own != own else f"d{float(own)!r}")
    return "\t".join(parts)


def as_text(answer):
    if isinstance(answer, bool):
        return str(answer).lower()
    return answer if isinstance(answer, str) else repr(answer)


JS = """
const fs = require("fs");
for (const k of process.argv.slice(2)) {
    const { predict } = require(`./m${k}.js`);
    const lines = fs.readFileSync(`rows${k}`, "utf8").split("\\n");
    const names = lines[0].split("\\t").map(decodeURIComponent);
    const kinds = { n: () => null, d: Number, t: decodeURIComponent };
    const read = (t) => kinds[t[0]](t.slice(1));
    fs.writeFileSync(`out${k}`, lines.slice(1).map((line) => {
        const row = {};
        line.split("\\t").forEach((t, i) => { row[names[i]] = read(t); });
        try { return String(predict(row)); } catch (error) { return "!" + error.message; }
    }).join("\\n"));
}
"""
JAVA = """
import java.nio.file.*; import java.util.*; import java.net.URLDecoder;
import static java.nio.charset.StandardCharsets.UTF_8;
public class Main {
    public static void main(String[] k) throws Exception {
        for (String own : k) {
            List<String> lines = Files.readAllLines(Path.of("rows" + own)), out = new ArrayList<>();
            String[] names = lines.get(0).split("\\t");
            for (String line : lines.subList(1, lines.size())) {
                Map<String, Object> row = new HashMap<>();
                String[] t = line.split("\\t");
                for (int i = 0; i < t.length; i++) {
                    String s = t[i].substring(1);
                    Object text = URLDecoder.decode(s, UTF_8);
                    Object value = t[i].startsWith("d") ? Double.valueOf(s) : text;
                    row.put(URLDecoder.decode(names[i], UTF_8), t[i].equals("n") ? null : value);
                }
                try {
                    out.add(answer(own, row));
                } catch (RuntimeException e) {
                    out.add("!" + e.getMessage());
                }
            }
            Files.write(Path.of("out" + own), out);
        }
    }
    static String answer(String k, Map<String, Object> row) {
        switch (k) { CALLS }
        return "";
    }
}
"""
GO = """
package main
import ("fmt"; "net/url"; "os"; "strconv"; "strings"; IMPORTS)
func main() {
    for _, k := range os.Args[1:] {
        text, _ := os.ReadFile("rows" + k)
        lines, out := strings.Split(string(text), "\\n"), []string{}
        names := strings.Split(lines[0], "\\t")
        for _, line := range lines[1:] {
            row := map[string]any{}
            for i, t := range strings.Split(line, "\\t") {
                name, _ := url.PathUnescape(names[i])
                own, _ := url.PathUnescape(t[1:])
                row[name] = own
                if t[0] == 'n' { row[name] = nil }
                if t[0] == 'd' { row[name], _ = strconv.ParseFloat(own, 64) }
            }
            var a any
            var err error
            switch k { CALLS }
            if err != nil { a = "!" + err.Error() }
            out = append(out, fmt.Sprint(a))
        }
        os.WriteFile("out" + k, []byte(strings.Join(out, "\\n")), 0644)
    }
}
"""
CSHARP = """
using System; using System.IO; using System.Linq;
using System.Globalization; using System.Collections.Generic;
public static class Program {
    public static void Main(string[] all) {
        foreach (string k in all) {
            var lines = File.ReadAllLines("rows" + k);
            var names = lines[0].Split('\\t').Select(Uri.UnescapeDataString).ToArray();
            File.WriteAllLines("out" + k, lines.Skip(1).Select(line => {
                var row = new Dictionary<string, object>();
                var t = line.Split('\\t');
                for (int i = 0; i < t.Length; i++) {
                    string s = t[i].Substring(1);
                    object value = Uri.UnescapeDataString(s);
                    if (t[i][0] == 'd') value = double.Parse(s, CultureInfo.InvariantCulture);
                    row[names[i]] = t[i][0] == 'n' ? null : value;
                }
                try {
                    object a = answer(k, row);
                    if (a is double) return ((double)a).ToString("R", CultureInfo.InvariantCulture);
                    return Convert.ToString(a, CultureInfo.InvariantCulture);
                }
                catch (Exception e) { return "!" + e.Message; }
            }));
        }
    }
    static object answer(string k, IDictionary<string, object> row) {
        switch (k) { CALLS }
        return null;
    }
}
"""


def run(*command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-1000:]


def by_javascript(texts, folder):
    for k, text in texts.items():
        (folder / f"m{k}.js").write_text(text, "utf8")
    (folder / "main.js").write_text(JS)
    run("node", "main.js", *texts, folder=folder)


def by_java(texts, folder):
    for k, text in texts.items():
        (folder / f"M{k}.java").write_text(text.replace("class Model", f"class M{k}"), "utf8")
    calls = "".join(f'case "{k}": return "" + M{k}.predict(row);' for k in texts)
    (folder / "Main.java").write_text(JAVA.replace("CALLS", calls))
    files = [own.name for own in folder.glob("*.java")]
    run("javac", "-encoding", "UTF-8", "-Xlint:all", "-Werror", *files, folder=folder)
    run("java", "-cp", ".", "Main", *texts, folder=folder)


def by_go(texts, folder):
    for k, text in texts.items():
        (folder / f"m{k}").mkdir()
        text = text.replace("package model", f"package m{k}").replace(
            "func predict(", "func Predict("
        )
        (folder / f"m{k}" / "model.go").write_text(text, "utf8")
    calls = "".join(f'case "{k}": a, err = m{k}.Predict(row);' for k in texts)
    imports = "; ".join(f'"own/m{k}"' for k in texts)
    (folder / "main.go").write_text(GO.replace("CALLS", calls).replace("IMPORTS", imports))
    (folder / "go.mod").write_text("module own\n\ngo 1.18\n")
    run("go", "run", ".", *texts, folder=folder)


def by_csharp(texts, folder):
    for k, text in texts.items():
        (folder / f"M{k}.cs").write_text(text.replace("class Model", f"class M{k}"), "utf8")
    calls = "".join(f'case "{k}": return M{k}.predict(row);' for k in texts)
    (folder / "Main.cs").write_text(CSHARP.replace("CALLS", calls))
    files = [own.name for own in folder.glob("*.cs")]
    run("mcs", "-warnaserror", "-out:main.exe", "-r:System.Core.dll", *files, folder=folder)
    run("mono", "main.exe", *texts, folder=folder)


RUNNERS = {
    "javascript": (by_javascript, ["node"]),
    "java": (by_java, ["javac", "java"]),
    "go": (by_go, ["go"]),
    "csharp": (by_csharp, ["mcs", "mono"]),
}


@pytest.mark.parametrize("language", RUNNERS)
def test_answers(language, tmp_path):
    runner, programs = RUNNERS[language]
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    texts, expected = {}, {}
    for k, model, rows, answers, options in cases():
        rows = rows.astype(object).where(rows.notna(), None)
        if k == 2:  # a level that is refused
            rows = pd.concat([rows, pd.DataFrame([["99", "True", "4"]], columns=rows.columns)])
            answers = [*answers, "!"]
        texts[str(k)] = written(model, language, options)
        expected[str(k)] = answers
        lines = [
            "\t".join(quote(name, safe="") for name in rows),
            *map(line, rows.to_numpy().tolist()),
        ]
        (tmp_path / f"rows{k}").write_text("\n".join(lines))
    runner(texts, tmp_path)
    for k, answers in expected.items():
        found = (tmp_path / f"out{k}").read_text("utf8").splitlines()
        assert len(found) == len(answers)
        for own, wanted in zip(found, answers, strict=True):
            if wanted == "!":
                assert re.match("!Unknown level: 99", own)
            elif isinstance(wanted, float):
                assert float(own) == wanted
            else:
                assert own.casefold() == as_text(wanted).casefold()


def test_python_reads_rows_of_texts():
    for k, model, rows, answers, options in cases():
        rows = rows.astype(object).where(rows.notna(), None)
        names = {}
        exec(written(model, "python", options), names)
        given = [dict(zip(rows, own, strict=True)) for own in rows.to_numpy().tolist()]
        # numbers as csv.DictReader gives them
        texts = [
            {
                key: repr(float(own)) if isinstance(own, (int, float)) else own
                for key, own in row.items()
            }
            for row in given
        ]
        assert [names["predict"](row) for row in texts] == answers, k


def test_columns_that_are_not_there_are_errors(tmp_path):
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    model, _, _, options = made("xgboost", None)
    text = export_model(model, "javascript", **options) + '\npredict({ "SELECT": 1 });\n'
    (tmp_path / "m.js").write_text(text)
    done = subprocess.run(
        ["node", "m.js"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "The row has no column petal width (cm)" in done.stderr


def test_readable_thresholds_part_rows_and_float32_numbers_alike():
    X, y = load_wine(return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    # a column of integers, in which a threshold is one
    frame["x12"] = frame["x12"].astype(int)
    y = y * (1 + (frame["x12"] > 700))
    tree = DecisionTreeClassifier(random_state=0).fit(frame, y)
    forest = RandomForestClassifier(5, random_state=0).fit(frame, y)
    for model, write in ((tree, export_tree), (forest, export_model)):
        text = write(model, "python", X=frame, readable=True)
        exact = write(model, "python")
        assert len(text) < len(exact)
        rows = hard_rows(model, list(frame), gaps=False).astype(np.float32).astype(float)
        rows["x12"] = rows["x12"].round()
        for own in (frame, rows):
            given = own.to_numpy(float)
            found = by_python(text, [dict(zip(own, row, strict=True)) for row in given.tolist()])
            np.testing.assert_array_equal(found, model.predict(own))
    with pytest.raises(ValueError, match="needs rows"):
        export_tree(tree, "c", readable=True)


def test_rows_that_a_pipeline_answers_otherwise_are_counted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)) * 1e3, rng.integers(0, 2, 300)
    model = make_pipeline(StandardScaler(), RandomForestClassifier(20, random_state=0)).fit(X, y)
    rows = hard_rows(model, ["x0", "x1", "x2"], gaps=False).to_numpy(float)
    expected = model.predict(rows)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        text = export_model(model, "python", X=rows)
    found = by_python(text, rows.tolist())
    n = int((found != expected).sum())
    assert n > 0
    assert f"{n} of 500 rows of X get another class" in str(told[0].message)
    assert f"Of 500 rows that were tried, {n} got another class" in text


class Overridden(DecisionTreeClassifier):
    """A tree that answers otherwise than its nodes."""

    def predict(self, X, check_input=True):
        return 1 - super().predict(X, check_input)


def test_a_tree_that_answers_otherwise_is_refused():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    with pytest.raises(TypeError):
        export_tree(Overridden(random_state=0).fit(X, y), "sql")
