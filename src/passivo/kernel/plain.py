"""`math` for the identity engine: works on doubles and on extended precision, and gives NaN instead of raising."""

from functools import reduce

import numpy as np

sin, cos, tan, asin, acos, atan, atan2 = np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.arctan2
sinh, cosh, tanh, asinh, atanh, exp, log, sqrt = (
    np.sinh,
    np.cosh,
    np.tanh,
    np.arcsinh,
    np.arctanh,
    np.exp,
    np.log,
    np.sqrt,
)
isfinite = np.isfinite
inf = np.inf


def max(*values):
    """As the built-in one, but 0.0 stays a NumPy number, which can be divided by."""
    return reduce(np.maximum, values)


def min(*values):
    return reduce(np.minimum, values)
