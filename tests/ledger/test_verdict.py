"""From accounts to a verdict: kinds, sentences, and the part that is named."""

import numpy as np
import pytest

from passivo.ledger import accounts as A
from passivo.ledger.verdict import Verdict, judge

ROUNDOFF = 1e-12


def row(
    created=0.0,
    rise=0.0,
    fall=0.0,
    bias=0.0,
    removed=0.0,
    book=0.0,
    unnoticed=0.0,
    first=0.0,
    window=(0.0, 0.0),
    peak=0.0,
):
    m = np.zeros(A.ACCOUNT_SIZE)
    m[A.A_CREATED], m[A.A_BIAS] = created, bias
    m[A.A_ROSE], m[A.A_FELL], m[A.A_MISSED] = rise, fall, unnoticed
    m[A.A_BIAS + 1 : A.A_BIAS + 3] = window
    m[A.A_REMOVED], m[A.A_BOOKED] = removed, book
    m[A.A_FIRST], m[A.A_ROUNDOFF], m[A.A_PEAK] = first, ROUNDOFF, peak
    return m


def verdict(allowance=0.0, stopped="", **fields):
    return judge(row(**fields), 0, ("body",), allowance, stopped)


@pytest.mark.parametrize(
    ("fields", "kind", "sentence"),
    [
        ({}, "exact", "exact: energy was neither created nor removed beyond roundoff (1e-12 J per step)"),
        ({"fall": 1.0, "removed": 3.25}, "passive", "passive: no energy was created; the numerics removed"),
        (
            {"rise": 1.0, "bias": 1081.0, "window": (0.0, 0.1)}, "active",
            "active: created 1081 J in part body between t = 0 and 0.1 s",
        ),
        (
            {"rise": 1.0, "bias": 15.91, "first": 15.9, "removed": 15.91}, "active",
            "active but bounded: part body lends up to 15.91 J and takes it back",
        ),
        (
            {"rise": 1.0, "bias": 2.0, "book": 1.0, "created": 1.0, "allowance": 2.0}, "booked",
            "booked: 2 J created, all of it known to the method, allowance 2 J",
        ),
        ({"stopped": "the user left"}, "none", "no verdict: the user left"),
    ],
)  # fmt: skip
def test_kinds_and_sentences(fields, kind, sentence):
    result = verdict(**fields)
    assert result.kind == kind and str(result).startswith(sentence) and str(result) == result.sentence
    assert result.passive == (kind in ("exact", "passive", "booked"))


@pytest.mark.parametrize(
    "fields",
    [
        {"allowance": 1.9},
        {"unnoticed": 0.5},
        {"book": 0.0, "unnoticed": 1.0},  # no book is kept: all that rose was missed
        {"unnoticed": 0.5, "allowance": 1.0},
    ],
)
def test_booked_needs_a_full_book_within_the_allowance(fields):
    given = {"rise": 1.0, "bias": 2.0, "book": 1.0, "created": 1.0, "allowance": 2.0, **fields}
    assert verdict(**given).kind == "active"


def test_a_debt_that_was_repaid_is_booked():
    given = {"rise": 1.0, "bias": 2.0, "removed": 2.0, "book": 0.0, "created": 0.0, "allowance": 2.0}
    assert verdict(**given).kind == "booked"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_no_verdict_on_numbers_that_are_not_finite(value):
    result = verdict(created=value)
    assert result.kind == "none" and not result.passive and "not finite" in str(result)


def test_a_run_that_stopped_has_no_verdict_but_its_steps_are_judged():
    calm, active = verdict(stopped="failed"), verdict(stopped="failed", rise=1.0, bias=2.0, first=2.0, removed=2.0)
    assert calm.kind == active.kind == "none" and not calm.passive and calm.bias == 0.0
    assert calm.so_far == "exact" and str(calm).startswith("no verdict: failed. Until then exact: energy was neither")
    assert active.so_far == "active" and not active.bounded and ". Until then active: created 2 J" in str(active)
    lost = verdict(stopped="failed", created=np.inf)
    assert lost.so_far == "none" and str(lost) == "no verdict: failed"


def test_bounded_is_said_of_active_runs_only():
    assert verdict(rise=1.0, bias=1.0, first=1.0).bounded
    assert not verdict(rise=1.0, bias=1.02, first=1.0).bounded
    assert not verdict(bias=1.0, first=1.0).bounded


def test_the_total_decides_and_the_worst_part_is_named():
    """Parts may lend to each other: the kind is the total's."""
    memory = np.concatenate([[7.0], row(rise=1.0, bias=2.0), row(rise=1.0, bias=5.0), row()])
    result = judge(memory, 1, ("a", "b", "total"))
    assert result.kind == "exact" and result.part == "b"
    assert [result.parts[name].kind for name in ("a", "b")] == ["active", "active"]
    assert result.parts["b"].bias == 5.0 and "total" not in result.parts
    memory = np.concatenate([row(), row(rise=1.0, bias=5.0), row(rise=1.0, bias=5.0, window=(1.0, 2.0))])
    assert "between t = 1 and 2 s, most of it in part b (5 J)" in str(judge(memory, 0, ("a", "b", "total")))


def test_a_single_part_is_its_own_total():
    result = judge(row(fall=1.0), 0, ("body",))
    assert result.part == "body" and result.parts == {}


def test_verdicts_compare_by_value():
    assert verdict(bias=1.0) == verdict(bias=1.0) != verdict(bias=2.0)
    assert Verdict("none", reason="why").sentence == "no verdict: why"


LENT = {"rise": 1.0, "bias": 2.0, "book": 1.0, "created": 1.0}


def test_the_allowance_is_a_share_of_the_peak_unless_joules_are_given():
    at = lambda allowance, share: judge(row(**LENT, peak=30.0), 0, ("body",), allowance, share=share)  # noqa: E731
    assert at(None, 0.1).kind == "booked" and at(None, 0.1).allowance == pytest.approx(3.0)
    assert at(None, 0.0).kind == at(None, 0.05).kind == at(1.0, 0.1).kind == "active"
    assert at(2.0, 0.0).kind == "booked"
    assert judge(row(**LENT, peak=-5.0), 0, ("body",), share=0.1).allowance == 0.0


def test_each_row_has_a_share_and_an_allowance_of_its_own():
    """As a network needs it, whose accounts come from parts with different methods."""
    memory = np.concatenate([row(**LENT, peak=30.0)] * 4)
    names = ("a", "b", "c", "total")
    result = judge(memory, 0, names, [None, None, 2.5, None], share=[0.1, 0.0, 0.0, 0.1])
    assert [result.parts[name].kind for name in "abc"] == ["booked", "active", "booked"] and result.kind == "booked"
    assert [result.parts[name].allowance for name in "abc"] == pytest.approx([3.0, 0.0, 2.5])
