"""Formulas. A formula is kept as checked text and is read by one whitelist parser over `ast`.

The same walk serves every arithmetic: SymPy symbols (to derive code), NumPy arrays (to check a model at
sampled states) and extended precision (to audit a run). Nothing is ever passed to `eval` or `sympify`.
"""

from __future__ import annotations

import ast
import keyword
import math
import operator
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from passivo.errors import ExpressionError, nearest, quoted
from passivo.model.formula import Formula

MAX_LENGTH = 100_000
MAX_NODES = 20_000  # numbers, names and operations
MAX_NESTING = 150  # brackets inside brackets; a sum or product of any length is one level
MAX_FUNCTIONS = 30  # functions inside functions: each makes a derivative twice as long
MAX_EXPONENT = 1000  # of one power, and of powers of powers multiplied
MAX_DIGITS = 5000

_NUMPY: dict[str, Callable] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "cbrt": np.cbrt, "Abs": np.abs, "sign": np.sign,
    "Max": lambda *a: _fold(np.maximum, a), "Min": lambda *a: _fold(np.minimum, a),
}  # fmt: skip
FUNCTIONS = tuple(_NUMPY)
_ALIASES = {"abs": "Abs", "max": "Max", "min": "Min", "arctan": "atan", "arcsin": "asin", "arccos": "acos", "ln": "log"}
_ARGUMENTS = {"atan2": (2, 2), "Max": (1, 100), "Min": (1, 100)}
_CONSTANTS = {"pi": math.pi, "E": math.e}
RESERVED = frozenset(FUNCTIONS) | frozenset(_ALIASES) | frozenset(_CONSTANTS) | {"time", "total"}

_BINARY: dict[type, Callable] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.BitAnd: operator.and_,
}  # fmt: skip
_COMPARE: dict[type, Callable] = {ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt, ast.LtE: operator.le}


def _fold(function, values):
    result = values[0]
    for value in values[1:]:
        result = function(result, value)
    return result


class Arithmetic:
    """What numbers, functions and powers mean while a formula is walked."""

    def __init__(
        self,
        number: Callable,
        functions: Mapping[str, Callable],
        constants: Mapping[str, Any],
        power: Callable = operator.pow,
    ):
        self.number = number
        self.functions = functions
        self.constants = constants
        self.power = power


# np.float64, not float: 1/0, 10**999 and (-1)**0.5 must be inf and nan, not an exception or a complex number
FLOAT = Arithmetic(np.float64, _NUMPY, _CONSTANTS)
EXTENDED = Arithmetic(np.longdouble, _NUMPY, {"pi": 4 * np.arctan(np.longdouble(1)), "E": np.exp(np.longdouble(1))})


@lru_cache(maxsize=1)
def symbolic() -> Arithmetic:
    """SymPy arithmetic; loading SymPy takes a third of a second, so it waits until a derivation needs it."""
    import sympy as sp

    from passivo.model.special import cbrt

    functions = {name: getattr(sp, name) for name in FUNCTIONS} | {"cbrt": cbrt}
    number = lambda v: sp.Integer(v) if isinstance(v, int) else sp.Float(v, 17)  # noqa: E731
    return Arithmetic(number, functions, {"pi": sp.pi, "E": sp.E}, _symbolic_power)


def _symbolic_power(base: Any, exponent: Any) -> Any:
    """base ** exponent, refused where SymPy would write out thousands of digits, as in 10**Abs(10**9)."""
    factor = base.as_coeff_Mul()[0]
    if exponent.is_Number:
        bits = max(factor.p.bit_length(), factor.q.bit_length()) if factor.is_Rational else 0
        if not abs(exponent) <= MAX_EXPONENT or abs(exponent) * bits * math.log10(2) > MAX_DIGITS:
            raise ExpressionError(
                f"the power {str(base)[:60]} ** {str(exponent)[:60]} is out of range: "
                f"exponents go up to {MAX_EXPONENT}, whole numbers up to {MAX_DIGITS} digits"
            )
    return base**exponent


@lru_cache(maxsize=4096)
def _tree(text: str) -> ast.expr:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"a formula of {len(text)} characters is too long; the limit is {MAX_LENGTH}")
    try:
        tree = _parse(text)
        nodes = _count(tree)
        if nodes > MAX_NODES:
            raise ExpressionError(f"{quoted(text)} has {nodes} numbers, names and operations; the limit is {MAX_NODES}")
        _check(tree, text)
        _measure(tree, text)
    except ExpressionError:
        raise
    except SyntaxError:
        raise ExpressionError(f"{quoted(text)} is not a formula: {_advice(text)}") from None
    except (RecursionError, MemoryError):
        raise _too_deep(text) from None
    except (ValueError, OverflowError):
        raise ExpressionError(f"the formula {quoted(text)} holds a number out of range") from None
    return tree


def _too_deep(text: str) -> ExpressionError:
    return ExpressionError(
        f"the formula {quoted(text)} is nested too deeply or too long; write it with fewer brackets or terms"
    )


def _parse(text: str) -> ast.expr:
    """A tree of its own; brackets may not close what stands around the formula."""
    depth = 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            raise SyntaxError
        if depth > MAX_NESTING:
            raise RecursionError
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Python would print its advice on what it reads at a guess, such as 1if
        return ast.parse(f"({text.strip()}\n)", mode="eval").body


_UNIT = re.compile(r"(?<![\w.])(\d+(?:\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*[^\W\d_]")


def _advice(text: str) -> str:
    """What is probably wrong with a text that is no formula, and how to mend it."""
    words = re.findall(r"[^\W\d]\w*", text)
    if reserved := [word for word in words if keyword.iskeyword(word) and word != "and"]:
        return f"{reserved[0]!r} is reserved; choose another name, such as {reserved[0] + '1'!r}"
    if text.count("(") != text.count(")"):
        missing = "closed" if text.count("(") > text.count(")") else "opened"
        return f"a bracket is never {missing}; write as many ( as )"
    if _UNIT.search(text):
        return "numbers carry no unit here (seconds, SI); write 2*pi with a *"
    if re.search(r"(?<![<>=!])=(?!=)", text):
        return "a formula has no =; write its right side alone, or a condition with < or >"
    return "check its operators and brackets; write it as in k*q**2/2"


def _count(tree: ast.AST) -> int:
    return sum(isinstance(node, ast.expr) for node in ast.walk(tree))


def size(text: str) -> int:
    """How many numbers, names and operations a formula holds."""
    return _count(_tree(text))


def terms(text: str) -> int:
    """How many terms a formula may have when multiplied out, at most: monomials of its degree in its names."""
    tree = _tree(text)
    variables = len(names(text)) + sum(isinstance(node, ast.Call) for node in ast.walk(tree))
    return math.comb(int(_extent(tree, text)[0]) + variables, variables)


def _chain(node: ast.AST) -> tuple[ast.AST, list[tuple[ast.operator, ast.expr]]]:
    """a + b - c*d as a and [(+, b), (-, c*d)]: a long sum is a deep tree, so it is walked in a loop."""
    links = []
    while isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Pow):
        links.append((node.op, node.right))
        node = node.left
    return node, links[::-1]


def _check(node: ast.AST, text: str) -> None:
    match node:
        case ast.Constant(value=bool() | str() | bytes() | complex() | None):
            raise ExpressionError(f"{_unparse(node)} in {quoted(text)} is not a real number")
        case ast.Constant(value=int() | float() as value) if math.isfinite(float(value)):
            pass
        case ast.Constant(value=int() | float()):
            raise ExpressionError(f"a number in {quoted(text)} is out of range; the largest is 1.8e308")
        case ast.Name():
            pass
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            _check_number(operand, text)
        case ast.BinOp(op=ast.Pow(), left=left, right=right):
            _check_number(left, text)
            _check_number(right, text)
            size = _constant(right)
            if size is not None and not abs(size) <= MAX_EXPONENT:
                raise ExpressionError(f"the exponent {_brief(right)} in {quoted(text)} is beyond {MAX_EXPONENT}")
        case ast.BinOp():
            first, links = _chain(node)
            conditions = [isinstance(op, ast.BitAnd) for op, _ in links]
            for i, part in enumerate((first, *(right for _, right in links))):
                check = _check_condition if conditions[max(i - 1, 0)] else _check_number
                check(part, text)
            for op, right in links:
                _check_operator(op, right, text)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            _check_call(name, args, text)
        case ast.Compare(left=left, ops=ops, comparators=right) if all(type(op) in _COMPARE for op in ops):
            for side in (left, *right):
                _check_number(side, text)
        case ast.BoolOp(op=ast.And(), values=values):
            for value in values:
                _check_condition(value, text)
        case ast.Tuple(elts=[]):
            raise ExpressionError(f"the formula {quoted(text)} is empty; write 0 for nothing")
        case ast.Tuple() if re.search(r"\d,\d", text):
            raise ExpressionError(f"{quoted(text)} is not a number: write a decimal point, as in 9.81")
        case ast.Call():
            raise ExpressionError(f"{_brief(node)} in {quoted(text)} is not a function; {FORGOTTEN}")
        case _:
            what = _brief(node) if isinstance(node, ast.expr) else type(node).__name__
            raise ExpressionError(
                f"{what} in {quoted(text)} is not allowed in a formula: "
                f"only numbers, names, + - * / ** and {', '.join(FUNCTIONS)}"
            )


FORGOTTEN = "did you forget a * before the bracket?"


def _check_operator(op: ast.operator, right: ast.expr, text: str) -> None:
    if isinstance(op, ast.BitXor):
        raise ExpressionError(f"^ before {_brief(right)} in {quoted(text)}: write ** for a power, as in q**2")
    if type(op) not in _BINARY:
        raise ExpressionError(
            f"the operator before {_brief(right)} in {quoted(text)} is not allowed in a formula: only + - * / **"
        )


def _check_call(name: str, args: list[ast.expr], text: str) -> None:
    plain = _ALIASES.get(name, name)
    if plain not in FUNCTIONS:
        known = nearest(name, FUNCTIONS)
        raise ExpressionError(f"{name[:60]}() in {quoted(text)} is not a known function; {FORGOTTEN} If not, {known}")
    # NumPy would take a second argument of sin as the place to write the result to
    least, most = _ARGUMENTS.get(plain, (1, 1))
    if not least <= len(args) <= most:
        plural = "s" if least > 1 else ""
        point = "; write a decimal point, as in 9.81" if re.search(r"\d,\d", text) else ""
        raise ExpressionError(f"{name}() in {quoted(text)} takes {least} argument{plural}, not {len(args)}{point}")
    for argument in args:
        _check_number(argument, text)


def _is_logic(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd)
    )


def _check_number(node: ast.AST, text: str) -> None:
    if _is_logic(node):
        raise ExpressionError(f"the condition {_brief(node)} in {quoted(text)} stands where a number is expected")
    _check(node, text)


def _check_condition(node: ast.AST, text: str) -> None:
    if not _is_logic(node):
        raise ExpressionError(
            f"{_brief(node)} in {quoted(text)} is a number; 'and' joins conditions, as in q > 0 and q < 1"
        )
    _check(node, text)


def _measure(tree: ast.AST, text: str) -> None:
    """Bounds what SymPy would otherwise work on for hours: brackets, functions of functions, powers of powers."""
    degree, functions, levels = _extent(tree, text)
    if levels > MAX_NESTING:
        raise _too_deep(text)
    if functions > MAX_FUNCTIONS:
        raise ExpressionError(f"{quoted(text)} nests {functions} functions; the limit is {MAX_FUNCTIONS}")
    _check_degree(degree, text)


def _check_degree(degree: float, text: str) -> None:
    if degree > MAX_EXPONENT:
        raise ExpressionError(
            f"{quoted(text)} is of degree {degree:g}; the limit is {MAX_EXPONENT}: choose smaller exponents"
        )


def _extent(node: ast.AST, text: str) -> tuple[float, int, int]:
    """Degree as a polynomial, functions inside functions, brackets inside brackets."""
    match node:
        case ast.Constant():
            return 0, 0, 0
        case ast.BinOp(op=ast.Pow(), left=left, right=right):
            (degree, *base), (_, *exponent) = _extent(left, text), _extent(right, text)
            power = _constant(right)
            degree *= 1 if power is None or power != int(power) else abs(int(power))
            _check_degree(degree, text)
            return degree, max(base[0], exponent[0]), max(base[1], exponent[1]) + 1
        case ast.BinOp():
            first, links = _chain(node)
            degree, functions, levels = _extent(first, text)
            for op, right in links:
                other = _extent(right, text)
                sum_ = isinstance(op, ast.Add | ast.Sub)
                degree = max(degree, other[0]) if sum_ else degree + other[0]
                functions, levels = max(functions, other[1]), max(levels, other[2])
            return degree, functions, levels + 1
        case ast.Call(args=args):
            inner = [_extent(argument, text) for argument in args]
            for degree, *_ in inner:
                _check_degree(degree, text)
            # a function is one new variable to whatever stands around it
            return 1, max(part[1] for part in inner) + 1, max(part[2] for part in inner) + 1
        case ast.UnaryOp() | ast.Compare() | ast.BoolOp():
            inner = [_extent(child, text) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
            return max(part[0] for part in inner), max(part[1] for part in inner), max(part[2] for part in inner) + 1
    return 1, 0, 0


_LONG = 50  # links of a sum from which on Python's own recursive writer might fail


def _unparse(node: Any, text: str = "") -> str:
    """The text of a tree, as Python writes it; the links of a long sum or product are written one by one."""
    try:
        first, links = _level(node)
        if len(links) < _LONG:
            return ast.unparse(node)
        x = ast.Name("x")
        head = ast.unparse(ast.BinOp(first, links[0][0], x))[: -len("x")]
        tail = "".join(ast.unparse(ast.BinOp(x, op, right))[len("x") :] for op, right in links)
        return head.rstrip(" +-*/") + tail
    except RecursionError:
        raise _too_deep(text) from None


def _level(node: Any) -> tuple[Any, list[tuple[ast.operator, ast.expr]]]:
    """As `_chain`, for operators of one rank only: + and -, or * and /."""
    rank = next((rank for rank in _RANKS if isinstance(node, ast.BinOp) and isinstance(node.op, rank)), None)
    links = []
    while rank and isinstance(node, ast.BinOp) and isinstance(node.op, rank):
        links.append((node.op, node.right))
        node = node.left
    return node, links[::-1]


_RANKS = ((ast.Add, ast.Sub), (ast.Mult, ast.Div))


def _brief(node: Any) -> str:
    """A piece of a formula as an error quotes it."""
    try:
        return quoted(_unparse(node))
    except ExpressionError:
        return "a deeply nested part"


def _constant(node: ast.AST) -> Any:
    """The value of an exponent made of numbers alone, NaN or infinite if out of range; else None."""
    match node:
        case ast.Constant(value=value):
            return np.float64(value)  # pyright: ignore[reportArgumentType]
        case ast.UnaryOp(op=op, operand=operand):
            value = _constant(operand)
            return -value if value is not None and isinstance(op, ast.USub) else value
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
            a, b = _constant(left), _constant(right)
            with np.errstate(all="ignore"):
                return None if a is None or b is None else _BINARY[type(op)](a, b)
    return None


def evaluate(text: str, values: Mapping[str, Any], arithmetic: Arithmetic = FLOAT) -> Any:
    """The value of a formula, with its names bound to `values`."""

    def walk(node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=value):
                return arithmetic.number(value)
            case ast.Name(id=name):
                if name in values:
                    return values[name]
                if name in arithmetic.constants:
                    return arithmetic.constants[name]
                raise ExpressionError(f"unknown name {quoted(name)} in {quoted(text)}; {nearest(name, values)}")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -walk(operand)
            case ast.UnaryOp(operand=operand):
                return walk(operand)
            case ast.BinOp(op=ast.Pow(), left=left, right=right):
                return arithmetic.power(walk(left), walk(right))
            case ast.BinOp():
                first, links = _chain(node)
                value = walk(first)
                for op, right in links:
                    value = _BINARY[type(op)](value, walk(right))
                return value
            case ast.Call(func=ast.Name(id=name), args=args):
                return arithmetic.functions[_ALIASES.get(name, name)](*map(walk, args))
            case ast.Compare(left=left, ops=ops, comparators=right):
                sides = [walk(left), *map(walk, right)]
                return _fold(operator.and_, [_COMPARE[type(op)](a, b) for op, a, b in zip(ops, sides, sides[1:])])
            case ast.BoolOp(values=parts):
                return _fold(operator.and_, [walk(part) for part in parts])
        raise ExpressionError(f"{quoted(text)} is not a formula")

    tree = _tree(text)
    try:
        with np.errstate(all="ignore"):
            return walk(tree)
    except RecursionError:
        raise _too_deep(text) from None
    except TypeError as error:
        raise ExpressionError(f"{quoted(text)} cannot be computed: {error}") from None


def names(text: str) -> set[str]:
    """The free names of a formula (functions and constants left out)."""
    tree = _tree(text)
    calls = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in calls}
    return found - set(_CONSTANTS)


def renamed(text: str, new: Mapping[str, str]) -> str:
    """The formula with its free names replaced as `new` says, all at once."""
    _tree(text)
    tree = _parse(text)  # another one: the tree in the cache is shared
    calls = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node not in calls:
            node.id = new.get(node.id, node.id)
    return _unparse(tree, text)


def is_condition(text: str) -> bool:
    """Whether a formula is a comparison (a domain) and not a number."""
    return any(isinstance(node, ast.Compare) for node in ast.walk(_tree(text)))


def is_sum(text: str) -> bool:
    """Whether a formula is a sum or difference, which needs brackets when negated."""
    tree = _tree(text)
    return isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add | ast.Sub)


def to_text(value: Any) -> str:
    """The checked text of a formula given as text, number, `pv.symbols` or SymPy expression."""
    if isinstance(value, str | Formula):
        return _canonical(str(value))
    if isinstance(value, bool) or value is None:
        raise ExpressionError(f"{quoted(value)} is not a formula; give a number, a formula of pv.symbols or text")
    if isinstance(value, int | float | np.integer | np.floating):
        if not abs(value) <= sys.float_info.max:
            raise ExpressionError(f"{value} is not a finite number; the largest is 1.8e308")
        return repr(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))
    if hasattr(value, "free_symbols"):
        return _canonical(_sympy_text(value))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return to_text(value.item())
    raise ExpressionError(f"{quoted(value)} is not a formula; give a number, a formula of pv.symbols or text")


def _canonical(text: str) -> str:
    return _unparse(_tree(text), text)


def _sympy_text(expression: Any) -> str:
    from sympy import I, nan, oo, zoo
    from sympy.printing.str import StrPrinter

    class Printer(StrPrinter):
        def _print_Float(self, expr):
            return repr(float(expr))

    if hasattr(expression, "has") and expression.has(I):
        raise ExpressionError(f"{str(expression)[:80]} is complex; energies and matrices must be real")
    if hasattr(expression, "has") and expression.has(nan, oo, -oo, zoo):
        raise ExpressionError(f"{str(expression)[:80]} is not finite; check for a division by 0")
    return Printer().doprint(expression)
