"""The default router: a slot is active when the query contains one of its `when` words.

Words are compared by their English stem and as whole words, so `cook` is found in
"cooking" and "cooked", `dinner` in "dinners", and `count` not in "encounter". A phrase
such as `after work` is found where its words follow each other. A query in another
language, or of emoji alone, activates nothing; write the policy's words in the
language of the queries.
"""

from dataclasses import dataclass
from functools import cached_property

from typing_extensions import override

from langchain_memview.core.policy import Policy
from langchain_memview.core.routing import Router
from langchain_memview.core.transcript import AugmentedTranscript
from langchain_memview.words import stems


@dataclass(frozen=True)
class KeywordRouter(Router):
    """Activates slots by the words of the query.

    Attributes:
        phrases: Slot and the stems of one of its words or phrases, for all of them.
    """

    phrases: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def of(cls, policy: Policy) -> "KeywordRouter":
        """Return the router for the `when` words of a policy's slots."""
        return cls(
            tuple(
                (slot.name, phrase)
                for slot in policy.slots
                for words in slot.when
                if (phrase := tuple(stems(words)))
            )
        )

    @cached_property
    def _beginnings(self) -> tuple[str, ...]:
        # Words that cannot match are not stemmed: a 1 MB query stays cheap.
        return tuple({_root(s) for _, phrase in self.phrases for s in phrase})

    @override
    def active_slots(self, query: str, history: AugmentedTranscript) -> frozenset[str]:
        words = stems(query, self._beginnings)
        found = frozenset(words)
        text = f" {' '.join(words)} "
        return frozenset(
            slot
            for slot, phrase in self.phrases
            if found.issuperset(phrase) and f" {' '.join(phrase)} " in text
        )


def _root(stem: str) -> str:
    """Return the letters with which every word of this stem begins.

    Stemming changes at most the last letter that it keeps ("groceri"), and two in the
    few short irregular words ("die", "dying").
    """
    return stem[:-1] if len(stem) > 3 else stem[:1]
