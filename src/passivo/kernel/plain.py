"""`math` for the identity engine: works on doubles and on extended precision, and gives NaN instead of raising."""

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
