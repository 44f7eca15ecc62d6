"""SymPy formulas to Python source: scalar code over one flat memory `m`, common subexpressions shared.

Whatever depends on parameters alone is computed once, in `prepare`, and read from a slot of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp
from sympy.printing.precedence import PRECEDENCE, precedence
from sympy.printing.pycode import PythonCodePrinter

from passivo.errors import ModelError
from passivo.kernel.slopes import ratio


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

    def _refuse(self, expr) -> Any:
        raise ModelError(
            "a formula of the system, or its slope, is not finite or cannot be derived: "
            "look for a division by 0, log(0), 0**q, or sign and Abs of what is always 0"
        )

    _print_NaN = _print_ComplexInfinity = _print_Infinity = _print_NegativeInfinity = _refuse

    def _print_Derivative(self, expr):
        return self._refuse(expr)

    def _print_Subs(self, obj):
        return self._refuse(obj)

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
        guarded: bool = False,
        copies: Sequence[tuple[Mapping[Any, str], Sequence[str]]] = (),
        beside: Sequence[Any] = (),
    ) -> None:
        """Write `def name(arguments)`: load the bound symbols that are used, compute, store `target = formula`.

        `definitions` are symbols computed from others (b = a + d); only those that are needed are written, each
        before its first use. A target may end in "+=". A `guarded` leaf takes negative roots of 0 as 0: where a contact
        is open, the curvature of u**1.5 is multiplied by 0. `copies` repeat the same formulas with other bindings and
        targets. `beside` are formulas of a twin that shares subexpressions with this leaf: both then round alike.
        """
        outputs = [(target, sp.sympify(value)) for target, value in outputs]
        finals: list[Any] = [value for _, value in outputs] + ([] if returns is None else [sp.sympify(returns)])
        own = len(finals)
        finals += beside
        needed = _needed(finals, definitions or {})
        if guarded:
            needed, finals = {s: _guard(f) for s, f in needed.items()}, [_guard(f) for f in finals]
        hoisted = [self._hoist(formula) for formula in (*needed.values(), *finals)]
        shared: Any
        formulas: Any
        shared, formulas = sp.cse(hoisted, symbols=sp.numbered_symbols("#", real=True), order="none")
        steps = dict(shared) | dict(zip(needed, formulas))
        finals = formulas[len(needed) :][:own]
        fixed = {**self.params, **{s: f"m[{at}]" for s, at in self.constants.values()}}

        local: dict[Any, str] = {}
        lines: list[str] = []
        loads: set[Any] = set()
        printer = _Printer(local)

        def define(symbol: Any) -> None:
            if symbol in local:
                return
            local[symbol] = _unique(symbol.name, local.values())
            if symbol in steps:
                for inner in sorted(steps[symbol].free_symbols, key=str):
                    define(inner)
                lines.append(f"    {local[symbol]} = {printer.doprint(steps[symbol])}")
            else:
                loads.add(symbol)

        for value in finals:
            for symbol in sorted(value.free_symbols, key=str):
                define(symbol)
        values = [printer.doprint(value) for value in finals]
        body: list[str] = []
        for where, targets in ((bindings, [target for target, _ in outputs]), *copies):
            # everything is loaded before the first store: a store might otherwise force a reload
            bound = {**where, **fixed}
            body += [f"    {local[symbol]} = {bound[symbol]}" for symbol in bound if symbol in loads]
            body += lines
            body += [f"    {t}{'' if t.endswith('=') else ' ='} {value}" for t, value in zip(targets, values)]
        if returns is not None:
            body.append(f"    return {values[-1]}")
        body = body or ["    pass"]
        head = [f"def {name}({arguments}):", *([f'    """{note}"""'] if note else [])]
        self.functions.append("\n".join(head + body))

    def finish(self) -> None:
        """Write `prepare`, which fills the slots of the hoisted constants."""
        table = list(self.constants.items())
        self.constants = {}
        local: dict[Any, str] = {}
        for symbol in self.params:
            local[symbol] = _unique(symbol.name, local.values())
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


def _guard(formula: Any) -> Any:
    """1/u**a as a quotient that is 0 where u is 0."""
    singular = lambda f: f.is_Pow and f.exp.is_Number and f.exp < 0 and not f.exp.is_Integer  # noqa: E731
    return formula.replace(singular, lambda f: ratio(1, f.base**-f.exp))


def _needed(finals: Iterable[Any], definitions: Mapping[Any, Any]) -> dict[Any, Any]:
    """The definitions that `finals` use, directly or through each other."""
    found: dict[Any, Any] = {}
    waiting = list(finals)
    while waiting:
        for symbol in waiting.pop().free_symbols:
            if symbol in definitions and symbol not in found:
                found[symbol] = definitions[symbol]
                waiting.append(definitions[symbol])
    return found


def _unique(name: str, taken: Iterable[str]) -> str:
    """A local variable name for a symbol; the trailing _ keeps clear of functions, `m` and `h`."""
    base = re.sub(r"\W", "_", name) + "_"
    taken = set(taken)
    while base in taken:
        base += "_"
    return base
