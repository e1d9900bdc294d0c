"""What every ledger store must do, as tests that a store of your own can inherit.

They need the package `pytest`. Put this into a test module:

```python
from langchain_memview.testing.ledgers import LedgerConformance


class TestMyLedger(LedgerConformance):
    @pytest.fixture
    def ledger(self):
        return MyLedger()
```

Two stores that pass are interchangeable: a cap holds in either of them.
"""
# ruff: noqa: S101 - these are tests

import threading
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

import pytest

from langchain_memview.core.accounts import (
    Account,
    Decide,
    LedgerStore,
    Operation,
    Record,
)
from langchain_memview.core.ledger import Balance, Ledger
from langchain_memview.core.release import SlotRelease
from langchain_memview.errors import LedgerOverdrawnError, OperationConflictError

Recorded: TypeAlias = tuple[str, tuple[SlotRelease, ...]]
"""An operation id and the slots that were recorded under it."""

ONE = Fraction(1)

ALIKE = (
    ("1", "10"),
    ("a", "A"),
    ("a", "a "),
    ("%", "_"),
    ("a_c", "abc"),
    ("it's", 'it"s'),
    ("a\x00b", "a"),
    ('a", "b', "a"),
    ("é", "e\u0301"),
    ("\ud83d\ude00", "😀"),
)
"""Pairs of names that careless keys mix up."""


def account(
    subject: str = "ana",
    caps: Mapping[str, int | Fraction] | None = None,
    groups: Mapping[str, Iterable[int]] | None = None,
    *,
    lineage: str = "meals@1",
    audience: str | None = None,
) -> Account:
    """Return an account; another set of caps or groups is another policy.

    Args:
        subject: The person.
        caps: Cap of every attribute in nats; by default 2 for `health` and 3 for `debt`.
        groups: Group of every attribute; by default positions 1, 2 and position 3.
        lineage: Lineage of the policy.
        audience: The application, for policies whose scope is `audience`.
    """
    caps = {"health": 2, "debt": 3} if caps is None else caps
    groups = {"health": (1, 2), "debt": (3,)} if groups is None else groups
    terms = repr((sorted(caps.items()), sorted((a, *g) for a, g in groups.items())))
    return Account(
        subject,
        lineage,
        audience,
        terms,
        {name: Fraction(cap) for name, cap in caps.items()},
        {name: frozenset(groups[name]) for name in caps},
    )


def operation(name: str, query: str = "dinner?") -> Operation:
    """Return an operation with this id; another query is another request."""
    return Operation.of(name, "app", query)


def charged(
    *names: str,
    epsilon: Fraction = ONE,
    slot: str = "food",
    view: str = "light",
    read: tuple[int, ...] = (1,),
) -> SlotRelease:
    """Return the release of one slot that charges these attributes."""
    return SlotRelease(slot, view, "selected", read, names, epsilon)


def answer(*slots: SlotRelease) -> Decide:
    """Return a decision that always releases these slots."""
    return lambda _: slots


def never(_: Ledger) -> list[SlotRelease]:
    """Fail: a decision that must not be asked for."""
    raise AssertionError("decide was called")


def if_admitted(*names: str, epsilon: Fraction = ONE) -> Decide:
    """Return a decision that charges if the caps allow it, else shows the generic view."""

    def decide(ledger: Ledger) -> list[SlotRelease]:
        if ledger.admits(names, epsilon):
            return [charged(*names, epsilon=epsilon)]
        return [SlotRelease("food", "generic", "generic", (1,), blocked_by=names)]

    return decide


class LedgerConformance:
    """Tests that every `LedgerStore` passes; inherit it and give the fixture `ledger`."""

    @pytest.fixture
    def ledger(self) -> LedgerStore:
        """Return an empty store; a new one for every test."""
        raise NotImplementedError("give the fixture `ledger`")

    # -- one operation ------------------------------------------------------------

    def test_an_unknown_account_has_spent_nothing(self, ledger: LedgerStore) -> None:
        """An account needs no opening."""
        assert ledger.ledger(account()) == Ledger.opened(account().caps)
        assert list(ledger.history(account())) == []
        assert ledger.find(account(), operation("t1")) is None

    def test_a_fresh_operation_charges_records_and_answers(
        self, ledger: LedgerStore
    ) -> None:
        """What is returned is what was recorded, with the ledger after it."""
        slots = (charged("health"), charged("debt", slot="money", read=(3,)))
        record, after = ledger.transact(account(), operation("t1"), answer(*slots))
        assert (record.slots, record.sequence, record.replayed) == (slots, 1, False)
        assert spent(after) == {"health": 1, "debt": 1}
        assert ledger.ledger(account()) == after
        assert as_recorded(ledger.history(account())) == [("t1", slots)]

    def test_all_slots_of_an_operation_are_charged_or_none(
        self, ledger: LedgerStore
    ) -> None:
        """A decision that overdraws one attribute charges no other one (C5)."""
        ledger.transact(account(), operation("t1"), answer(charged("debt")))
        too_much = answer(charged("debt"), charged("health", epsilon=Fraction(3)))
        self._refused(ledger, too_much, LedgerOverdrawnError)

    def test_charges_of_one_operation_add_up_before_the_cap_is_checked(
        self, ledger: LedgerStore
    ) -> None:
        """Three slots that each fit do not fit together."""
        too_much = answer(*(charged("health", slot=slot) for slot in "abc"))
        self._refused(ledger, too_much, LedgerOverdrawnError)

    def test_an_exception_in_the_decision_leaves_nothing(
        self, ledger: LedgerStore
    ) -> None:
        """Neither a charge nor a record, and the id can be used again."""

        def broken(_: Ledger) -> list[SlotRelease]:
            raise ZeroDivisionError("in the middle")

        self._refused(ledger, broken, ZeroDivisionError)
        record, _ = ledger.transact(
            account(), operation("t2"), answer(charged("health"))
        )
        assert not record.replayed

    def test_a_charge_that_cannot_be_stored_exactly_is_refused(
        self, ledger: LedgerStore
    ) -> None:
        """Rounded down in the store, it would be a charge that nobody counts."""
        tiny = answer(charged("health", epsilon=Fraction(1, 10**30)))
        self._refused(ledger, tiny, ValueError)

    def test_a_turn_without_slots_is_not_recorded(self, ledger: LedgerStore) -> None:
        """Nothing was released, so there is nothing to replay."""
        record, _ = ledger.transact(account(), operation("t1"), answer())
        assert (record.sequence, record.slots) == (0, ())
        assert list(ledger.history(account())) == []
        assert ledger.find(account(), operation("t1", "something else")) is None

    def test_the_version_changes_with_every_release_and_with_nothing_else(
        self, ledger: LedgerStore
    ) -> None:
        """What was read of an account stays true for as long as its version does."""
        versions = [ledger.version(account())]
        for name in ("t1", "t2"):
            ledger.transact(account(), operation(name), answer(charged("health")))
            versions.append(ledger.version(account()))
        assert len(set(versions)) == 3
        ledger.transact(account(), operation("t1"), never)
        ledger.transact(account(), operation("t3"), answer())
        ledger.transact(account("ben"), operation("t1"), answer(charged("health")))
        ledger.ledger(account(caps={"health": 1, "debt": 1}))
        assert ledger.version(account()) == versions[-1]

    def test_the_history_is_in_the_order_of_release(self, ledger: LedgerStore) -> None:
        """Sequence numbers count from 1, whatever the ids are."""
        for name in ("b", "c", "a"):
            ledger.transact(account(), operation(name), answer(charged()))
        records = ledger.history(account())
        assert [r.operation.id for r in records] == ["b", "c", "a"]
        assert [r.sequence for r in records] == [1, 2, 3]

    # -- a repeated operation -----------------------------------------------------

    def test_a_repeated_operation_replays_without_a_decision(
        self, ledger: LedgerStore
    ) -> None:
        """The recorded slots come back, and nothing is charged."""
        slots = (charged("health", view="low-salt"),)
        _, before = ledger.transact(account(), operation("t1"), answer(*slots))
        record, after = ledger.transact(account(), operation("t1"), never)
        assert (record.slots, record.sequence, record.replayed) == (slots, 1, True)
        assert after == before
        found = ledger.find(account(), operation("t1"))
        assert found == record

    def test_a_repeated_id_with_another_request_is_a_conflict(
        self, ledger: LedgerStore
    ) -> None:
        """Neither asking nor charging under it changes anything."""
        ledger.transact(account(), operation("t1"), answer(charged("health")))
        before = state(ledger)
        with pytest.raises(OperationConflictError, match="another query"):
            ledger.find(account(), operation("t1", "lunch?"))
        with pytest.raises(OperationConflictError, match="another query"):
            ledger.transact(account(), operation("t1", "lunch?"), never)
        assert state(ledger) == before

    def test_an_operation_belongs_to_one_account(self, ledger: LedgerStore) -> None:
        """Two people may choose the same id."""
        ledger.transact(account(), operation("t1"), answer(charged("health")))
        assert ledger.find(account("ben"), operation("t1", "lunch?")) is None

    # -- accounts -----------------------------------------------------------------

    @pytest.mark.parametrize(("mine", "yours"), ALIKE)
    @pytest.mark.parametrize("what", ["subject", "lineage", "audience"])
    def test_accounts_with_similar_names_share_nothing(
        self, ledger: LedgerStore, what: str, mine: str, yours: str
    ) -> None:
        """A charge to one is not seen in the other."""
        own, other = _named(what, mine), _named(what, yours)
        ledger.transact(own, operation("t1"), answer(charged("health")))
        assert spent(ledger.ledger(own)) == {"health": 1, "debt": 0}
        assert spent(ledger.ledger(other)) == {"health": 0, "debt": 0}
        assert list(ledger.history(other)) == []

    # -- another policy -----------------------------------------------------------

    def test_a_position_that_joins_a_group_brings_the_releases_that_read_it(
        self, ledger: LedgerStore
    ) -> None:
        """Spent amounts are recounted from the releases, not carried over."""
        ledger.transact(account(), operation("t1"), answer(charged("health")))
        wider = account(groups={"health": (1, 2), "debt": (1, 3)})
        assert spent(ledger.ledger(wider)) == {"health": 1, "debt": 1}
        _, after = ledger.transact(wider, operation("t2"), answer(charged("debt")))
        assert spent(after) == {"health": 1, "debt": 2}

    def test_a_recount_above_the_cap_admits_nothing_more(
        self, ledger: LedgerStore
    ) -> None:
        """What is out cannot be taken back, so the cap ends where spent is."""
        for name in ("t1", "t2"):
            ledger.transact(account(), operation(name), answer(charged("health")))
        wider = account(
            caps={"health": 2, "debt": 1}, groups={"health": (1, 2), "debt": (1, 3)}
        )
        assert ledger.ledger(wider).balances["debt"] == Balance(
            Fraction(2), Fraction(2)
        )
        tick = Fraction(1, 9_009_000_000)
        assert not ledger.ledger(wider).admits(["debt"], tick)

    def test_a_position_that_leaves_a_group_refunds_nothing(
        self, ledger: LedgerStore
    ) -> None:
        """Spent amounts never shrink, in whatever order policies come and go."""
        ledger.transact(account(), operation("t1"), answer(charged("health")))
        wider = account(groups={"health": (1, 2), "debt": (1, 3)})
        both = answer(charged("health", "debt"))
        ledger.transact(wider, operation("t2"), both)
        assert spent(ledger.ledger(wider)) == {"health": 2, "debt": 2}
        assert spent(ledger.ledger(account())) == {"health": 2, "debt": 2}
        narrower = account(groups={"health": (2,), "debt": (3,)})
        ledger.transact(narrower, operation("t3"), answer(charged("debt", read=(3,))))
        assert spent(ledger.ledger(account())) == {"health": 2, "debt": 3}

    def test_caps_only_go_down(self, ledger: LedgerStore) -> None:
        """A lower cap stays, also after the higher one is put back."""
        ledger.transact(account(), operation("t1"), answer(charged("health")))
        lower = account(caps={"health": 1, "debt": 3})
        ledger.transact(lower, operation("t2"), answer(charged("debt", read=(3,))))
        assert caps(ledger.ledger(lower)) == {"health": 1, "debt": 3}
        assert caps(ledger.ledger(account())) == {"health": 1, "debt": 3}
        higher = account(caps={"health": 20, "debt": 30})
        assert caps(ledger.ledger(higher)) == {"health": 1, "debt": 3}

    def test_an_added_attribute_starts_with_the_releases_that_read_its_group(
        self, ledger: LedgerStore
    ) -> None:
        """It was being revealed before anybody named it."""
        ledger.transact(account(), operation("t1"), answer(charged("health")))
        more = account(
            caps={"health": 2, "debt": 3, "diet": 2},
            groups={"health": (1, 2), "debt": (3,), "diet": (1,)},
        )
        assert spent(ledger.ledger(more)) == {"health": 1, "debt": 0, "diet": 1}

    def test_an_attribute_that_was_left_out_comes_back_as_it_was(
        self, ledger: LedgerStore
    ) -> None:
        """Neither what was spent nor the lowest cap is forgotten meanwhile."""
        wider = account(
            caps={"health": 2, "debt": 2}, groups={"health": (1,), "debt": (1, 3)}
        )
        ledger.transact(wider, operation("t1"), answer(charged("health", "debt")))
        without = account(caps={"health": 2}, groups={"health": (1,)})
        ledger.transact(without, operation("t2"), answer(charged("health", read=(2,))))
        assert spent(ledger.ledger(without)) == {"health": 2}
        back = ledger.ledger(account())
        assert spent(back) == {"health": 2, "debt": 1}
        assert caps(back) == {"health": 2, "debt": 2}

    def test_looking_at_a_ledger_under_other_terms_does_not_change_it(
        self, ledger: LedgerStore
    ) -> None:
        """A draft of a policy can be tried on a ledger that is in use."""
        ledger.transact(account(), operation("t1"), answer(charged("health")))
        before = state(ledger)
        draft = account(
            caps={"health": 1, "debt": 1}, groups={"health": (1,), "debt": (1,)}
        )
        assert spent(ledger.ledger(draft)) == {"health": 1, "debt": 1}
        ledger.find(draft, operation("t9"))
        ledger.history(draft)
        assert state(ledger) == before

    # -- erasure ------------------------------------------------------------------

    def test_erased_views_are_gone_and_every_charge_stays(
        self, ledger: LedgerStore
    ) -> None:
        """For the subject alone, whatever the audience; again, there is nothing."""
        mine = (account(), account(audience="app"), account(lineage="work@1"))
        for whose in (*mine, account("bo")):
            ledger.transact(whose, operation("t1"), answer(charged("health")))
        before = [ledger.version(whose) for whose in mine]
        assert ledger.erase("ana", "", None) == 3
        for whose, version in zip(mine, before, strict=True):
            assert [r.slots for r in ledger.history(whose)] == [
                (charged("health", view=""),)
            ]
            assert spent(ledger.ledger(whose)) == {"health": 1, "debt": 0}
            assert ledger.version(whose) != version
            replayed, _ = ledger.transact(whose, operation("t1"), never)
            assert replayed.slots == (charged("health", view=""),)
        assert ledger.history(account("bo"))[0].slots == (charged("health"),)
        assert ledger.erase("ana", "", None) == 0
        assert ledger.erase("nobody", "", None) == 0

    def test_releases_that_read_a_position_are_erased_by_it(
        self, ledger: LedgerStore
    ) -> None:
        """Under its lineage; a position of another layout is another one."""
        slots = (
            charged("health", read=(1, 2)),
            charged("debt", read=(3,)),
            charged(epsilon=Fraction(0), read=()),
        )
        other = account(lineage="work@1")
        for whose in (account(), other):
            for slot in slots:
                name = operation(f"reads {slot.read_set}")
                ledger.transact(whose, name, answer(slot))
        assert ledger.erase("ana", "meals@1", {2, 9}) == 1
        views = [r.slots[0].view for r in ledger.history(account())]
        assert views == ["", "light", "light"]
        assert all(r.slots[0].view for r in ledger.history(other))
        after, _ = ledger.transact(account(), operation("t4"), answer(slots[1]))
        assert (after.sequence, after.replayed) == (4, False)
        assert spent(ledger.ledger(account())) == {"health": 1, "debt": 2}

    def test_a_subject_has_one_pseudonym(self, ledger: LedgerStore) -> None:
        """It is that of no other, and does not name the subject."""
        known = ledger.pseudonym("ana")
        assert known == ledger.pseudonym("ana") != ledger.pseudonym("Ana")
        assert "ana" not in known

    # -- at the same time ---------------------------------------------------------

    def test_threads_that_race_for_a_cap_of_three_get_three(
        self, ledger: LedgerStore
    ) -> None:
        """Check and charge are one step."""
        outcomes: list[str] = []
        start = threading.Barrier(4)

        def work(worker: int) -> None:
            start.wait(30)
            for turn in range(3):
                record, _ = ledger.transact(
                    account(), operation(f"{worker}-{turn}"), if_admitted("debt")
                )
                outcomes.extend(slot.outcome for slot in record.slots)

        in_threads(work, 4)
        assert sorted(outcomes) == ["generic"] * 9 + ["selected"] * 3
        assert spent(ledger.ledger(account())) == {"health": 0, "debt": 3}
        assert [r.sequence for r in ledger.history(account())] == list(range(1, 13))

    def test_threads_with_one_operation_id_release_once(
        self, ledger: LedgerStore
    ) -> None:
        """The others get the recorded release."""
        replayed: list[bool] = []
        start = threading.Barrier(4)

        def work(_: int) -> None:
            start.wait(30)
            decide = if_admitted("debt")
            replayed.append(
                ledger.transact(account(), operation("t1"), decide)[0].replayed
            )

        in_threads(work, 4)
        assert sorted(replayed) == [False, True, True, True]
        assert spent(ledger.ledger(account())) == {"health": 0, "debt": 1}

    def _refused(
        self, ledger: LedgerStore, decide: Decide, error: type[Exception]
    ) -> None:
        before = state(ledger)
        with pytest.raises(error):
            ledger.transact(account(), operation("t2"), decide)
        assert state(ledger) == before
        assert ledger.find(account(), operation("t2")) is None


def _named(what: str, name: str) -> Account:
    if what == "subject":
        return account(name)
    if what == "lineage":
        return account(lineage=name)
    return account(audience=name)


def spent(ledger: Ledger) -> dict[str, Fraction]:
    """Return attribute to what it has spent."""
    return {name: balance.spent for name, balance in ledger.balances.items()}


def caps(ledger: Ledger) -> dict[str, Fraction]:
    """Return attribute to its cap."""
    return {name: balance.cap for name, balance in ledger.balances.items()}


def as_recorded(records: Iterable[Record]) -> list[Recorded]:
    """Return operation id and slots of every record."""
    return [(record.operation.id, record.slots) for record in records]


def state(ledger: LedgerStore) -> tuple[Ledger, list[Recorded]]:
    """Return all that a store answers about the account that the tests use."""
    return ledger.ledger(account()), as_recorded(ledger.history(account()))


def in_threads(work: Callable[[int], None], count: int) -> None:
    """Run the work in threads numbered from 0, and wait for all of them."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
