"""What the estimators share: their ensemble, rows, trees, limits, intervals and plots.

`ensemble` fits or unwraps an estimator's ensemble and says what it takes, `rows` checks what users
give and makes numbers of text and gaps, and `tree_mixins` is what estimators do with their tree.
`explained` says why a tree answers a row so.
`streams` takes rows beyond memory batch by batch.
`names` knows old names of parameters and tells the nearest one.
`limits` says what happens when a limit is reached, `plots` is under all displays and `pages` under
all that is written in HTML. `shares` reads shares as users write them, has the intervals of those
that were counted, and sums that round alike on every processor. `_scikit_learn` imports private
helpers.
"""

from ensemble_simplify.base._scikit_learn import (
    HasMethods,
    Interval,
    Options,
    RealNotInt,
    StrOptions,
    safe_indexing,
)
from ensemble_simplify.base.ensemble import (
    Fittable,
    answers_to_finer_rows,
    check_missing,
    check_readable,
    checked_rows,
    comes_fitted,
    encoded,
    fit_or_unwrap,
    promised_domain,
    promised_rows,
    tags_of,
    takes_missing,
    unmoved_by_rounding,
)
from ensemble_simplify.base.explained import Explanation
from ensemble_simplify.base.limits import (
    TimeLimitError,
    available_memory,
    fit_context,
    report,
    warn,
    warn_out_of_time,
)
from ensemble_simplify.base.names import NamesItsParameters, old_name, validate_params, word_now
from ensemble_simplify.base.pages import Html, element, fragment, in_html, page, style_sheet
from ensemble_simplify.base.plots import (
    CurveDisplay,
    Display,
    counts_axis,
    leaves_axis,
    pyplot,
    shares_axis,
)
from ensemble_simplify.base.rows import (
    NOT_GIVEN,
    Rows,
    check_column_names,
    check_weights,
    class_index,
    differ,
    fitted_rows,
    learned_rows,
    misnamed,
    named_rows,
    ordered_table,
    rows_and_targets,
    validated,
    with_gaps,
)
from ensemble_simplify.base.shares import (
    absolute_tolerance,
    binomial_interval,
    check_atol,
    product,
    quantile_interval,
    r2,
    share_in_words,
)
from ensemble_simplify.base.streams import Stream, labelled, stacked
from ensemble_simplify.base.tree_mixins import (
    HoldsClassifierTree,
    HoldsTree,
    KeepsBoosters,
    LearnsFromTables,
    PrintsWhatItHolds,
    PrunesItsEstimator,
    Scored,
    TakesWhatItsEstimatorTakes,
    printed,
)
