"""What the estimators share: their ensemble, rows, trees, limits, intervals and plots."""

from ensemble_simplify.base._scikit_learn import (
    HasMethods,
    Interval,
    Options,
    RealNotInt,
    StrOptions,
    fit_context,
    safe_indexing,
    validate_params,
)
from ensemble_simplify.base.docs import SharesDocs, fill_docs, shared_text
from ensemble_simplify.base.ensemble import (
    check_missing,
    check_readable,
    checked_table,
    encoded,
    finiteness,
    fit_or_unwrap,
    promised_domain,
    warn_of_rounding,
)
from ensemble_simplify.base.limits import (
    TimeLimitError,
    all_or_nothing,
    available_memory,
    deadline_after,
    report,
    warn,
    warn_out_of_time,
)
from ensemble_simplify.base.plots import (
    CurveDisplay,
    Display,
    counts_axis,
    leaves_axis,
    pyplot,
    shares_axis,
)
from ensemble_simplify.base.products import product
from ensemble_simplify.base.rows import (
    check_column_names,
    check_weights,
    class_index,
    fitted_rows,
    named_rows,
    same_names,
)
from ensemble_simplify.base.shares import binomial_interval
from ensemble_simplify.base.tree_mixins import (
    HoldsClassifierTree,
    HoldsTree,
    TakesWhatItsEstimatorTakes,
)
