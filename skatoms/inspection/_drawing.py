"""What all displays need."""

import math

import numpy as np


def pyplot():
    """The module, or an error that says how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib, which is not installed: "
            'python -m pip install "skatoms[demo]"'
        ) from error
    return pyplot


def check_picture(feature_shape, n_features):
    """Raise a ValueError if features do not make pictures of this shape."""
    if not (
        np.shape(feature_shape) == (2,)
        and min(feature_shape) > 0
        and math.prod(feature_shape) == n_features
    ):
        raise ValueError(
            f"feature_shape={feature_shape} must be (height, width) with height * width = "
            f"{n_features}, the number of features."
        )
