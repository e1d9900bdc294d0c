"""Standing releases: shares, epochs, the response, the posterior rule, exactly.

Every probability is read off the law of the choice that the interface is about to draw,
so nothing here is sampled.
"""

import math
from datetime import date
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_memview.core.budget import OnlineBudget, StandingBudget, max_min_shares
from langchain_memview.core.choice import Choice
from langchain_memview.core.epochs import (
    CalendarEpochs,
    Moment,
    OneEpoch,
    SubjectEpochs,
    TurnEpochs,
    epochs_document,
    epochs_of,
)
from langchain_memview.core.exponent import exp_lower
from langchain_memview.core.guarantees import respects
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.mechanism import RandomizedResponse
from langchain_memview.core.policy import Policy, ProtectedAttribute, Slot
from langchain_memview.core.standing import StandingInterface, likelier
from langchain_memview.core.transcript import AugmentedTranscript
from langchain_memview.core.views import View
from langchain_memview.errors import PolicyError
from langchain_memview.routers.keyword import KeywordRouter
from langchain_memview.scorers.cue import CueScorer
from langchain_memview.testing.strategies import epsilons

NAMES = st.sampled_from("abcde")
FIVE = {"generic": "Any.", **{v: View(v.upper(), [f"word{v}"]) for v in "abcd"}}


def policy(slots, *, facet="", cap=2, budget=None, groups=None):
    return Policy(
        "standing",
        {
            name: ProtectedAttribute(positions, cap)
            for name, positions in (
                groups or {"debt": range(1, len(slots) + 1)}
            ).items()
        },
        [Slot(s, when=[s], views=FIVE, capacity=1, facet=facet) for s in slots],
        budget or StandingBudget(),
    )


class Book:
    """A journal of one account in memory, and the choices that were drawn for it."""

    def __init__(self, caps, draws=()):
        self.account = Ledger.opened(caps)
        self.kept = {}
        self.choices = []
        self._draws = list(draws)

    def draw(self, choice):
        self.choices.append(choice)
        return self._draws.pop(0) if self._draws else 0

    def known(self, key):
        return self.kept.get(key)

    def record(self, key, decide):
        for slot in decide(self.account):
            self.account = self.account.charge(slot.charged, slot.epsilon)
            self.kept[key] = slot
        return self.kept.get(key)

    def ledger(self):
        return self.account


class Narrow(CueScorer):
    """Leaves the first views of the slot, for every query that says so."""

    def prior(self, query, slot):
        count = next((int(w) for w in query.split() if w.isdigit()), None)
        ones = range(1, 1 + count) if count else range(len(slot.vocabulary))
        return [int(index in ones) for index in range(len(slot.vocabulary))]


def turn(used, book, query, contents, epoch=0, scorer=None):
    trusted = TrustedInterface(
        used, KeywordRouter.of(used), scorer or CueScorer(), book.draw
    )
    return StandingInterface(trusted).turn(
        query,
        AugmentedTranscript(),
        lambda _: epoch,
        lambda positions: {p: contents.get(p, "") for p in positions},
        book,
    )


def open_all(used, book, contents):
    trusted = TrustedInterface(used, KeywordRouter.of(used), CueScorer(), book.draw)
    StandingInterface(trusted).open(
        lambda _: 0, lambda ps: {p: contents.get(p, "") for p in ps}, book
    )


# -- shares -----------------------------------------------------------------------------


@given(
    st.dictionaries(
        st.sampled_from("uvwxyz"), st.frozensets(NAMES, min_size=1), min_size=1
    ),
    st.fixed_dictionaries(
        {n: st.fractions(min_value="1/10", max_value=4) for n in "abcde"}
    ),
)
def test_shares_fill_the_caps_and_no_share_can_grow_at_a_larger_ones_cost(
    charge_sets, caps
):
    shares = max_min_shares(charge_sets, caps)
    used = {
        name: sum(e for f, e in shares.items() if name in charge_sets[f])
        for name in caps
    }
    assert all(used[name] <= cap for name, cap in caps.items())
    for facet, share in shares.items():
        assert share > 0
        # Max-min: some full cap of this facet has no larger share beside it.
        assert any(
            used[name] == caps[name]
            and share >= max(e for f, e in shares.items() if name in charge_sets[f])
            for name in charge_sets[facet]
        )


def test_the_shares_of_the_overlapping_example_are_known():
    sets = {"health": ["diabetes"], "food": ["diabetes", "debt"]}
    sets |= {"finance": ["debt"], "work": ["debt"]}
    caps = {"diabetes": Fraction(2), "debt": Fraction(2)}
    shares = max_min_shares(sets, caps)
    assert shares["health"] == Fraction(4, 3)
    assert shares["food"] == shares["finance"] == shares["work"] == Fraction(2, 3)


def test_a_share_does_not_depend_on_the_number_of_turns_but_on_that_of_epochs():
    four = StandingBudget(TurnEpochs(turns=10, planned=4))
    assert policy(["food"]).facets[0].epsilon == 2
    assert policy(["food"], budget=four).facets[0].epsilon == Fraction(1, 2)


# -- the response -----------------------------------------------------------------------


@given(epsilons(), st.integers(2, 7), st.data())
def test_top_j_has_its_closed_form_and_every_ratio_is_at_most_e_to_the_epsilon(
    epsilon, choices, data
):
    top = data.draw(st.integers(1, choices - 1))
    indices = st.permutations(range(choices)).map(lambda p: p[:top])
    best, other = data.draw(indices), data.draw(indices)
    response = RandomizedResponse(epsilon, choices=choices, top=top)
    law, alike = response.probabilities(best), response.probabilities(other)
    odds = math.exp(float(epsilon))
    assert sum(law) == 1
    for index in range(choices):
        weight = odds if index in best else 1
        expected = weight / (top * odds + choices - top)
        assert float(law[index]) == pytest.approx(expected, abs=1e-12)
        assert law[index] <= exp_lower(epsilon) * alike[index]
    if set(best) != set(other):
        worst = max(p / q for p, q in zip(law, alike, strict=True))
        assert float(worst) == pytest.approx(odds, rel=1e-9)  # it is tight


def test_a_response_with_too_few_or_equal_indices_is_refused():
    response = RandomizedResponse(1, choices=4, top=2)
    for wrong in (1, [1], [1, 1], [1, 2, 3]):
        with pytest.raises(ValueError, match="top=2 different indices"):
            response.draw(wrong)
    with pytest.raises(ValueError, match="top must be 1 to 3"):
        RandomizedResponse(1, choices=4, top=4)
    assert repr(response) == "RandomizedResponse(1, choices=4, top=2)"


# -- what is drawn ----------------------------------------------------------------------


@pytest.mark.parametrize("cap", [Fraction(1, 2), Fraction(1), Fraction(2)])
def test_one_facet_attains_the_optimum_at_its_first_turn_and_keeps_it(cap):
    used = policy(["food"], cap=cap)
    book = Book(used.caps, draws=[3])
    first = turn(used, book, "food", {1: "wordc"})
    (choice,) = book.choices
    odds = math.exp(cap)
    assert float(choice.probabilities()[3]) == pytest.approx(odds / (odds + 4))
    assert [s.view for s in first] == ["c"]
    assert first[0].outcome == "selected"
    for _ in range(100):
        (again,) = turn(used, book, "food", {1: "worda"})
        assert (again.view, again.outcome, again.charged) == ("c", "standing", ())
    assert len(book.choices) == 1
    assert book.account.balances["debt"].spent == cap


def test_the_worst_ratio_of_one_facet_is_the_cap_exactly():
    used = policy(["food"])
    laws = []
    for text in ("worda", "wordb", "", "worda wordb"):
        book = Book(used.caps)
        turn(used, book, "food", {1: text})
        laws.append(book.choices[0].probabilities())
    ratios = [p / q for m, n in product(laws, laws) for p, q in zip(m, n, strict=True)]
    assert all(
        respects(p, q, Fraction(2))
        for m in laws
        for n in laws
        for p, q in zip(m, n, strict=True)
    )
    assert math.log(max(ratios)) == pytest.approx(2, abs=1e-9)


def test_three_slots_of_one_facet_are_one_release():
    used = policy(["food", "money", "rest"], facet="taste")
    book = Book(used.caps, draws=[2])
    shown = turn(used, book, "food, money and rest", {2: "wordb"})
    assert float(book.choices[0].probabilities()[2]) == pytest.approx(0.6488, abs=1e-4)
    assert [s.view for s in shown] == ["b", "b", "b"]
    assert [s.outcome for s in shown] == ["selected", "standing", "standing"]
    assert book.account.balances["debt"].spent == 2
    assert {s.read_set for s in shown} == {(1, 2, 3)}


@given(st.permutations(["", "worda", "wordb", "worda wordb"]))
def test_a_facet_supports_a_view_that_any_of_its_slots_supports(texts):
    used = policy(["food", "money", "rest", "work"], facet="taste")
    book = Book(used.caps)
    open_all(used, book, dict(enumerate(texts, 1)))
    law = book.choices[0].probabilities()
    assert max(law) == law[1]  # both views have full support; the first one wins


@pytest.mark.parametrize(
    ("threshold", "expected"), [("0.5", 2), ("1", 1), ("0.501", 1)]
)
def test_below_the_threshold_nothing_counts_as_supported(threshold, expected):
    views = {"generic": "Any.", "a": View("A.", ["x"]), "b": View("B.", ["y"])}

    class Half(CueScorer):
        def support(self, slot, contents):
            return [[0, 0, 0.5]] if expected == 2 else [[0, 0.5, 0.25]]

    used = Policy(
        "t",
        {"debt": ProtectedAttribute([1], 2)},
        [Slot("food", when=["food"], views=views, capacity=1)],
        StandingBudget(threshold=threshold),
    )
    book = Book(used.caps)
    turn(used, book, "food", {1: "private"}, scorer=Half())
    law = book.choices[0].probabilities()
    assert law.index(max(law)) == (2 if expected == 2 else 0)


def test_top_two_gives_the_two_best_views_the_same_chance():
    used = policy(["food"], budget=StandingBudget(top=2))
    book = Book(used.caps)
    turn(used, book, "food", {1: "wordc"})
    law = book.choices[0].probabilities()
    assert law[0] == law[3] == max(law)  # the supported view, then "nothing else"
    assert len(set(law)) == 2


def test_a_facet_that_no_attribute_touches_follows_the_memory_and_is_not_recorded():
    used = policy(["food", "money"], groups={"debt": [2]})
    book = Book(used.caps)
    for word in "ab":
        (shown,) = turn(used, book, "food", {1: f"word{word}"})
        assert (shown.view, shown.outcome) == (word, "uncharged")
    (noted,) = book.kept.values()
    assert (noted.view, noted.outcome, noted.read_set) == ("generic", "uncharged", (1,))


def test_a_cap_that_is_used_up_elsewhere_gives_the_generic_view_and_no_read():
    used = policy(["food"])
    book = Book(used.caps)
    book.account = book.account.charge(["debt"], Fraction(1, 10))

    class Unread(dict):
        def get(self, *_):
            raise AssertionError("read")

    (shown,) = turn(used, book, "food", Unread())
    assert (shown.view, shown.outcome) == ("generic", "generic")
    assert shown.blocked_by == ("debt",)
    assert not book.kept


def test_a_cap_that_is_used_up_while_it_is_scored_gives_the_generic_view():
    used = policy(["food"])
    book = Book(used.caps)

    class Racing(CueScorer):
        def support(self, slot, contents):
            book.account = book.account.charge(["debt"], Fraction(1))
            return super().support(slot, contents)

    (shown,) = turn(used, book, "food", {1: "worda"}, scorer=Racing())
    assert (shown.outcome, shown.blocked_by) == ("generic", ("debt",))
    assert not book.choices


# -- public relevance -------------------------------------------------------------------


def test_narrowing_to_two_views_before_the_draw_gives_0_881():
    used = policy(["food"])
    book = Book(used.caps, draws=[1])
    (shown,) = turn(used, book, "food 2", {1: "wordb"}, scorer=Narrow())
    law = book.choices[0].probabilities()
    assert len(law) == 2
    assert float(law[1]) == pytest.approx(0.8808, abs=1e-4)
    assert shown.view == "b"


def test_narrowing_to_two_views_after_a_draw_over_five_gives_0_781_by_the_posterior():
    response = RandomizedResponse(2, choices=5)
    prior = [0, 1, 1, 0, 0]
    right = [
        sum(
            p
            for drawn, p in enumerate(response.probabilities(truth))
            if likelier(drawn, Fraction(2), prior) == truth
        )
        for truth in (1, 2)
    ]
    # Averaged over which of the two is right; ties go to the first one.
    assert float(sum(right)) / 2 == pytest.approx(0.7805, abs=1e-4)


@given(
    st.integers(0, 4),
    epsilons(),
    st.lists(st.fractions(min_value=0, max_value=20), min_size=5, max_size=5).filter(
        any
    ),
)
def test_the_posterior_rule_shows_a_view_that_is_most_likely_the_right_one(
    drawn, epsilon, prior
):
    shown = likelier(drawn, epsilon, prior)
    odds = exp_lower(epsilon)
    weight = [w * (odds if i == drawn else 1) for i, w in enumerate(prior)]
    assert weight[shown] == max(weight)
    assert likelier(drawn, epsilon, None) == drawn


def test_a_query_that_leaves_one_view_shows_it_and_reads_nothing():
    used = policy(["food"])
    book = Book(used.caps)
    (shown,) = turn(used, book, "food 1", {1: "wordb"}, scorer=Narrow())
    assert (shown.view, shown.outcome, shown.read_set) == ("a", "uncharged", ())
    assert not book.kept


def test_a_drawn_view_that_the_query_excludes_is_not_shown():
    used = policy(["food"])
    book = Book(used.caps, draws=[4])
    assert turn(used, book, "food", {1: "wordd"})[0].view == "d"
    assert turn(used, book, "food 2", {1: "wordd"}, scorer=Narrow())[0].view == "a"


# -- epochs -----------------------------------------------------------------------------


def moment(turns=0, day=date(2026, 6, 1), renewals=0):
    return Moment(turns, lambda: day, lambda: renewals)


def test_epochs_are_numbered_by_public_circumstances_and_end_with_the_planned_one():
    assert OneEpoch().number(moment(turns=10**6)) == 0
    by_turns = TurnEpochs(turns=10, planned=3)
    assert [by_turns.number(moment(t)) for t in (0, 9, 10, 20, 500)] == [0, 0, 1, 2, 2]
    monthly = CalendarEpochs(days=30, start=date(2026, 1, 1), planned=4)
    days = (date(2020, 1, 1), date(2026, 1, 30), date(2026, 1, 31), date(2030, 1, 1))
    assert [monthly.number(moment(day=day)) for day in days] == [0, 0, 1, 3]
    own = SubjectEpochs(planned=3)
    assert [own.number(moment(renewals=n)) for n in (0, 1, 2)] == [0, 1, 2]


@given(
    st.just(OneEpoch())
    | st.builds(TurnEpochs, st.integers(1, 99), st.integers(1, 9))
    | st.builds(CalendarEpochs, st.integers(1, 99), st.dates(), st.integers(1, 9))
    | st.builds(SubjectEpochs, st.integers(2, 9))
)
def test_a_schedule_is_the_same_after_it_was_written_and_read(epochs):
    assert epochs_of(epochs_document(epochs)) == epochs


@pytest.mark.parametrize(
    "document",
    [
        *(None, "content", "on_write", 3, [], {}, {"turns": 3}, {"renewals": -1}),
        {"turns": 0, "planned": 2},
        {"turns": True, "planned": 2},
        {"days": 3, "start": "soon", "planned": 2},
        {"days": 3, "start": "2026-01-01"},
        {"content": True, "x": 1},
        {1: 2},
        {"turns": 3, "planned": 2, "content_hash": True},
    ],
)
def test_what_is_no_public_schedule_is_none(document):
    assert epochs_of(document) is None


@given(st.integers(1, 4), st.integers(0, 3))
@settings(max_examples=20)
def test_every_epoch_is_a_release_of_its_own_and_together_they_fit_the_cap(
    planned, extra
):
    used = policy(["food"], budget=StandingBudget(TurnEpochs(1, planned)))
    book = Book(used.caps)
    for epoch in [*range(planned), *[planned - 1] * extra]:
        turn(used, book, "food", {1: "worda"}, epoch=epoch)
    assert len(book.choices) == planned
    assert book.account.balances["debt"].spent <= 2
    assert 2 - book.account.balances["debt"].spent < Fraction(planned, 10**9)


def test_slots_of_a_facet_may_name_their_views_in_any_order():
    backwards = dict(reversed(FIVE.items()))
    used = Policy(
        "order",
        {"debt": ProtectedAttribute([1, 2], 2)},
        [
            Slot("food", when=["food"], views=FIVE, capacity=1, facet="taste"),
            Slot("money", when=["money"], views=backwards, capacity=1, facet="taste"),
        ],
        StandingBudget(),
    )

    class Only(CueScorer):
        def prior(self, query, slot):
            return [int(name in ("b", "c")) for name in slot.vocabulary]

    book = Book(used.caps, draws=[0])
    (shown,) = turn(used, book, "money", {2: "wordc"}, scorer=Only())
    law = book.choices[0].probabilities()
    assert len(law) == 2
    assert law[1] > law[0]  # of b and c, in the order of the facet, c is supported
    assert shown.view == "b"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"epochs": None}, "MV409"),
        ({"epochs": 3}, "MV409"),
        ({"epochs": TurnEpochs(turns=0, planned=2)}, "MV409"),
        ({"epochs": SubjectEpochs(planned=1)}, "MV409"),
        ({"epochs": TurnEpochs(turns=1, planned=10**12)}, "MV408"),
        ({"threshold": math.nan}, "MV411"),
        ({"threshold": 1.5}, "MV411"),
        ({"top": True}, "MV412"),
        ({"top": 5}, "MV412"),
    ],
)
def test_a_standing_budget_that_is_none_is_refused_in_python_as_in_a_file(more, code):
    with pytest.raises(PolicyError, match=code):
        policy(["food"], budget=StandingBudget(**more))


def test_facets_are_names_and_share_view_names():
    with pytest.raises(PolicyError, match="MV110"):
        policy(["food"], facet=3)
    other = {"generic": "Any.", "z": "Z."}
    slots = [
        Slot("food", views=FIVE, capacity=1, facet="taste"),
        Slot("money", views=other, capacity=1, facet="taste"),
    ]
    attributes = {"debt": ProtectedAttribute([1], 2)}
    with pytest.raises(PolicyError, match="only one of them has a, b, c, d, z"):
        Policy("p", attributes, slots, StandingBudget())


def test_the_whole_memory_is_an_attribute_without_positions_of_its_own():
    everything = {"*": ProtectedAttribute([], 1), "debt": ProtectedAttribute([1], 2)}
    slots = [Slot(name, views=FIVE, capacity=1) for name in ("food", "money")]
    used = Policy("p", everything, slots, StandingBudget())
    assert used.groups["*"] == {1, 2}
    assert [facet.epsilon for facet in used.facets] == [Fraction(1, 2)] * 2
    assert used == Policy("p", used.attributes, used.slots, used.budget)
    with pytest.raises(PolicyError, match="MV309"):
        Policy("p", {"*": ProtectedAttribute([1], 1)}, slots, StandingBudget())


def test_a_choice_shows_its_mechanism_and_not_its_inputs():
    choice = Choice(RandomizedResponse(1, choices=3), (2,))
    assert repr(choice) == "Choice(RandomizedResponse(1, choices=3))"


def test_the_standing_interface_needs_a_standing_budget():
    used = policy(["food"], budget=OnlineBudget(3))
    trusted = TrustedInterface(used, KeywordRouter.of(used), CueScorer())
    with pytest.raises(TypeError, match="not standing"):
        StandingInterface(trusted).choice(used.facets[0], None, lambda ps: {})


def test_a_bad_cap_hides_no_other_mistake_of_a_standing_policy():
    attributes = {
        "debt": ProtectedAttribute([1], -1),
        "health": ProtectedAttribute([2], 2),
    }
    slots = [Slot(name, views=FIVE, capacity=1) for name in ("food", "money")]
    with pytest.raises(PolicyError, match=r"MV304[\s\S]*MV411"):
        Policy("p", attributes, slots, StandingBudget(threshold=9))


def test_a_slot_of_one_view_is_shown_without_a_read_a_draw_or_a_note():
    silent = {"generic": "Any."}
    used = Policy(
        "one",
        {"debt": ProtectedAttribute([1], 2)},
        [Slot("food", when=["food"], views=silent, capacity=1)],
        StandingBudget(),
    )
    book = Book(used.caps)
    (shown,) = turn(used, book, "food", {1: "worda"})
    assert (shown.view, shown.outcome, shown.read_set) == ("generic", "uncharged", ())
    assert not book.kept
    assert not book.choices
