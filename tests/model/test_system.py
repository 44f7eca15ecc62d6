"""Systems are checked when they are built: each mistake is named, with a way out of it."""

import time

import numpy as np
import pytest
import sympy as sp

from passivo.errors import ExpressionError, ModelError
from passivo.model.ports import effort, flow
from passivo.model.system import System

q, p, k, m, b = sp.symbols("q p k m b", real=True)


def system(**changes):
    """A unit oscillator with `changes`."""
    plain = {"states": ["q", "p"], "energy": "q**2/2 + p**2/2", "structure": [[0, 1], [-1, 0]]}
    return System(**{**plain, **changes})


def refused(says, **changes):
    with pytest.raises(ModelError, match=says):
        system(**changes)


def test_text_and_symbols_describe_the_same_system():
    parameters = {"k": 5000.0, "m": 0.2, "b": 0.1}
    by_symbols = System(
        states=[q, p],
        energy=k * q**2 / 2 + p**2 / (2 * m),
        structure=sp.Matrix([[0, 1], [-1, 0]]),
        loss=[[0, 0], [0, b]],
        ports={"force": effort([0, 1])},
        params={k: 5000.0, m: 0.2, b: 0.1},
    )
    by_text = System(
        states=["q", "p"],
        energy="k*q**2/2 + p**2/(2*m)",
        structure=np.array([[0, 1], [-1, 0]]),
        loss=[[0, 0], [0, "b"]],
        ports={"force": effort(np.array([0.0, 1.0]))},
        params=parameters,
    )
    assert by_symbols.describe() == by_text.describe()
    assert by_symbols.form.flow == by_text.form.flow
    assert System.from_description(by_text.describe()).describe() == by_text.describe()


class TestStructure:
    def test_symmetric(self):
        refused(r"not skew: entry \(1, 2\) is 1 and entry \(2, 1\) is 1", structure=[[0, 1], [1, 0]])

    def test_a_power_with_too_many_terms_is_compared_at_samples(self):
        begin = time.perf_counter()
        system(
            structure=[[0, "(q + p + k + 1)**100"], ["-1*(q + p + k + 1)**100", 0]], params={"k": 1.0}, domain="q > 0"
        )
        assert time.perf_counter() - begin < 5

    def test_diagonal(self):
        refused(r"entry \(2, 2\) is -1, expected 0; .* loss$", structure=[[0, 1], [-1, -1]])

    def test_skew_by_algebra(self):
        system(structure=[[0, "(q + 1)**2"], ["-q**2 - 2*q - 1", 0]])
        system(structure=[[0, "1 + q"], ["-1 - q", 0]])
        system(structure=[[0, "-(1 + q)"], ["1 + q", 0]])

    @pytest.mark.parametrize(("upper", "lower"), [("1 + q", "-1 + q"), ("-1 + q", "1 + q"), ("q - p", "-q - p")])
    def test_a_leading_minus_negates_only_the_first_term(self, upper, lower):
        refused("not skew", structure=[[0, upper], [lower, 0]])

    def test_skew_only_for_some_states(self):
        refused("not skew", structure=[[0, "q"], ["-Abs(q)", 0]])

    def test_equal_only_numerically(self):
        system(structure=[[0, "sin(q)**2 + cos(q)**2"], [-1, 0]])

    @pytest.mark.parametrize(
        ("matrix", "says"),
        [
            ([[0, 1, 0], [-1, 0, 0]], "2 × 3, expected 2 × 2"),
            ([[0, 1], [-1]], "different lengths"),
            ([0, 1], r"list of rows, as in \[\[0, 1\], \[-1, 0\]\]"),
            (5, "list of rows"),
            ([[0, 1], 3], "mixes rows and single entries"),
            ([[0, "1/0"], ["-1/0", 0]], "not finite"),
            ([[0, np.nan], [0, 0]], "finite"),
            ([[0, "q > 0"], ["-1", 0]], "condition"),
        ],
    )
    def test_shapes_and_entries(self, matrix, says):
        refused(says, structure=matrix)


class TestLoss:
    def test_asymmetric(self):
        refused(r"loss is not symmetric: entry \(1, 2\) is 1", loss=[[1, 1], [0, 1]])

    def test_negative(self):
        refused("least eigenvalue is -2.*turn its sign", loss=[[0, 0], [0, "b"]], params={"b": -2.0})

    def test_indefinite(self):
        refused("least eigenvalue is -1", loss=[[1, 2], [2, 1]])

    def test_negative_at_some_states(self):
        refused("negative.* at q = -", loss=[[0, 0], [0, "q"]])
        system(loss=[[0, 0], [0, "q"]], domain="q > 0")
        system(loss=[[0, 0], [0, "q**2"]])

    def test_negative_for_some_signals(self):
        refused("negative.* s = -", loss=[[0, 0], [0, "s"]], signals=["s"])
        system(loss=[[0, 0], [0, "s**2"]], signals=["s"])

    def test_negative_after_a_change_of_parameters(self):
        damped = system(loss=[[0, 0], [0, "b"]], params={"b": 1.0})
        assert damped.with_params(b=2.0).params == {"b": 2.0}
        with pytest.raises(ModelError, match="negative"):
            damped.with_params(b=-1.0)
        with pytest.raises(ModelError, match="no parameter 'c'; choose from b"):
            damped.with_params(c=1.0)
        with pytest.raises(ModelError, match="finite"):
            damped.with_params(b=np.nan)

    def test_not_finite(self):
        refused("not finite", loss=[[0, 0], [0, "1/(q - q)"]])

    def test_semidefinite_by_a_hair(self):
        v = np.array([[1.0], [1 / 3]])
        system(loss=(v @ v.T).tolist())


class TestEnergy:
    @pytest.mark.parametrize("energy", [[q, p], (q, p), sp.Matrix([q, p]), np.array([1.0, 2.0]), sp.Matrix([q**2])])
    def test_vector(self, energy):
        refused("one scalar formula", energy=energy)

    def test_complex(self):
        with pytest.raises(ExpressionError, match="complex"):
            system(energy=sp.I * q**2)
        refused("not a formula", energy=1j)
        refused("not finite at any", energy="sqrt(-1)*q**2")

    @pytest.mark.parametrize("energy", [True, None])
    def test_no_formula(self, energy):
        refused("not a formula", energy=energy)

    def test_condition(self):
        refused("condition 'q > 0'; .*domain$", energy="q > 0")

    @pytest.mark.parametrize("energy", [np.nan, np.inf, sp.oo, "q/0"])
    def test_not_finite(self, energy):
        refused("finite", energy=energy)

    def test_unknown_symbol(self):
        refused(r"the energy uses 'k', .*add it to params, or", energy="k*q**2")
        refused("did you mean 'stiffness'", energy="stifness*q**2", params={"stiffness": 1.0})

    def test_unknown_symbol_elsewhere(self):
        refused("structure uses 'c'", structure=[[0, "c"], ["-c", 0]])
        refused("loss uses 'c'", loss=[[0, 0], [0, "c"]])
        refused("port 'f' uses 'c'", ports={"f": effort([0, "c"])})
        refused("domain uses 'c'", domain="q > c")

    def test_signal(self):
        refused("must not depend on the signal 's'", energy="s*q**2", signals=["s"])


class TestNames:
    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"states": ["q", "q"]}, "'q' stands in states and in states"),
            ({"params": {"q": 1.0}}, "'q' stands in states and in parameters"),
            ({"ports": {"p": effort([0, 1])}}, "'p' stands in states and in ports"),
            ({"params": {"k": 1.0}, "ports": {"k": effort([0, 1])}}, "'k' stands in parameters and in ports"),
            ({"signals": ["q"]}, "'q' stands in states and in signals"),
            ({"params": {"time": 1.0}}, "'time' is reserved"),
            ({"params": {"pi": 3.0}}, "'pi' is reserved; .*'pi1'"),
            ({"states": ["sin", "p"]}, "'sin' is reserved"),
            ({"states": ["lambda", "p"]}, "reserved; choose another, such as 'lambda1'"),
            ({"states": ["é" * 90_000 + "!", "p"]}, r"'é{70,80}\.\.\. is not a plain name"),
            ({"states": ["q 1", "p"]}, "not a plain name"),
            ({"states": ["__q", "p"]}, "not a plain name"),
            ({"name": "total"}, "reserved"),
            ({"name": "two words"}, "not a plain name"),
            ({"states": 5}, "list of names"),
            ({"positions": ["z"]}, "'z', which is no state; choose from q, p"),
            ({"minimum": {"z": 0.0}}, "'z', which is no state"),
        ],
    )
    def test_refused(self, changes, says):
        refused(says, **changes)

    @pytest.mark.parametrize("value", [np.nan, np.inf, None, "five", 1j, [1]])
    def test_parameter_values(self, value):
        refused("parameter 'k' must be", params={"k": value})

    def test_minimum_values(self):
        refused("minimum of 'q' must be finite", minimum={"q": np.nan})
        assert system(minimum={q: 1.5}).minimum == {"q": 1.5, "p": 0.0}

    @pytest.mark.parametrize("what", ["params", "ports", "minimum"])
    def test_mappings(self, what):
        refused(f"{what} must map names", **{what: [1, 2]})

    def test_one_state_needs_no_brackets(self):
        assert System("angle", "angle**2").states == ("angle",)
        assert System(q, q**2).states == ("q",)


class TestPorts:
    @pytest.mark.parametrize(
        ("port", "says"),
        [
            ([0, 1], r"pv.effort\(...\)"),
            (effort([1]), r"1 rows for 2 states \(q, p\)"),
            (effort(), "0 rows for 2 states"),
            (effort([0, "1/0"]), "not finite"),
        ],
    )
    def test_refused(self, port, says):
        refused(says, ports={"f": port})

    @pytest.mark.parametrize("make", [effort, flow])
    @pytest.mark.parametrize("matrix", [[], [[], []], [0, [1]], [[0, 1], [1]], 3])
    def test_bad_matrices(self, make, matrix):
        with pytest.raises(ModelError, match="matrix of an"):
            make(matrix)

    @pytest.mark.parametrize("width", [0, -1, 1.5, True])
    def test_bad_widths(self, width):
        with pytest.raises(ModelError, match="width of a port"):
            effort(width=width)

    def test_wide(self):
        wide = system(ports={"f": effort([[0, 0], [1, "q"]]), "v": flow([1, 0])})
        assert wide.width == 3
        g, u = wide.form.gradient, wide.form.inputs
        assert wide.form.output == [g[1], wide.form.states[0] * g[1], g[0]]
        assert wide.form.flow[1] == -g[0] + u[0] + wide.form.states[0] * u[1]


class TestFeedthrough:
    def test_negative(self):
        with pytest.raises(ModelError, match="feedthrough is negative"):
            System([], 0, ports={"f": flow()}, feedthrough=[[-1]])

    def test_skew_is_lossless(self):
        gyrator = System([], 0, ports={"a": flow(), "b": flow()}, feedthrough=[[0, 2], [-2, 0]])
        assert gyrator.form.rows[0].lost.expand() == 0

    def test_shape(self):
        refused("1 × 1, expected 2 × 2", ports={"f": effort([[0, 0], [1, 1]])}, feedthrough=[[1]])
        refused("there are no ports", feedthrough=[[1]])

    def test_nothing_at_all(self):
        with pytest.raises(ModelError, match="at least one state or one port"):
            System([], 0)
        with pytest.raises(ModelError, match="there are no states"):
            System([], 0, structure=[[0]], ports={"f": flow()})

    def test_no_state_survives_a_round_trip(self):
        damper = System([], 0, ports={"f": flow(width=2)}, feedthrough=[["b", 0], [0, "b"]], params={"b": 1.0})
        assert System.from_description(damper.describe()).describe() == damper.describe()


class TestDomain:
    def test_no_condition(self):
        refused("must be a condition such as 'q > 0'", domain="q")

    def test_contradiction(self):
        refused("contradictory", domain="q > 1 and q < -1")

    def test_symbols(self):
        assert system(domain=(q > 0) & (p > 0)).domain == "(p > 0) & (q > 0)"
