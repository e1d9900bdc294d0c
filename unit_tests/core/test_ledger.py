"""C5: prospective check, all-or-none charges, exact amounts, recounting."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_memview.core.amounts import (
    TICKS_PER_NAT,
    amount,
    from_ticks,
    to_ticks,
)
from langchain_memview.core.budget import OnlineBudget, PreallocatedBudget
from langchain_memview.core.ledger import Balance, Ledger
from langchain_memview.core.recount import recomputed
from langchain_memview.core.release import SlotRelease
from langchain_memview.errors import LedgerOverdrawnError

CAPS = st.fractions(min_value="1/100", max_value=8, max_denominator=100)


@given(CAPS, st.integers(1, 16))
def test_c5_a_cap_of_b_admits_exactly_k_charges_of_b_over_k(cap, k):
    cap = amount(cap)
    epsilon = OnlineBudget(k).epsilon({"debt"}, {"debt": cap})
    ledger, admitted = Ledger.opened({"debt": cap}), 0
    while ledger.admits({"debt"}, epsilon):
        ledger, admitted = ledger.charge({"debt"}, epsilon), admitted + 1
    spent = ledger.balances["debt"].spent
    assert spent <= cap
    # Flooring a charge to whole ticks may leave room for tiny ones, never take one.
    assert admitted >= k
    if (cap / k * TICKS_PER_NAT).denominator == 1:
        assert (admitted, spent) == (k, cap)


@given(
    st.dictionaries(st.sampled_from("abc"), CAPS, min_size=1),
    st.lists(st.tuples(st.frozensets(st.sampled_from("abc")), CAPS), max_size=20),
)
def test_c5_no_path_passes_a_cap_or_lowers_what_was_spent(caps, attempts):
    ledger = Ledger.opened(caps)
    for drawn, epsilon in attempts:
        names = drawn & caps.keys()
        before = ledger
        if ledger.admits(names, epsilon):
            ledger = ledger.charge(names, epsilon)
        else:
            with pytest.raises(LedgerOverdrawnError):
                ledger.charge(names, epsilon)
        for name, balance in ledger.balances.items():
            assert 0 <= before.balances[name].spent <= balance.spent <= balance.cap
            assert balance.cap == caps[name]
            moved = balance.spent - before.balances[name].spent
            assert moved in ({epsilon} if name in names and ledger != before else {0})


def test_a_refused_charge_says_what_would_happen_and_what_to_do():
    ledger = Ledger.opened({"debt": Fraction(2)}).charge({"debt"}, Fraction(2))
    with pytest.raises(LedgerOverdrawnError, match=r"to 'debt' would reach 8/3") as e:
        ledger.charge({"debt"}, Fraction(2, 3))
    assert (e.value.attribute, e.value.spent, e.value.epsilon, e.value.cap) == (
        "debt",
        Fraction(2),
        Fraction(2, 3),
        Fraction(2),
    )
    assert ledger.blocked_by({"debt"}, Fraction(1)) == ("debt",)
    assert ledger.balances["debt"].remaining == 0


def test_a_negative_charge_is_refused():
    with pytest.raises(ValueError, match="cannot be negative"):
        Ledger.opened({"debt": Fraction(2)}).charge({"debt"}, Fraction(-1))


def test_preallocation_divides_by_the_planned_charges_of_each_attribute():
    rule = PreallocatedBudget({"debt": 4, "health": 8})
    caps = {"debt": Fraction(2), "health": Fraction(2)}
    assert rule.epsilon({"debt"}, caps) == Fraction(1, 2)
    assert rule.epsilon({"debt", "health"}, caps) == Fraction(1, 4)


@pytest.mark.parametrize(
    ("written", "nats"),
    [
        (2, Fraction(2)),
        (2.0, Fraction(2)),
        (0.1, Fraction(1, 10)),
        ("2/3", Fraction(2, 3)),
        (Decimal("0.000001"), Fraction(1, 10**6)),
        (Fraction(1, 16), Fraction(1, 16)),
    ],
)
def test_amounts_are_read_as_their_decimal_text(written, nats):
    assert amount(written) == nats


@pytest.mark.parametrize(
    "written",
    [True, "two", "", "1/0", float("nan"), float("inf"), Decimal("NaN"), "1e999999999"],
)
def test_what_is_no_finite_number_is_no_amount(written):
    with pytest.raises(ValueError, match=r"no (finite number|amount)"):
        amount(written)


@given(st.fractions(min_value=0, max_value=100))
def test_amounts_are_floored_to_ticks_and_never_gain(nats):
    floored = from_ticks(to_ticks(nats))
    assert floored <= nats < floored + Fraction(1, TICKS_PER_NAT)
    assert amount(floored) == floored


def read(position, *charged, epsilon=Fraction(1)):
    return SlotRelease("food", "a", "selected", (position,), charged, epsilon)


def test_a_position_that_joins_a_group_brings_its_past_releases():
    before = Ledger({"debt": Balance(Fraction(1), Fraction(2))})
    charges = [read(3, "debt"), read(7, epsilon=Fraction(1, 2))]
    ledger = recomputed(
        charges, {"debt": frozenset({3, 7})}, {"debt": Fraction(2)}, before
    )
    assert ledger.balances["debt"] == Balance(Fraction(3, 2), Fraction(2))


def test_a_position_that_leaves_a_group_refunds_nothing():
    before = Ledger({"debt": Balance(Fraction(1), Fraction(2))})
    ledger = recomputed(
        [read(3, "debt")],
        {"debt": frozenset({9})},
        {"debt": Fraction(2)},
        before,
    )
    assert ledger.balances["debt"].spent == 1


def test_what_was_spent_is_kept_even_where_its_releases_cannot_be_found():
    before = Ledger({"debt": Balance(Fraction(1), Fraction(2))})
    ledger = recomputed([], {"debt": frozenset({3})}, {"debt": Fraction(2)}, before)
    assert ledger.balances["debt"].spent == 1


def test_caps_go_down_to_what_was_spent_and_never_up():
    before = Ledger({"debt": Balance(Fraction(1), Fraction(2))})
    groups = {"debt": frozenset({3}), "health": frozenset({1})}
    charges = [read(3, "debt")]

    def cap(value):
        caps = {"debt": Fraction(value), "health": Fraction(3)}
        return recomputed(charges, groups, caps, before).balances

    assert cap(3)["debt"].cap == 2
    assert cap("3/2")["debt"].cap == Fraction(3, 2)
    assert cap("1/2")["debt"] == Balance(Fraction(1), Fraction(1))
    assert cap(3)["health"] == Balance(Fraction(0), Fraction(3))
