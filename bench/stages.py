"""Writes the stages of an explicit Runge–Kutta pair as unrolled C, from SciPy's coefficients."""

from __future__ import annotations

import numpy as np


def _sum(coefficients, name: str) -> str:
    terms = [f"{float(c)!r} * {name}{j}" for j, c in enumerate(coefficients) if c != 0.0]
    return " + ".join(terms) or "0.0"


def header(pair: str) -> str:
    """stages.h for "DOP853" or "RK45" (Dormand–Prince 5(4))."""
    from scipy.integrate import DOP853, RK45

    method = {"DOP853": DOP853, "RK45": RK45}[pair]
    stages = method.n_stages
    lines = []
    for s in range(1, stages):
        row = np.asarray(method.A)[s, :s]
        lines.append(f"double q{s} = q + h * ({_sum(row, 'kq')}), p{s} = p + h * ({_sum(row, 'kp')});")
        lines.append(f"double kq{s} = slope_q(q{s}, p{s}), kp{s} = slope_p(q{s}, p{s});")
    lines.append(f"double next_q = q + h * ({_sum(method.B, 'kq')}), next_p = p + h * ({_sum(method.B, 'kp')});")
    lines.append(f"double kq{stages} = slope_q(next_q, next_p), kp{stages} = slope_p(next_q, next_p);")
    if pair == "RK45":
        estimate = [f"double e{x} = h * ({_sum(method.E, f'k{x}')}) / scale_{x};" for x in "qp"]
        estimate.append("error = sqrt((eq * eq + ep * ep) / 2.0);")
    else:
        estimate = [
            f"double e{o}q = ({_sum(e, 'kq')}) / scale_q, e{o}p = ({_sum(e, 'kp')}) / scale_p;"
            for o, e in ((5, method.E5), (3, method.E3))
        ]
        estimate.append("double n5 = e5q * e5q + e5p * e5p, n3 = e3q * e3q + e3p * e3p;")
        estimate.append("error = n5 == 0.0 ? 0.0 : h * n5 / sqrt((n5 + 0.01 * n3) * 2.0);")
    return "\n".join(
        [
            f"/* {pair}, generated */",
            f"#define ORDER {method.error_estimator_order + 1}.0",
            f"#define LAST_Q kq{stages}",
            f"#define LAST_P kp{stages}",
            "#define COMPUTE_STAGES " + " \\\n    ".join(lines),
            "#define ESTIMATE " + " \\\n    ".join(estimate),
            "",
        ]
    )
