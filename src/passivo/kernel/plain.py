"""`math` for the identity engine: works on doubles and on extended precision, and gives NaN instead of raising."""

import builtins

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
nan = np.nan


def max(*values):
    """As the built-in one and machine code, also for NaN; but 0.0 comes as a NumPy number, which can be divided by."""
    return _number(builtins.max(values))


def min(*values):
    return _number(builtins.min(values))


def _number(value):
    return np.float64(value) if type(value) is float else value
