"""Checks that estimators share."""

import sys
from copy import copy
from numbers import Real

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

FLOAT_DTYPES = (np.float64, np.float32)
_FEATURES = ("n_features_in_", "feature_names_in_")


def check_fit_data(estimator, X, *, reset=True, **options):
    """Validate X for a fit without touching the estimator.

    Returns
    -------
    X : ndarray of float64 or float32, C-contiguous
    features : dict
        The attributes that describe the features of X. :func:`keep_features` sets them once the
        fit has succeeded, so that a fit that fails leaves the one before as it was.
    """
    probe = copy(estimator)
    X = validate_data(probe, X, reset=reset, dtype=FLOAT_DTYPES, order="C", **options)
    return X, features_of(probe)


def check_new_data(estimator, X):
    """Validate X for a fitted estimator that takes missing values."""
    check_is_fitted(estimator)
    return validate_data(
        estimator, X, reset=False, dtype=FLOAT_DTYPES, order="C", ensure_all_finite="allow-nan"
    )


def features_of(estimator):
    """The attributes that describe the features."""
    return {name: vars(estimator)[name] for name in _FEATURES if name in vars(estimator)}


def keep_features(estimator, features):
    """Set the attributes that describe the features, and only those."""
    for name in _FEATURES:
        vars(estimator).pop(name, None)
    vars(estimator).update(features)


def real_array(name, value):
    """An array of finite float64; the error names the parameter."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            array = array.astype(object).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers, got {value!r}.") from error
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, but has values that are not.")
    return array


def whole_numbers(name, values, *, hint):
    """A table of whole numbers, as int64; the error names the parameter and ends with the hint."""
    table = check_array(values, input_name=name)
    whole = table.astype(np.int64)
    if not np.array_equal(whole, table):
        raise ValueError(f"{name} must be whole numbers, got {table[whole != table][0]}: {hint}")
    return whole


def check_number(name, value, *, kind=Real, least=-np.inf, most=np.inf):
    """Refuse what is not a number of this kind in [least, most]; the error names the parameter."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number of type {kind.__name__}, got {value!r}.")
    if not least <= value <= most:
        raise ValueError(f"{name} must be between {least} and {most}, got {value!r}.")


def check_classes_stay(classes, known):
    """Refuse classes of a later call of partial_fit, if any are given, that are not those known."""
    if classes is not None and not np.array_equal(np.unique(classes), known):
        raise ValueError(f"classes is {classes!r}, but in the first call it was {known!r}.")


def check_classes_known(y, known, remedy):
    """Refuse y with other classes than those known; the error ends with the remedy."""
    unknown = np.setdiff1d(y, known)
    if len(unknown):
        raise ValueError(f"y has classes {unknown!r} that are not among {known!r}: {remedy}")


def outside():
    """The `stacklevel` at which a warning points to the line that called the library."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals["__name__"].split(".")[0] in ("skatoms", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level
