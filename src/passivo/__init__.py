"""Passivo: simulate physical systems so that no energy is ever created unnoticed.

    import passivo as pv
    run = pv.simulate(pv.library.pendulum(), pv.AVF(), step=0.01, until=10.0, start={"q": 1.0})
    print(run.verdict)

Everything public is reachable from here and loads when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "passivo.errors": (
        "PassivoError", "ModelError", "ExpressionError", "MethodError", "InputError", "FileError", "DeviceError",
        "ScenarioError", "StepError", "ConvergenceError", "DomainError", "NonFiniteError",
    ),
    "passivo.ledger.verdict": ("Verdict",),
    "passivo.model.ports": ("Port", "effort", "flow"),
    "passivo.model.system": ("System",),
    "passivo.model.mechanical": ("Mechanical", "Linear"),
    "passivo.model.beam": ("Beam",),
    "passivo.model.constrained": ("Constrained",),
    "passivo.model.embedding": ("Embedding",),
    "passivo.model.monolithic": ("Monolithic",),
    "passivo.model.rendering": ("Rendering",),
    "passivo.model.feedback": ("Feedback", "Relation"),
    "passivo.model.symbols": ("symbols",),
    "passivo.method.one_stage": ("ExplicitEuler", "SymplecticEuler", "ImplicitEuler", "ImplicitMidpoint", "AVF"),
    "passivo.method.runge_kutta": ("Heun", "RK4"),
    "passivo.method.closed_loop": ("ClosedLoopAVF",),
    "passivo.method.discrete_gradient": ("Gonzalez", "ItohAbe", "SymmetrisedItohAbe"),
    "passivo.method.composition": ("Composition",),
    "passivo.method.splitting": ("StructureSplitting",),
    "passivo.method.collocation": ("Collocation",),
    "passivo.method.bounce": ("ExactBounce",),
    "passivo.method.constrained": ("ConstrainedGradient", "ConstrainedSplitting"),
    "passivo.method.energy_consistent": ("EnergyConsistent",),
    "passivo.method.exact_hold": ("ExactHold",),
    "passivo.method.non_iterative": ("Kahan", "SAV"),
    "passivo.method.passive_midpoint": ("PassiveMidpoint",),
    "passivo.method.part": ("Part", "compile", "consistent"),
    "passivo.world.world": ("World",),
    "passivo.world.joints": ("Ball", "Free", "Hinge", "Slider"),
    "passivo.world.shapes": ("Box", "Capsule", "ConvexMesh", "Cylinder", "HeightField", "Sphere"),
    "passivo.world.tendons": ("Drive",),
    "passivo.network.network": ("Network",),
    "passivo.network.direct": ("Direct",),
    "passivo.network.sample_hold": ("PassiveSampleHold",),
    "passivo.network.mean_hold": ("MeanHold",),
    "passivo.network.sampler": ("PassiveSampler",),
    "passivo.network.passivity_controller": ("PassivityController",),
    "passivo.network.coupling": ("VirtualCoupling",),
    "passivo.network.delay_line": ("DelayLine",),
    "passivo.network.ledger_clamp": ("Clamp", "LedgerClamp", "include"),
    "passivo.run.inputs": ("Held", "Noise"),
    "passivo.run.simulate": ("simulate",),
    "passivo.run.adaptive": ("Adaptive",),
    "passivo.run.run": ("Run",),
    "passivo.run.compare": ("Comparison", "Entry", "compare"),
    "passivo.run.reference": ("Reference",),
    "passivo.run.save": ("load",),
    "passivo.run.zwidth": ("DeviceModel", "ZWidth", "zwidth"),
    "passivo.run.identify": ("Identified", "identify"),
    "passivo.run.audit": ("Audit",),
    "passivo.sweep.sweep": ("sweep",),
    "passivo.sweep.keep": ("Reduce",),
    "passivo.scenario.scenario": ("Scenario",),
    "passivo.device.device": ("Device",),
    "passivo.device.state": ("Answer", "DeviceInfo", "DeviceState"),
    "passivo.loop.loop": ("Loop",),
    "passivo.loop.replay": ("audit", "replay"),
    "passivo.record.recording": ("Recording", "read_recording"),
    "passivo.loop.safety": ("Safety",),
    "passivo.loop.report": ("LoopReport",),
}  # fmt: skip
_HOME = {name: module for module, names in _WHERE.items() for name in names}
_MODULES = {
    "library": "passivo.model.library",
    "operators": "passivo.run.operators",
    "devices": "passivo.device.catalogue",
}
_FUNCTIONS = (
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh",
    "exp", "log", "sqrt", "cbrt", "Abs", "sign", "Max", "Min",
)  # fmt: skip

__all__ = [*_MODULES, *_HOME, *_FUNCTIONS]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = import_module(_MODULES[name])
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _FUNCTIONS:
        value = import_module("passivo.model.symbols").functions[name]
    else:
        raise AttributeError(f"module 'passivo' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if TYPE_CHECKING:
    from passivo.device import catalogue as devices  # noqa: F401
    from passivo.device.device import Device  # noqa: F401
    from passivo.device.state import Answer, DeviceInfo, DeviceState  # noqa: F401
    from passivo.errors import (  # noqa: F401
        ConvergenceError,
        DeviceError,
        DomainError,
        ExpressionError,
        FileError,
        InputError,
        MethodError,
        ModelError,
        NonFiniteError,
        PassivoError,
        ScenarioError,
        StepError,
    )
    from passivo.ledger.verdict import Verdict  # noqa: F401
    from passivo.loop.loop import Loop  # noqa: F401
    from passivo.loop.replay import audit, replay  # noqa: F401
    from passivo.loop.report import LoopReport  # noqa: F401
    from passivo.loop.safety import Safety  # noqa: F401
    from passivo.method.bounce import ExactBounce  # noqa: F401
    from passivo.method.closed_loop import ClosedLoopAVF  # noqa: F401
    from passivo.method.collocation import Collocation  # noqa: F401
    from passivo.method.composition import Composition  # noqa: F401
    from passivo.method.constrained import ConstrainedGradient, ConstrainedSplitting  # noqa: F401
    from passivo.method.discrete_gradient import Gonzalez, ItohAbe, SymmetrisedItohAbe  # noqa: F401
    from passivo.method.energy_consistent import EnergyConsistent  # noqa: F401
    from passivo.method.exact_hold import ExactHold  # noqa: F401
    from passivo.method.non_iterative import SAV, Kahan  # noqa: F401
    from passivo.method.one_stage import AVF, ExplicitEuler, ImplicitEuler, ImplicitMidpoint, SymplecticEuler  # noqa: F401
    from passivo.method.part import Part, compile, consistent  # noqa: F401
    from passivo.method.passive_midpoint import PassiveMidpoint  # noqa: F401
    from passivo.method.runge_kutta import RK4, Heun  # noqa: F401
    from passivo.method.splitting import StructureSplitting  # noqa: F401
    from passivo.model import library  # noqa: F401
    from passivo.model.beam import Beam  # noqa: F401
    from passivo.model.constrained import Constrained  # noqa: F401
    from passivo.model.embedding import Embedding  # noqa: F401
    from passivo.model.feedback import Feedback, Relation  # noqa: F401
    from passivo.model.mechanical import Linear, Mechanical  # noqa: F401
    from passivo.model.monolithic import Monolithic  # noqa: F401
    from passivo.model.ports import Port, effort, flow  # noqa: F401
    from passivo.model.rendering import Rendering  # noqa: F401
    from passivo.model.symbols import symbols  # noqa: F401
    from passivo.model.system import System  # noqa: F401
    from passivo.network.coupling import VirtualCoupling  # noqa: F401
    from passivo.network.delay_line import DelayLine  # noqa: F401
    from passivo.network.direct import Direct  # noqa: F401
    from passivo.network.ledger_clamp import Clamp, LedgerClamp, include  # noqa: F401
    from passivo.network.mean_hold import MeanHold  # noqa: F401
    from passivo.network.network import Network  # noqa: F401
    from passivo.network.passivity_controller import PassivityController  # noqa: F401
    from passivo.network.sample_hold import PassiveSampleHold  # noqa: F401
    from passivo.network.sampler import PassiveSampler  # noqa: F401
    from passivo.run import operators  # noqa: F401
    from passivo.run.adaptive import Adaptive  # noqa: F401
    from passivo.run.audit import Audit  # noqa: F401
    from passivo.run.compare import Comparison, Entry, compare  # noqa: F401
    from passivo.run.identify import Identified, identify  # noqa: F401
    from passivo.run.inputs import Held, Noise  # noqa: F401
    from passivo.run.reference import Reference  # noqa: F401
    from passivo.run.run import Run  # noqa: F401
    from passivo.run.save import load  # noqa: F401
    from passivo.run.simulate import simulate  # noqa: F401
    from passivo.run.zwidth import DeviceModel, ZWidth, zwidth  # noqa: F401
    from passivo.scenario.scenario import Scenario  # noqa: F401
    from passivo.sweep.keep import Reduce  # noqa: F401
    from passivo.sweep.sweep import sweep  # noqa: F401
    from passivo.world.joints import Ball, Free, Hinge, Slider  # noqa: F401
    from passivo.world.shapes import Box, Capsule, ConvexMesh, Cylinder, HeightField, Sphere  # noqa: F401
    from passivo.world.tendons import Drive  # noqa: F401
    from passivo.world.world import World  # noqa: F401
