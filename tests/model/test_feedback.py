"""Laws at a port: functions and text say the same, and what they may not say is named."""

import pytest

import passivo as pv
from passivo.model.expression import renamed


@pytest.mark.parametrize(
    ("text", "law"),
    [
        (pv.Feedback("-0.05*atan(y)"), pv.Feedback(lambda y: -0.05 * pv.atan(y))),
        (pv.Feedback(["-0.05*atan(y)"]), pv.Feedback(lambda y: [-0.05 * pv.atan(y)])),
        (pv.Feedback("-0.05*atan(y0)"), pv.Feedback("-0.05*atan(y)")),
        (pv.Relation("y + 8*u**3"), pv.Relation(lambda y, u: y + 8 * u**3)),
        (pv.Relation("y0 + 8*u**3"), pv.Relation("y + 8*u0**3")),
    ],
)
def test_text_for_a_port_1_wide_says_y_and_u(text, law):
    assert text.formulas(1) == law.formulas(1)


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_wide_port_takes_one_text_per_component(kind):
    assert pv.Feedback(kind(["-y1", "2*y0"])).formulas(2) == pv.Feedback(lambda y: [-y[1], 2 * y[0]]).formulas(2)
    assert pv.Relation(kind(["y0 + u1", "u0"])).formulas(2) == ("y0 + u1", "u0")


@pytest.mark.parametrize(
    ("law", "width", "message"),
    [
        (pv.Feedback("-y + u"), 1, r"Feedback uses \['u'\]; only \['y'\]"),
        (pv.Relation("y + v"), 1, r"Relation uses \['v'\]; only \['u', 'y'\]"),
        (pv.Feedback(["-y", "y1"]), 2, r"uses \['y'\]; only \['y0', 'y1'\]"),
        (pv.Feedback("-y0"), 2, "1 values for a port 2 wide"),
    ],
)
def test_names_a_law_cannot_know_are_named(law, width, message):
    with pytest.raises(pv.InputError, match=message):
        law.formulas(width)


def test_names_change_all_at_once_and_functions_never():
    assert renamed("y + u*sin(y)", {"y": "u", "u": "y", "sin": "cos"}) == "u + y * sin(u)"
    assert renamed("y + 1", {"y": "z"}) == renamed("y + 1", {"y": "z"}) == "z + 1"  # the shared tree is left alone


def test_a_run_by_text_is_the_run_by_the_function():
    def go(law):
        options = {"step": 0.1, "until": 2.0, "start": {"q": 2.0}, "engine": "python"}
        return pv.simulate(pv.library.pendulum(), pv.AVF(), inputs={"torque": law}, **options)

    text, function = go(pv.Relation("y + 8*u**3 + u")), go(pv.Relation(lambda y, u: y + 8 * u**3 + u))
    assert (text["q"].values == function["q"].values).all()
