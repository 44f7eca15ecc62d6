"""Ready-made systems, one function each: `pv.library.pendulum(b=0.1)`. Building one does not load SymPy."""

from passivo.model.library.bodies import controlled_rigid_body, heavy_top, rigid_body, rigid_body_control
from passivo.model.library.chains import toda_chain
from passivo.model.library.circuits import dc_motor, lc_circuit, microphone
from passivo.model.library.linkages import double_pendulum, four_bar, pendulum_chain, squeezer
from passivo.model.library.mechanics import (
    bouncing_mass,
    damper,
    device,
    duffing,
    mass,
    oscillator,
    pendulum,
    spring,
    unilateral_spring,
    wall,
)
from passivo.model.library.orbits import kepler

__all__ = [
    "bouncing_mass",
    "controlled_rigid_body",
    "damper",
    "dc_motor",
    "device",
    "double_pendulum",
    "duffing",
    "four_bar",
    "heavy_top",
    "kepler",
    "lc_circuit",
    "mass",
    "microphone",
    "oscillator",
    "pendulum",
    "pendulum_chain",
    "rigid_body",
    "rigid_body_control",
    "spring",
    "squeezer",
    "toda_chain",
    "unilateral_spring",
    "wall",
]
