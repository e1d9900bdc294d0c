"""Views and their vocabularies V_g, fixed by the policy for every store: condition C1.

A view says how to answer, never what is true of the user. A slot's vocabulary is a
mapping from view names to views whose first entry is the generic view; the policy
fixes it before any memory is read and hashes it into its fingerprint, so two adjacent
stores cannot have different vocabularies.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

GENERIC = "generic"
"""Name of the view that every vocabulary has: what is shown when a ledger is at its cap."""


@dataclass(frozen=True)
class View:
    """One public way to answer.

    Attributes:
        say: The sentence that the chat model is given. Public, the same for everyone.
        cues: Words or word beginnings that, in a memory, speak for this view: `carb`,
            `lose job`. Public; what they match is private.
        name: The view's name in its vocabulary; the policy fills it in.
        support: What a memory says that speaks for this view, as a sentence that
            embeddings are compared with. Public, and never given to the chat model.
    """

    say: str
    cues: tuple[str, ...] = ()
    name: str = ""
    support: str = ""

    def __init__(
        self, say: str, cues: Iterable[str] = (), name: str = "", support: str = ""
    ) -> None:
        object.__setattr__(self, "say", say)
        object.__setattr__(self, "cues", tuple(cues))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "support", support)

    @property
    def hypothesis(self) -> str:
        """Return the text that memories are compared with: `support`, if it is given."""
        return self.support or " ".join([self.say, *self.cues])


def vocabulary(views: Mapping[str, View | str]) -> Mapping[str, View]:
    """Return the views under their names, the generic view first, as a read-only map.

    Args:
        views: View name to view, or to its sentence alone.
    """
    named = {
        name: View(view, (), name)
        if isinstance(view, str)
        else View(view.say, view.cues, name, view.support)
        for name, view in views.items()
    }
    first = {GENERIC: named[GENERIC]} if GENERIC in named else {}
    return MappingProxyType(first | named)
