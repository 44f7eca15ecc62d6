"""A light mass on a spring by four integrators (spec 4.1)."""

from __future__ import annotations

from passivo.reproduce.kim import swinging
from passivo.reproduce.kim_fig1 import SPRING

NOTE = (
    "The text gives no mass, stiffness or step; ours put T √(k/m) at 2.24, beyond the 2 up to which symplectic Euler "
    "is stable. As the paper says, it now diverges as explicit Euler does, implicit Euler comes to rest, and passive "
    "midpoint keeps the energy. What the paper does not say: so coarse a step keeps the energy, not the motion. "
    "Midpoint swings at 2 atan(T √(k/m) / 2) / T, here at three quarters of √(k/m)."
)
FIGURE = swinging(2, "A light mass on a spring by four integrators", {**SPRING, "m": 0.02, "until": 0.25}, NOTE)
