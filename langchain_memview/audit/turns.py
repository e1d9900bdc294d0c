"""The exact law of one real turn, from one public state, under one memory store.

The turn is the interface's own; the one seam is the draw, where every index is taken
once with its exact probability. What a turn makes public is a `Step`: all that it
showed and, in the standing mode, all that it recorded under which name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

from typing_extensions import override

from langchain_memview.core.accounts import Decide
from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.choice import Choice, Draw
from langchain_memview.core.interface import Recorded, TrustedInterface
from langchain_memview.core.ledger import Balance, Ledger
from langchain_memview.core.policy import Slot
from langchain_memview.core.release import SlotRelease
from langchain_memview.core.standing import Journal, StandingInterface
from langchain_memview.core.store import MemoryStore
from langchain_memview.core.transcript import AugmentedTranscript, AugmentedTurn

Interface: TypeAlias = TrustedInterface | StandingInterface
Released: TypeAlias = tuple[SlotRelease, ...]
Law: TypeAlias = Mapping["Step", Fraction]
"""Step to its probability; a view that is offered and never drawn has the entry 0."""


@dataclass(frozen=True)
class Ask:
    """What the application does at a turn.

    Attributes:
        query: q_t.
        epoch: The public epoch of the turn; any one up to the planned number, since a
            schedule may depend on circumstances that an application chooses.
    """

    query: str
    epoch: int = 0


@dataclass(frozen=True)
class Step:
    """All that one turn makes public.

    Attributes:
        shown: What every active slot released.
        recorded: Key and release of every standing draw that the turn recorded.
    """

    shown: Released
    recorded: tuple[tuple[str, SlotRelease], ...] = ()

    @override
    def __hash__(self) -> int:
        """Return a hash that agrees with equality, computed once."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.shown, self.recorded))


@dataclass(frozen=True)
class State:
    """What has been spent, recorded and released so far. Public.

    Attributes:
        ledger: Spent and cap of every attribute. An interface that is at fault may
            have spent more than the cap.
        records: Key to standing release.
        history: τ~.
        past: What was drawn and shown at once, for policies whose fallback uses it.
    """

    ledger: Ledger
    records: Mapping[str, SlotRelease] = field(default_factory=dict)
    history: AugmentedTranscript = field(default_factory=AugmentedTranscript)
    past: Released = ()

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Return a value that is equal for states with equal ledgers and records."""
        amounts = (b.spent.as_integer_ratio() for b in self.ledger.balances.values())
        return tuple(amounts), frozenset(self.records.items())

    def then(self, ask: Ask, step: Step) -> "State":
        """Return the state after a turn; nothing but the turn's step decides it."""
        charges = [slot for _, slot in step.recorded] if step.recorded else step.shown
        views = {slot.slot: slot.view for slot in step.shown}
        return State(
            spent(self.ledger, charges),
            {**self.records, **dict(step.recorded)},
            self.history.then(AugmentedTurn(ask.query, views=views)),
            (*self.past, *(slot for slot in step.shown if slot.outcome == "selected")),
        )


def spent(ledger: Ledger, charges: Sequence[SlotRelease]) -> Ledger:
    """Return the ledger after these charges, even where they pass a cap."""
    balances = dict(ledger.balances)
    for slot in charges:
        for name, charge in slot.charges.items():
            before = balances[name]
            balances[name] = Balance(before.spent + charge, before.cap)
    return Ledger(balances)


def in_its_mode(interface: Interface) -> Interface:
    """Return the interface that runs the turns of its policy's budget mode."""
    if isinstance(interface, TrustedInterface) and isinstance(
        interface.policy.budget, StandingBudget
    ):
        return StandingInterface(interface)
    return interface


def trusted(interface: Interface) -> TrustedInterface:
    """Return the fixed parts of an interface of either kind."""
    if isinstance(interface, StandingInterface):
        return interface.trusted
    return interface


class Turns:
    """Gives the laws of an interface's turns and remembers them. Private.

    Laws are remembered for a store, a public state and what is asked. The released
    history counts as part of the state as soon as any turn has looked at it.

    Args:
        interface: The interface that is audited.
    """

    def __init__(self, interface: Interface) -> None:
        self.interface = in_its_mode(interface)
        self.policy = trusted(interface).policy
        self.uses_history = False
        self._laws: dict[tuple[object, ...], Law] = {}

    def state(self) -> State:
        """Return the state in which nothing has been released."""
        return State(Ledger.opened(self.policy.caps))

    def key(self, state: State) -> tuple[object, ...]:
        """Return a value that is equal for states in which all turns are the same."""
        history: tuple[object, ...] = ()
        if self.uses_history:
            history = tuple(
                (turn.query, tuple(turn.views.items())) for turn in state.history.turns
            )
        past = () if self.policy.fallback == "generic" else state.past
        return *state.key, history, past

    def law(self, store: MemoryStore, ask: Ask, state: State) -> Law:
        """Return every possible step of a turn with its exact probability.

        Args:
            store: The memory. Private; the probabilities are too.
            ask: What is asked, in which epoch.
            state: What is public before the turn.
        """
        key = (store, ask, self.key(state))
        if key not in self._laws:
            history = _Watched(state.history.turns)
            law: dict[Step, Fraction] = {}
            watched = replace(state, history=history)
            for step, likelihood in _steps(self.interface, store, ask, watched):
                law[step] = law.get(step, Fraction(0)) + likelihood
            if history.looks and not self.uses_history:
                # What was remembered without the history may be wrong from here on.
                self.uses_history = True
                self._laws.clear()
                key = (store, ask, self.key(state))
            self._laws[key] = law
        return self._laws[key]

    def once(self, store: MemoryStore, ask: Ask) -> Released:
        """Return what a first turn shows with the interface's own draws.

        Args:
            store: The memory.
            ask: What is asked, in which epoch.
        """
        state = self.state()
        draw = trusted(self.interface).draw
        step = _once(self.interface, store, ask, state, draw)
        return step.shown


class _Watched(AugmentedTranscript):
    """A history that notices when it is read."""

    def __init__(self, turns: tuple[AugmentedTurn, ...]) -> None:
        object.__setattr__(self, "looks", [])
        super().__init__(turns)

    looks: list[str]

    @override
    def __getattribute__(self, name: str) -> Any:
        if name == "turns":
            self.looks.append(name)
        return super().__getattribute__(name)


class _MoreChoices(Exception):  # noqa: N818 - a signal of the enumeration, no error
    pass


class _Script:
    """Takes every sequence of indices once, with the product of its probabilities."""

    def __init__(self) -> None:
        self._pending: list[tuple[int, ...]] = [()]
        self._indices: tuple[int, ...] = ()
        self._used = 0
        self.likelihood = Fraction(1)

    def draw(self, choice: Choice) -> int:
        law = choice.probabilities()
        if self._used == len(self._indices):
            self._pending += [(*self._indices, index) for index in range(len(law))]
            raise _MoreChoices
        index = self._indices[self._used]
        self._used += 1
        self.likelihood *= law[index]
        return index

    def runs(self, run: Callable[[], Step]) -> Iterator[tuple[Step, Fraction]]:
        while self._pending:
            self._indices = self._pending.pop()
            self._used, self.likelihood = 0, Fraction(1)
            with suppress(_MoreChoices):
                step = run()
                yield step, self.likelihood


class _Records(Journal):
    """A journal that starts from a public state and keeps what a turn adds."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.added: dict[str, SlotRelease] = {}

    @override
    def known(self, key: str) -> SlotRelease | None:
        return self.added.get(key) or self._state.records.get(key)

    @override
    def record(self, key: str, decide: Decide) -> SlotRelease | None:
        for release in decide(self.ledger()):
            self.added[key] = release
        return self.added.get(key)

    @override
    def ledger(self) -> Ledger:
        return spent(self._state.ledger, list(self.added.values()))


def _steps(
    interface: Interface,
    store: MemoryStore,
    ask: Ask,
    state: State,
) -> list[tuple[Step, Fraction]]:
    script = _Script()
    if isinstance(interface, StandingInterface):
        return list(
            script.runs(lambda: _once(interface, store, ask, state, script.draw))
        )

    def transact(decide: Decide) -> list[tuple[Step, Fraction]]:
        # The contract of `LedgerStore.transact` allows to call `decide` again.
        return list(script.runs(lambda: Step(tuple(decide(state.ledger)))))

    return _paper_turn(interface, store, ask, state, script.draw, transact)


def _once(
    interface: Interface,
    store: MemoryStore,
    ask: Ask,
    state: State,
    draw: Draw,
) -> Step:
    """Return the step of one run of the turn, with these draws."""
    if isinstance(interface, StandingInterface):
        journal = _Records(state)
        trusted_ = replace(interface.trusted, draw=draw)
        shown = replace(interface, trusted=trusted_).turn(
            ask.query, state.history, lambda _: ask.epoch, _reader(store), journal
        )
        return Step(shown, tuple(journal.added.items()))

    def transact(decide: Decide) -> Step:
        return Step(tuple(decide(state.ledger)))

    return _paper_turn(interface, store, ask, state, draw, transact)


def _paper_turn(
    interface: TrustedInterface,
    store: MemoryStore,
    ask: Ask,
    state: State,
    draw: Draw,
    transact: Callable[[Decide], Recorded],
) -> Recorded:
    def released(slot: Slot) -> Released:
        return tuple(past for past in state.past if past.slot == slot.name)

    return replace(interface, draw=draw).turn(
        ask.query, state.history, _reader(store), transact, released
    )


def _reader(store: MemoryStore) -> Callable[[Set[int]], dict[int, str]]:
    return lambda positions: {p: store.contents[p - 1] for p in positions}
