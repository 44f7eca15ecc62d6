"""SymPy formulas to Python source: scalar code over one flat memory `m`, common subexpressions shared.

Whatever depends on parameters alone is computed once, in `prepare`, and read from a slot of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp
from sympy.printing.pycode import PythonCodePrinter
from sympy.printing.precedence import PRECEDENCE, precedence


class _Printer(PythonCodePrinter):
    """Plain calls (`sin(x)`), short powers as products, exact doubles."""

    def __init__(self, local: Mapping[Any, str]):
        super().__init__({"fully_qualified_modules": False})
        self.local = local

    def _print_Symbol(self, expr):
        return self.local[expr]

    _print_Dummy = _print_Symbol

    def _print_Rational(self, expr):
        return repr(float(expr))

    def _print_Integer(self, expr):
        return f"{int(expr)}.0"

    _print_Zero = _print_One = _print_NegativeOne = _print_Half = _print_Rational

    def _print_Float(self, expr):
        return repr(float(expr))

    def _print_Pi(self, expr):
        return repr(float(sp.pi))

    def _print_Exp1(self, expr):
        return repr(float(sp.E))

    def _print_Pow(self, expr, rational=False):
        base, exponent = expr.args
        text = self.parenthesize(base, PRECEDENCE["Pow"])
        if exponent.is_Integer:
            n = abs(int(exponent))
            power = text if n == 1 else "*".join([text] * n) if n <= 4 and base.is_Symbol else f"{text}**{n}"
            return f"1.0/({power})" if exponent < 0 else power if n == 1 else f"({power})"
        if (2 * exponent).is_Integer:
            n = int(abs(exponent) - sp.Rational(1, 2))
            root = f"sqrt({self._print(base)})"
            power = root if n == 0 else f"({root}*{text}**{n})"
            return f"1.0/{power}" if exponent < 0 else power
        return f"{text}**{self.parenthesize(exponent, PRECEDENCE['Pow'])}"

    def _print_Function(self, expr):
        return f"{expr.func.__name__}({', '.join(self._print(arg) for arg in expr.args)})"

    def _print_exp(self, expr):
        return f"exp({self._print(expr.args[0])})"

    _print_sin = _print_cos = _print_tan = _print_asin = _print_acos = _print_atan = _print_atan2 = _print_Function
    _print_sinh = _print_cosh = _print_tanh = _print_asinh = _print_log = _print_Function

    def _print_Abs(self, expr):
        return f"abs({self._print(expr.args[0])})"

    def _print_sign(self, expr):
        return f"sign({self._print(expr.args[0])})"

    def _print_Heaviside(self, expr):
        return f"heaviside({self._print(expr.args[0])})"

    def _print_DiracDelta(self, expr):
        return "0.0"

    def _print_Max(self, expr):
        return f"max({', '.join(self._print(arg) for arg in expr.args)})"

    def _print_Min(self, expr):
        return f"min({', '.join(self._print(arg) for arg in expr.args)})"

    def _print_Relational(self, expr):
        level = precedence(expr)
        return f"{self.parenthesize(expr.lhs, level)} {expr.rel_op} {self.parenthesize(expr.rhs, level)}"


@dataclass
class Layout:
    """Named sections of the memory, handed out one after the other."""

    size: int = 0
    sections: dict[str, int] = field(default_factory=dict)

    def take(self, name: str, count: int) -> int:
        self.sections[name] = self.size
        self.size += count
        return self.sections[name]

    def slots(self, name: str, symbols: Iterable[Any]) -> dict[Any, str]:
        """Where symbols live that fill a section one after the other."""
        start = self.sections[name]
        return {symbol: f"m[{start + i}]" for i, symbol in enumerate(symbols)}


class Source:
    """Collects leaves (generated functions) that share one layout, one parameter list and the hoisted constants."""

    def __init__(self, layout: Layout, params: Mapping[Any, str]):
        self.layout = layout
        self.params = dict(params)
        self.constants: dict[Any, tuple[Any, int]] = {}
        self.functions: list[str] = []

    def leaf(
        self,
        name: str,
        arguments: str,
        bindings: Mapping[Any, str],
        outputs: Iterable[tuple[str, Any]],
        definitions: Mapping[Any, Any] | None = None,
        returns: Any = None,
        note: str = "",
    ) -> None:
        """Write `def name(arguments)`: load the bound symbols that are used, compute, store `target = formula`.

        `definitions` are symbols computed from others (b = a + d). A target may end in "+=".
        """
        outputs = [(target, self._hoist(sp.sympify(value))) for target, value in outputs]
        formulas = [value for _, value in outputs]
        if returns is not None:
            formulas.append(self._hoist(sp.sympify(returns)))
        shared, formulas = sp.cse(formulas, symbols=sp.numbered_symbols("#", real=True), order="none")
        definitions = dict(definitions or {})
        used = set().union(*(f.free_symbols for f in formulas), *(f.free_symbols for _, f in shared))
        for symbol in [s for s in definitions if s in used]:
            used |= definitions[symbol].free_symbols
        bound = {**bindings, **self.params, **{s: f"m[{at}]" for s, at in self.constants.values()}}
        local: dict[Any, str] = {}
        for symbol in sorted(used | {s for s, _ in shared}, key=lambda s: s.name):
            local[symbol] = _unique(symbol.name, local.values())
        unknown = [s for s in used if s not in bound and s not in definitions and s not in {c for c, _ in shared}]
        assert not unknown, f"{name}: {unknown} are bound to nothing"
        printer = _Printer(local)
        lines = [f"def {name}({arguments}):"]
        if note:
            lines.append(f'    """{note}"""')
        lines += [f"    {local[s]} = {code}" for s, code in bound.items() if s in used and local[s] != code]
        lines += [f"    {local[s]} = {printer.doprint(f)}" for s, f in definitions.items() if s in used]
        lines += [f"    {local[s]} = {printer.doprint(f)}" for s, f in shared]
        for (target, _), value in zip(outputs, formulas):
            operator = "" if target.endswith("=") else " ="
            lines.append(f"    {target}{operator} {printer.doprint(value)}")
        if returns is not None:
            lines.append(f"    return {printer.doprint(formulas[-1])}")
        if len(lines) == 1 + bool(note):
            lines.append("    pass")
        self.functions.append("\n".join(lines))

    def finish(self) -> None:
        """Write `prepare`, which fills the slots of the hoisted constants."""
        table = list(self.constants.items())
        self.constants = {}
        local = {symbol: _unique(symbol.name, ()) for symbol in self.params}
        printer = _Printer(local)
        used = set().union(*(formula.free_symbols for formula, _ in table)) if table else set()
        lines = ["def prepare(m):", '    """Constants that depend on parameters alone."""']
        lines += [f"    {local[s]} = {code}" for s, code in self.params.items() if s in used]
        lines += [f"    m[{at}] = {printer.doprint(formula)}" for formula, (_, at) in table]
        self.functions.append("\n".join(lines))

    def _hoist(self, f: Any) -> Any:
        """Replace what depends on parameters alone by a constant slot."""
        if f.is_Atom or f.is_Relational or f.is_Boolean:
            return f
        if f.free_symbols <= self.params.keys():
            return self._constant(f) if f.free_symbols else f
        if f.is_Add or f.is_Mul:
            fixed = [arg for arg in f.args if arg.free_symbols <= self.params.keys()]
            rest = [self._hoist(arg) for arg in f.args if arg not in fixed]
            constant = f.func(*fixed)
            if not constant.is_Atom and constant.free_symbols:
                constant = self._constant(constant)
            return f.func(constant, *rest)
        return f.func(*(self._hoist(arg) for arg in f.args))

    def _constant(self, f: Any) -> Any:
        if f not in self.constants:
            at = self.layout.take(f"CONSTANT_{len(self.constants)}", 1)
            self.constants[f] = (sp.Symbol(f"k#{len(self.constants)}", real=True), at)
        return self.constants[f][0]


def _unique(name: str, taken: Iterable[str]) -> str:
    """A local variable name for a symbol; the trailing _ keeps clear of functions, `m` and `h`."""
    base = re.sub(r"\W", "_", name) + "_"
    taken = set(taken)
    while base in taken:
        base += "_"
    return base
