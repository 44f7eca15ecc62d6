"""Inputs that follow from the outputs inside the same step: `Feedback` u(y) and `Relation` ρ(y, u) = 0 (spec 2.6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passivo.errors import InputError, PassivoError
from passivo.model.expression import evaluate, names, renamed, symbolic, to_text
from passivo.model.symbols import symbols


class Law:
    """A law between the output y and the input u of one port: a function, traced once with symbols (one each for a port
    1 wide, else a list of them), or text, one per component. Kept as formulas in y0, y1, ... and u0, u1, ...; text for
    a port 1 wide may say y and u."""

    def __init__(self, law: Callable | str | Sequence[str]):
        self.law = law

    def formulas(self, width: int) -> tuple[str, ...]:
        """The law as `width` checked formulas."""
        given: Any = self.law
        if callable(given):
            y, u = (symbols(f"{letter}:{width}") for letter in "yu")
            arguments = [value[0] if width == 1 else list(value) for value in self._arguments(y, u)]
            try:
                given = given(*arguments)
            except PassivoError:
                raise
            except Exception as error:
                raise InputError(
                    f"{type(self).__name__} must be a formula of its arguments; calling it with symbols failed "
                    f"({error}). Use pv.sin, pv.atan, pv.Max ... instead of math or numpy, "
                    "or pv.Held for an arbitrary function"
                ) from error
        parts: list[Any] = [given] if isinstance(given, str) or not isinstance(given, list | tuple) else list(given)
        if len(parts) == 1 and hasattr(parts[0], "tolist") and not hasattr(parts[0], "free_symbols"):
            parts = list(parts[0].tolist())
        if len(parts) != width:
            raise InputError(f"{type(self).__name__} gives {len(parts)} values for a port {width} wide")
        texts = tuple(to_text(part) for part in parts)
        if width == 1:
            texts = (renamed(texts[0], {letter: f"{letter}0" for letter in self._letters}),)
        known = {f"{letter}{i}" for letter in self._letters for i in range(width)}
        for text in texts:
            if unknown := names(text) - known:
                usual = sorted(self._letters if width == 1 else known)
                raise InputError(f"{type(self).__name__} uses {sorted(unknown)}; only {usual} are known in it")
        return texts

    _letters = "yu"

    def _arguments(self, y: Sequence[Any], u: Sequence[Any]) -> tuple[Sequence[Any], ...]:
        return (y, u)


class Feedback(Law):
    """u = φ(y) at one port, solved inside the step with its own output: `Feedback(lambda y: -0.05*pv.atan(y))`,
    or as text `Feedback("-0.05*atan(y)")`."""

    _letters = "y"

    def _arguments(self, y: Sequence[Any], u: Sequence[Any]) -> tuple[Sequence[Any], ...]:
        return (y,)


class Relation(Law):
    """ρ(y, u) = 0 at one port with u as a further unknown, for laws that are steep or many-valued as u(y):
    `Relation(lambda y, u: y + 8*u**3)`, or as text `Relation("y + 8*u**3")`."""


def read(texts: Sequence[str], y: Sequence[Any], u: Sequence[Any]) -> list[Any]:
    """The formulas of a law with y and u put in."""
    scope = {f"y{i}": value for i, value in enumerate(y)} | {f"u{i}": value for i, value in enumerate(u)}
    return [evaluate(text, scope, symbolic()) for text in texts]
