"""What the gallery does before each of its pages, and their order; named in conf.py."""

import multiprocessing

# Pages in the order in which they are worth reading. Others come after these, by name.
ORDER = """
simplify_quickstart representer_quickstart scorecard_quickstart born_again_quickstart
faithful_pruning_quickstart feature_budget_quickstart cultivated_quickstart genesim_quickstart
hist_gradient_boosting xgboost_what_if lightgbm_to_sql text_columns
audit_credit audit_forest what_changed promise regression_tolerance export card_for_a_clerk
card_to_file tariff explain_network blood_test ask_a_doctor comparison three_sites
beyond_one_machine
""".split()


def spawn(gallery_conf, file):
    """Let a page start processes: the gallery's own way of doing so is no name to their Python."""
    multiprocessing.set_start_method("spawn", force=True)


class ReadingOrder:
    """Sort key of the pages of a section."""

    def __init__(self, src_dir):
        pass

    def __call__(self, filename):
        """Key of a file."""
        name = filename.removeprefix("plot_").removesuffix(".py")
        return ORDER.index(name) if name in ORDER else len(ORDER), filename
