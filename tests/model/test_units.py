"""Units: text that goes with a model, is checked, travels with its description and shapes no code."""

import pytest

import passivo as pv
from passivo.errors import ModelError
from passivo.method.generate import generate, without_values
from passivo.model.describe import model_from

UNITS = {"q": "m", "p": "kg m/s", "k": "N/m", "force": ("N", "m/s"), "s": "1"}


def system(**changes):
    plain = {
        "states": ["q", "p"],
        "energy": "k*q**2/2 + p**2/2",
        "structure": [[0, 1], [-1, 0]],
        "ports": {"force": pv.effort([0, 1])},
        "params": {"k": 2.0},
        "signals": ["s"],
        "units": UNITS,
    }
    return pv.System(**{**plain, **changes})


def test_units_are_read_by_name():
    model = system()
    assert model.units == UNITS
    assert model.unit("q") == "m" and model.unit("force") == "N" and model.unit("force", gives=True) == "m/s"
    assert system(units=None).units == {} and system(units=None).unit("q") == ""
    q, k = pv.symbols("q k")
    assert system(units={q: "m", k: "N/m"}).units == {"q": "m", "k": "N/m"}


@pytest.mark.parametrize(
    ("units", "says"),
    [
        ({"forse": ("N", "m/s")}, "'forse', which is no state.*did you mean 'force'"),
        ({"force": "N"}, r"port 'force' must be a pair.*not 'N'"),
        ({"force": ("N",)}, "must be a pair"),
        ({"force": ("N", 1)}, "port 'force' must be text such as 'm/s', not 1"),
        ({"q": ("m", "m")}, "unit of 'q' must be text"),
        ({"q": 1.0}, "must be text"),
        ({"q": ""}, "1 to 40 printable"),
        ({"q": "m" * 41}, "1 to 40 printable"),
        ({"q": "m\n"}, "1 to 40 printable"),
        ("m", "units must map names to units"),
    ],
)
def test_bad_units_are_named(units, says):
    with pytest.raises(ModelError, match=says):
        system(units=units)


def test_units_travel_with_the_description():
    model = system()
    again = model_from(model.describe())
    assert again.units == model.units and again.describe() == model.describe()
    older = {key: value for key, value in model.describe().items() if key != "units"}
    assert model_from(older).units == {}
    assert model.with_params(k=3.0).units == UNITS


def test_mechanical_and_linear_take_units():
    pendulum = pv.Mechanical(["angle"], 1.0, units={"angle": "rad", "p_angle": "kg m²/s"})
    assert pendulum.unit("p_angle") == "kg m²/s"
    plate = pv.Linear([[1.0]], [[2.0]], ports={"force": pv.effort([1])}, units={"x1": "m", "force": ("N", "m/s")})
    assert plate.unit("x1") == "m" and plate.unit("force", gives=True) == "m/s"


def test_parts_keep_their_units():
    parts = {"spring": pv.library.spring(), "mass": pv.library.mass(ports=("left", "hand"))}
    cart = pv.Monolithic(parts, [("spring.end", "mass.left")])
    assert cart.unit("spring.q") == "m" and cart.unit("mass.m") == "kg" and cart.unit("mass.hand") == "N"
    assert set(cart.units) == {*cart.states, *cart.params, *cart.ports}, "a connected port is no port any more"
    assert model_from(cart.describe()).units == cart.units
    assert cart.with_params(**{"mass.m": 2.0}).units == cart.units


@pytest.mark.parametrize("name", pv.library.__all__)
def test_every_library_system_states_all_its_units(name):
    model = getattr(pv.library, name)()
    if isinstance(model, pv.System):  # the rest are laws
        assert set(model.units) == {*model.states, *model.signals, *model.params, *model.ports, *model.constraints}


def test_units_shape_no_code():
    plain, named = system(units=None), system()
    assert without_values(plain.describe()) == without_values(named.describe())
    assert generate(plain, pv.AVF(), {}, "python") is generate(named, pv.AVF(), {}, "python")
    joined = [pv.Monolithic({"part": model}) for model in (plain, named)]
    assert without_values(joined[0].describe()) == without_values(joined[1].describe())
