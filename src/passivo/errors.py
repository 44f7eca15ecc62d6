"""Every mistake Passivo can point out, one class per kind, all under `PassivoError`.

A message says what was given, what was expected and how to mend it.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

LONGEST = 100  # characters of a name that are compared; names out of a file may be of any length


class PassivoError(Exception):
    """Base of all errors that Passivo raises on purpose."""


class ModelError(PassivoError, ValueError):
    """A description that is not a port-Hamiltonian system: structure, loss, energy, names or shapes."""


class ExpressionError(ModelError):
    """A formula that is not one: unknown names, functions outside the list, not an arithmetic expression."""


class MethodError(PassivoError, ValueError):
    """A method that does not apply to the system it was given; in a network that of `part`."""

    def __init__(self, what: str, part: str = ""):
        super().__init__(what, part)
        self.what, self.part = what, part

    def __str__(self) -> str:
        return f"part {self.part!r}: {self.what}" if self.part else self.what


class InputError(PassivoError, ValueError):
    """An argument of a run that cannot be used: step, duration, start, inputs."""


class RecordError(InputError):
    """More would be recorded than there is room for; `every` is the least `record_every` that would do."""

    def __init__(self, what: str, every: int):
        super().__init__(what, every)
        self.what, self.every = what, every

    def __str__(self) -> str:
        return f"{self.what}; say record_every={self.every} or more"


class FileError(PassivoError, ValueError):
    """A saved run that cannot be read."""


class DeviceError(PassivoError, RuntimeError):
    """A device that cannot be found, does not answer, or must not be used that way now."""


class ScenarioError(PassivoError, ValueError):
    """A scenario file that cannot be used; the message names file and line (or the option) of each mistake."""


class StepError(PassivoError, RuntimeError):
    """A step that could not be taken; the state before it is kept.

    `time` and `state` are those before the failed step, `residual` the largest residual of its equation
    (None where the step has none), `run` what was computed until then (None outside `simulate`).
    """

    def __init__(self, message: str, *, time: float, state: dict[str, float], residual: float | None = None):
        super().__init__(message)
        self.time = time
        self.state = state
        self.residual = residual
        self.run: Any = None

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), self.args[0], self.time, self.state, self.residual)

    def with_hint(self, hint: str) -> StepError:
        """The same error with a sentence more."""
        return _rebuilt(type(self), f"{self.args[0]}. {hint}", self.time, self.state, self.residual) if hint else self


def _rebuilt(
    cls: type[StepError], message: str, time: float, state: dict[str, float], residual: float | None
) -> StepError:
    """A step's error out of another process; its run stays behind."""
    return cls(message, time=time, state=state, residual=residual)


class ConvergenceError(StepError):
    """The equation of an implicit step has no solution that the solver could find."""


class DomainError(StepError):
    """The state left the domain of its model."""


class NonFiniteError(StepError):
    """A NaN or an infinite number came in through an input, or came out of a step."""


def quoted(value: Any, most: int = 80) -> str:
    """A value as an error quotes it: shortened, so that a long one does not hide the sentence."""
    text = repr(value[: most + 1] if isinstance(value, str) else value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def nearest(name: str, choices) -> str:
    """The closing half of an error sentence: the nearest valid choice, or all of them."""
    choices = [str(choice) for choice in choices]
    if not choices:
        return "there are none"
    folded = {choice.lower(): choice for choice in reversed(choices)}
    close = get_close_matches(name.lower()[:LONGEST], folded, n=1, cutoff=0.6)
    return f"did you mean {folded[close[0]]!r}?" if close else f"choose from {', '.join(choices)}"
