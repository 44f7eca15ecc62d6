"""From accounts to a verdict: did the numerics create energy, how much, where and when."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from passivo.ledger import accounts as A

Kind = Literal["exact", "passive", "booked", "active", "none"]
ROUNDED = 1e-9  # an allowance that is met but for the rounding of long sums is met
BOUNDED = 1.01


@dataclass(frozen=True)
class Verdict:
    """What the ledger says of a run; energies in joules.

    kind       exact: created nothing and removed nothing beyond roundoff; passive: created nothing; booked: created,
               but the method knows it and it stays within the allowance; active: anything else; none: no verdict
    bias       the most energy created in any window of time; `window` is that window, `part` the part with the largest
    removed    the same for energy taken away by the numerics
    unnoticed  created less what the method booked itself
    roundoff   the largest roundoff of a single step, against which all this is judged
    allowance  the most a method that books may create: set by the user, or a share of the largest height less C
    bounded    the bias no longer grew after half of the run
    parts      the verdict of each part, where there is more than one
    so_far     the kind of the steps that were taken, also where the run stopped early and has no verdict as a whole
    """

    kind: Kind
    bias: float = 0.0
    removed: float = 0.0
    unnoticed: float = 0.0
    roundoff: float = 0.0
    allowance: float = 0.0
    bounded: bool = False
    part: str = ""
    window: tuple[float, float] = (0.0, 0.0)
    reason: str = ""
    parts: Mapping[str, Verdict] = field(default_factory=dict, repr=False)
    so_far: Kind = "none"

    @property
    def passive(self) -> bool:
        return self.kind in ("exact", "passive", "booked")

    @property
    def lends(self) -> bool:
        """Whether what is created is bounded and most of it is taken back, as symplectic methods do."""
        return self.bounded and self.removed >= self.bias / 2

    @property
    def title(self) -> str:
        """The kind, as tables and pictures name it."""
        return "active, bounded" if self.kind == "active" and self.lends else self.kind

    @property
    def sentence(self) -> str:
        if self.kind != "none":
            return self._told(self.kind)
        known = f". Until then {self._told(self.so_far)}" if self.so_far != "none" else ""
        return f"no verdict: {self.reason}{known}"

    def _told(self, kind: Kind) -> str:
        start, end = (f"{t:.6g}" for t in self.window)
        match kind:
            case "exact":
                return f"exact: energy was neither created nor removed beyond roundoff ({self.roundoff:.2g} J per step)"
            case "passive":
                return f"passive: no energy was created; the numerics removed {_joules(self.removed)}"
            case "booked":
                known = f"booked: {_joules(self.bias)} created, all of it known to the method"
                return f"{known}, allowance {_joules(self.allowance)}"
            case "active" if self.lends:
                return f"active but bounded: part {self.part} lends up to {_joules(self.bias)} and takes it back"
            case "active" if self.bounded:
                where = f"in part {self.part} between t = {start} and {end} s"
                return f"active: created {_joules(self.bias)} {where}, hardly any of it in the second half"
            case "active" if self.parts:
                worst = f"most of it in part {self.part} ({_joules(self.parts[self.part].bias)})"
                return f"active: created {_joules(self.bias)} between t = {start} and {end} s, {worst}"
        return f"active: created {_joules(self.bias)} in part {self.part} between t = {start} and {end} s"

    def __str__(self) -> str:
        return self.sentence


def _joules(value: float) -> str:
    return f"{value:.4g} J"


def judge(
    memory: np.ndarray,
    first: int,
    names: tuple[str, ...],
    allowance: float | Sequence[float | None] | None = None,
    stopped: str = "",
    *,
    share: float | Sequence[float] = 0.0,
) -> Verdict:
    """The verdict on the accounts that begin at `first` in `memory`, one per name; the last one is the total.

    allowance  joules, for all rows or one per row; None where `share` decides
    share      of the largest height less C of a row, for all rows or one per row
    """
    count = len(names)
    fixed = list(allowance) if isinstance(allowance, Sequence) else [allowance] * count
    shares = list(share) if isinstance(share, Sequence) else [share] * count
    rows = {}
    for i, name in enumerate(names):
        row = memory[first + i * A.ACCOUNT_SIZE : first + (i + 1) * A.ACCOUNT_SIZE]
        given = fixed[i]
        rows[name] = _judge_row(
            row, name, max(0.0, shares[i] * float(row[A.A_PEAK])) if given is None else given, stopped
        )
    *parts, (_, total) = rows.items()
    if not parts:
        return total
    worst = max(parts, key=lambda item: item[1].bias)[0]
    return Verdict(**{**vars(total), "part": worst, "parts": dict(parts)})


def _judge_row(row: np.ndarray, name: str, allowance: float, stopped: str) -> Verdict:
    roundoff, bias = float(row[A.A_ROUNDOFF]), float(row[A.A_BIAS])
    created = float(row[A.A_CREATED] + row[A.A_CREATED + 1])
    unnoticed = created - float(row[A.A_BOOKED] + row[A.A_BOOKED + 1])
    kind: Kind
    reason = stopped
    if not (math.isfinite(created) and math.isfinite(roundoff)):
        kind, reason = "none", stopped or "the ledger holds a number that is not finite"
    elif row[A.A_ROSE] == 0.0:
        kind = "exact" if row[A.A_FELL] == 0.0 else "passive"
    elif row[A.A_MISSED] == 0.0 and bias - roundoff <= allowance * (1.0 + ROUNDED):
        kind = "booked"
    else:
        kind = "active"
    return Verdict(
        kind="none" if stopped else kind,
        bias=bias,
        removed=float(row[A.A_REMOVED]),
        unnoticed=unnoticed,
        roundoff=roundoff,
        allowance=allowance,
        bounded=bool(kind == "active" and not stopped and bias <= BOUNDED * row[A.A_FIRST]),
        part=name,
        window=(float(row[A.A_BIAS + 1]), float(row[A.A_BIAS + 2])),
        reason=reason,
        so_far=kind,
    )
