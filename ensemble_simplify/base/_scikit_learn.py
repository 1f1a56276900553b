"""Private helpers of scikit-learn: whatever is used of them is imported here and nowhere else."""

from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, Options, RealNotInt, StrOptions
from sklearn.utils._param_validation import validate_params as _validate_params
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    _check_y,
    _get_feature_names,
    _is_fitted,
)
