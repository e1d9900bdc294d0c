"""The trusted interface between an agent's stored memories and its chat model.

`MemView` puts the parts together: a policy, a backend with raw memories, a ledger
store, a scorer and a router. One call of `turn` is one operation: it releases public
views and nothing else. This module knows no framework; the adapters are in `graph`.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NoReturn

from typing_extensions import override

from langchain_memview.core.accounts import (
    Account,
    Decide,
    LedgerStore,
    Operation,
    Record,
)
from langchain_memview.core.backend import Backend
from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.ledger import Balance, Ledger
from langchain_memview.core.names import RESERVED, named, storable
from langchain_memview.core.placement import next_position, positions_of
from langchain_memview.core.policy import Policy, Slot
from langchain_memview.core.release import Release, SlotRelease
from langchain_memview.core.routing import Router
from langchain_memview.core.scoring import Scorer
from langchain_memview.core.transcript import AugmentedTranscript
from langchain_memview.erasure import ErasureReceipt, forget
from langchain_memview.errors import (
    MemoryUnavailableError,
    MemViewError,
    PositionError,
    SubjectError,
    WiringError,
    alone,
    withheld,
)
from langchain_memview.memories import memories_of
from langchain_memview.pacing import Pacer
from langchain_memview.routers.keyword import KeywordRouter
from langchain_memview.scorers.default import default_scorer
from langchain_memview.standing import Journals, StandingTurn, standing_budget
from langchain_memview.wiring import (
    build_mechanisms,
    check_pace,
    check_parts,
    check_router,
)

_NO_HISTORY = AugmentedTranscript()


class MemView:
    """Releases privately selected views of a subject's memory, under per-attribute caps.

    Args:
        policy: What is protected, the slots and their views.
        backend: Where the raw memories are.
        ledger: Where spent amounts and releases are kept; shared by everything that
            serves the same people. `ledger_from_checkpointer(saver)` gives the one in
            the checkpointer's database.
        scorer: Scores views from memories; by default the paper's weighted scorer if
            the policy gives its weights, else the cue scorer.
        router: Maps a query to slots; by default by the policy's `when` words.
        deadline: Seconds, from 0.001 to 86 400: every turn ends at the next whole
            multiple of it, whether it returns or raises, so that its moment says no
            more than how many multiples it took. None ends it when it is done.

    Raises:
        WiringError: A part is none of its kind, the router is not declared public, the
            scorer's weights are out of range or it needs a deadline, or the stored memories were embedded by another model than the scorer's.
        MemoryUnavailableError: The scorer keeps numbers beside the memories, and the
            backend cannot be reached.
    """

    def __init__(
        self,
        policy: Policy,
        backend: Backend,
        *,
        ledger: LedgerStore,
        scorer: Scorer | None = None,
        router: Router | None = None,
        deadline: float | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise WiringError(
                f"{type(policy).__name__} is no policy. load_policy(path) reads a file; "
                "Policy(...) makes one."
            )
        if scorer is None:
            scorer = default_scorer(policy)
        self.policy = policy
        self._backend = backend
        self._ledger = ledger
        self._placing = threading.Lock()
        self._pacer = Pacer(deadline)
        self._journals = Journals(ledger)
        self.interface = TrustedInterface(
            policy, router or KeywordRouter.of(policy), scorer
        )
        check_parts(backend, ledger)
        check_router(self.interface.router)
        check_pace(scorer, deadline)
        build_mechanisms(self.interface)
        self._memories = memories_of(backend, scorer)

    @override
    def __repr__(self) -> str:
        """Return the name of the policy."""
        return f"MemView({self.policy.name!r})"

    @override
    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled.

        Raises:
            WiringError: Always. A pickle could carry the memories of the backend.
        """
        raise WiringError(
            "a MemView is neither pickled nor copied, because its backend may hold "
            "memories in the clear. Build one in every process, from the same policy, "
            "backend and ledger."
        )

    @property
    def overruns(self) -> int:
        """Return how many turns of this object took longer than the deadline.

        Each of them showed by its moment that it was slow, which may depend on
        memories. The count is for the operator and says nothing else; it is neither
        recorded nor part of a `Release`. Without a deadline it stays 0.
        """
        return self._pacer.overruns

    def turn(
        self,
        query: str,
        *,
        subject: str,
        audience: str,
        operation: str,
        history: AugmentedTranscript = _NO_HISTORY,
    ) -> Release:
        """Return the views that the chat model may be given for this query.

        Every private selection is charged before it is drawn, and recorded before it
        is returned. A spent cap gives the generic view, which is a normal result. The
        same operation id returns the recorded release again, without a draw. Under a
        standing budget the draws are recorded and not the turns: an operation id has no
        effect there, and a repeated turn shows what its epoch shows.

        With a deadline the call blocks until the next multiple of it: reading, scoring
        and the ledger's commit are done before, and nothing is cut short by it.

        Args:
            query: What the application asks. Public.
            subject: The person whose memory it is.
            audience: The application that will see the answer.
            operation: Id of this request, unique within the subject's account.
            history: Released history before the turn, for routers that use it. Public.

        Raises:
            SubjectError: `subject`, `audience` or `operation` is missing or blank, or
                the query is no text; nothing was read.
            MemoryUnavailableError: The backend cannot be reached; nothing was charged.
            LedgerUnavailableError: The ledger cannot be used; nothing was released.
            OperationConflictError: The id was used for another request. Not under a
                standing budget.
        """
        began = self._pacer.start()
        outcome = self._outcome(query, subject, audience, operation, history)
        self._pacer.wait(began)
        if isinstance(outcome, MemViewError):
            raise outcome
        return outcome

    def _outcome(
        self,
        query: str,
        subject: str,
        audience: str,
        operation: str,
        history: AugmentedTranscript,
    ) -> Release | MemViewError:
        """Return the release or, to be raised when the turn ends, what went wrong."""
        try:
            return self._turn(query, subject, audience, operation, history)
        except MemViewError as error:
            return alone(error)
        except Exception as error:  # noqa: BLE001 - its text may hold a memory
            return alone(withheld(error))

    def _turn(
        self,
        query: str,
        subject: str,
        audience: str,
        operation: str,
        history: AugmentedTranscript,
    ) -> Release:
        account = self._account(subject, audience)
        if not isinstance(query, str):
            raise SubjectError(f"the query must be a text, got {type(query).__name__}.")
        request = Operation.of(
            _callers(operation),
            audience,
            query,
            self.policy.fingerprint,
            *(turn.query for turn in history.turns),
        )
        if isinstance(self.policy.budget, StandingBudget):
            standing = self._standing(subject, account, audience)
            shown = Record(0, request, standing.shown(query, history))
            return self._release(shown, standing.journal.ledger())
        known = self._ledger.find(account, request)
        if known:
            return self._release(known, self._ledger.ledger(account))

        def transact(decide: Decide) -> Release:
            return self._release(*self._ledger.transact(account, request, decide))

        # Read before the transaction: inside, its connection may not be asked again.
        past = (
            () if self.policy.fallback == "generic" else self._ledger.history(account)
        )

        def released(slot: Slot) -> Sequence[SlotRelease]:
            return [s for record in past for s in record.slots if s.slot == slot.name]

        return self.interface.turn(
            query, history, partial(self._memories.read, subject), transact, released
        )

    async def aturn(
        self,
        query: str,
        *,
        subject: str,
        audience: str,
        operation: str,
        history: AugmentedTranscript = _NO_HISTORY,
    ) -> Release:
        """Return what `turn` returns, computed in a worker thread.

        Waiting for the deadline blocks neither the thread nor the event loop. A call
        that is cancelled ends at once; what it has drawn meanwhile stays charged, and
        the same operation id returns it.
        """
        began = self._pacer.start()
        outcome = await asyncio.to_thread(
            self._outcome, query, subject, audience, operation, history
        )
        await self._pacer.async_wait(began)
        if isinstance(outcome, MemViewError):
            raise outcome
        return outcome

    def open(self, subject: str, *, audience: str = "") -> Mapping[str, Balance]:
        """Return the balances after drawing what a standing policy will show.

        Every facet of the current epoch that has not been drawn yet is drawn, charged
        and recorded now, off the path of any question. Calling it again changes nothing.

        Args:
            subject: The person whose memory it is.
            audience: Needed only where the policy's scope is `audience`.

        Raises:
            WiringError: The policy's budget is not standing.
            SubjectError: The subject is missing or blank.
            MemoryUnavailableError: The backend cannot be reached.
            LedgerUnavailableError: The ledger cannot be used.
        """
        return self._drawing(subject, audience, StandingTurn.open)

    def renew(
        self, subject: str, *, operation: str, audience: str = ""
    ) -> Mapping[str, Balance]:
        """Return the balances after the subject's own new epoch has begun.

        Only for `epochs: {renewals: …}`, and only on the subject's explicit request: a
        renewal because something was written would reveal that it was.

        Args:
            subject: The person whose memory it is.
            operation: Id of the request; repeated, it begins no other epoch.
            audience: Needed only where the policy's scope is `audience`.

        Raises:
            EpochError: All planned epochs have been drawn.
            WiringError: The policy has no epochs of this kind.
            SubjectError: The subject is missing or blank.
            MemoryUnavailableError: The backend cannot be reached.
            LedgerUnavailableError: The ledger cannot be used.
        """
        return self._drawing(
            subject,
            audience,
            lambda standing: standing.renew(named("operation", operation)),
        )

    def _drawing(
        self, subject: str, audience: str, draw: Callable[[StandingTurn], object]
    ) -> Mapping[str, Balance]:
        failure: MemViewError
        try:
            standing_budget(self.policy)
            if self.policy.scope == "subject":
                audience = audience or "-"
            account = self._account(subject, audience)
            standing = self._standing(subject, account, audience)
            draw(standing)
            return standing.journal.ledger().balances
        except MemViewError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - its text may hold a memory
            failure = withheld(error)
        raise alone(failure)

    def _standing(self, subject: str, account: Account, audience: str) -> StandingTurn:
        journal = self._journals.of(account, audience)
        return StandingTurn(
            self.interface, journal, partial(self._memories.read, subject)
        )

    def remember(
        self, subject: str, text: str, *, slot: str = "", position: int | None = None
    ) -> int:
        """Return the position at which the text is now remembered.

        Without a position the slot's next free one is taken, in their order, or what
        the policy's `when_full` says of a full slot: nothing about placement depends on
        what is written.

        Args:
            subject: The person whose memory it is.
            text: The memory. Private.
            slot: Name of the slot; may be left out when `position` is given.
            position: A position to write instead; what it held is replaced.

        Raises:
            PositionError: The policy has no such slot or position, the two differ,
                every position of the slot is taken and `when_full` is `refuse`, or the
                memory is no text.
            SubjectError: The subject is missing or blank.
            MemoryUnavailableError: The backend cannot be reached.
        """
        failure: MemViewError
        try:
            named("subject", subject)
            storable(text)
            own = positions_of(self.policy, slot, position)
            numbers = self._memories.prepared(text)
            # One at a time, or two memories would take the same free position.
            with self._placing:
                # A position that was named is not looked at before it is replaced.
                taken = self._backend.written(subject, own) if position is None else ()
                place = next_position(slot, own, taken, self.policy.when_full)
                self._memories.write(subject, place, text, numbers)
            return place
        except (PositionError, SubjectError) as error:
            failure = error
        except Exception:  # noqa: BLE001 - its text may hold the memory
            failure = MemoryUnavailableError(
                "the memory backend cannot be reached, so nothing is remembered. Check "
                "that it is reachable and writable, then repeat the call."
            )
        del text
        raise alone(failure)

    def forget(
        self, subject: str, *, slot: str = "", position: int | None = None
    ) -> ErasureReceipt:
        """Return the receipt after erasing a subject's memories and what they showed.

        Memories, what was prepared from them and the views that recorded releases have
        shown leave the backend and the ledger, down to their files; what was spent
        stays. Where a standing view was drawn from them, the generic one is shown until
        its epoch ends. A turn that has read the memories before may still answer.

        Args:
            subject: The person to forget. Without slot and position all goes, also what
                another policy has written.
            slot: Only this slot's positions.
            position: Only this position.

        Returns:
            What was erased. Where it is not `complete`, a part could not be reached:
            repeat the call.

        Raises:
            PositionError: The policy has no such slot or position, or the two differ.
            SubjectError: The subject is missing or blank.
        """
        with self._placing:
            receipt = forget(
                self.policy,
                self._backend,
                self._ledger,
                subject,
                slot=slot,
                position=position,
            )
            self._memories.forgotten(subject)
        self._journals.forgotten()
        return receipt

    def prepare(self) -> int:
        """Return how many memories still support no view, after preparing all that wait.

        Only with a scorer that prepares memories when they are written, as embeddings
        do; with any other it is 0. A memory waits when its model did not answer, or was
        written before there was such a scorer. For the operator: run it at start and
        after an outage.

        Raises:
            MemoryUnavailableError: The backend cannot be reached.
        """
        # What is raised here may hold a memory.
        with suppress(Exception):
            return self._memories.catch_up()
        raise MemoryUnavailableError(
            "the memory backend cannot be reached, so some memories may still wait to be "
            "prepared. Repeat the call when it is back."
        )

    def balances(self, subject: str, *, audience: str = "") -> Mapping[str, Balance]:
        """Return spent and cap of every attribute, in nats.

        Args:
            subject: The person whose memory it is.
            audience: Needed only where the policy's scope is `audience`.

        Raises:
            SubjectError: The subject is missing or blank.
            LedgerUnavailableError: The ledger cannot be read.
        """
        return self._ledger.ledger(self._account(subject, audience or "-")).balances

    def history(self, subject: str, *, audience: str = "") -> Sequence[Record]:
        """Return the recorded releases of a subject, oldest first.

        Args:
            subject: The person whose memory it is.
            audience: Needed only where the policy's scope is `audience`.

        Raises:
            SubjectError: The subject is missing or blank.
            LedgerUnavailableError: The ledger cannot be read.
        """
        return self._ledger.history(self._account(subject, audience or "-"))

    def _account(self, subject: str, audience: str) -> Account:
        return Account.of(
            self.policy, named("subject", subject), named("audience", audience)
        )

    def _release(self, record: Record, ledger: Ledger) -> Release:
        slots = self.policy.slots_by_name
        return Release(
            record.operation.id,
            {
                # A view that was erased is not drawn again; the generic one stands in.
                s.slot: slots[s.slot].vocabulary.get(s.view, slots[s.slot].generic)
                for s in record.slots
            },
            ledger.balances,
            record.slots,
            record.replayed,
        )


def _callers(operation: object) -> str:
    """Return a caller's operation id.

    Raises:
        SubjectError: It is missing, blank or one of the package's own.
    """
    name = named("operation", operation)
    if name.startswith(RESERVED):
        raise SubjectError(f"an operation id cannot begin with {RESERVED!r}.")
    return name
