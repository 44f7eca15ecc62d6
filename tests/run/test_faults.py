"""Planted faults are named with part and amount."""

from dataclasses import dataclass

import pytest

import passivo as pv
from passivo.method.one_stage import OneStage


@dataclass(frozen=True)
class WrongGradient(pv.AVF):
    """AVF with one component of the gradient wrong by 1e-6."""

    def gradient(self, form, ends):
        mean, averages, nodes = super().gradient(form, ends)
        return [mean[0] * (1 + 1e-6), *mean[1:]], averages, nodes


@dataclass(frozen=True)
class WrongLoss(pv.AVF):
    """AVF whose field has the sign of R turned."""

    def flow(self, form):
        import sympy as sp

        g = sp.Matrix(form.gradient)
        return list((form.structure + form.loss) * g + form.ports * sp.Matrix(form.inputs))


class Leaky(pv.Monolithic):
    """A coupling whose effort side is a little too weak: it gives back more than it takes."""

    leak = 0.0

    def describe(self):
        return {**super().describe(), "leak": self.leak}

    def _coupling(self, start, widths, total):
        K = super()._coupling(start, widths, total)
        _, effort, flow = self.connections[0]
        K[start[effort], start[flow]] *= 1 - self.leak
        return K


@pytest.mark.parametrize("steps", [10**3, 10**7])
def test_wrong_gradient_is_active_by_the_same_amount(steps):
    run = pv.simulate(
        pv.library.oscillator(), WrongGradient(), step=1e-3, until=steps * 1e-3, start={"q": 0.2}, record_every=1000
    )
    assert isinstance(run.method, OneStage)
    assert run.verdict.kind == "active" and run.verdict.bounded and run.verdict.part == "oscillator"
    # the trajectory keeps H with k (1 + 1e-6): the true H swings by 1e-6 of 100 J
    assert run.verdict.bias == pytest.approx(1e-4, rel=1e-2)


def test_wrong_sign_of_loss_is_active_by_twice_the_loss():
    run = pv.simulate(pv.library.oscillator(b=0.5), WrongLoss(), step=1e-3, until=0.5, start={"q": 0.2})
    total = run.ledger.isel(time=-1).sel(part="total")
    assert run.verdict.kind == "active" and not run.verdict.bounded
    assert run.verdict.bias == pytest.approx(2 * float(total.lost), rel=1e-9)
    assert f"created {run.verdict.bias:.4g} J in part oscillator" in str(run.verdict)


def test_leaking_coupling_is_named():
    """A mass pulled through a damper at its final speed: 1 W flows through the link, a millionth of it is invented.

    The connection has a row of its own: the parts balance, it does not.
    """
    parts = {"damper": pv.library.damper(b=1.0), "mass": pv.library.mass(m=0.2, ports=("damper", "hand"))}
    for leak, steps in ((0.0, 1000), (1e-6, 1000), (1e-6, 10_000)):
        model = Leaky(parts, [("damper.end", "mass.damper", "link")])
        model.leak = leak
        run = pv.simulate(
            model, pv.AVF(), step=1e-3, until=steps * 1e-3, start={"mass.p": 0.2}, inputs={"mass.hand": 1.0}
        )
        assert run.parts == ["damper", "mass", "link"]
        assert run.part("damper").verdict.kind == run.part("mass").verdict.kind == "exact"
        if leak == 0.0:
            assert run.verdict.kind == "exact"
            continue
        assert run.verdict.kind == "active" and not run.verdict.bounded and run.verdict.part == "link"
        assert run.part("link").verdict.bias == pytest.approx(1e-9 * steps, rel=1e-5)
        assert run.verdict.bias == pytest.approx(1e-9 * steps, rel=1e-5)
        assert f"most of it in part link ({1e-9 * steps:.4g} J)" in str(run.verdict)
