"""The parts of a policy: protected attributes, slots and the weights of a scorer."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from langchain_memview.core.amounts import Amount
from langchain_memview.core.views import GENERIC, View, vocabulary


@dataclass(frozen=True)
class ProtectedAttribute:
    """A property of the user whose inference is limited.

    Attributes:
        positions: The group I_a: every position whose content may hint at the
            attribute. A slot's name stands for all positions of that slot. The
            attribute named `*` has all positions, so it is given none: its cap holds
            against a replacement of the whole memory.
        cap: B_a, what the whole transcript may reveal about it, in nats; > 0.
    """

    positions: Collection[int | str]
    cap: Amount

    @property
    def group(self) -> frozenset[int]:
        """Return I_a; inside a policy it holds positions only."""
        return frozenset(p for p in self.positions if isinstance(p, int))


@dataclass(frozen=True)
class ScoreWeights:
    """Weights of the paper's scorer 0.4 r + 0.4 c + 0.2 s (Appendix C.5).

    Attributes:
        relevance: Weight of the public term r; >= 0.
        compatibility: Weight of the private term c; > 0.
        specificity: Weight of the private term s; >= 0.
    """

    relevance: Amount = "0.4"
    compatibility: Amount = "0.4"
    specificity: Amount = "0.2"


@dataclass(frozen=True)
class EmbeddingScore:
    """How the cosine of a memory and a view becomes support, for one embedding model.

    Support is 1/(1 + e^(-slope·(cosine - midpoint))), so it is 1/2 at the midpoint.
    `memview calibrate` fits both to example sentences.

    Attributes:
        model: Name of the model that the numbers were fitted for.
        midpoint: Cosine at which support is 1/2; between -1 and 1.
        slope: How fast it rises there; > 0.
        relevance: Weight of the public term, the fit of a view to the query; from 0,
            where no query is embedded, to below 1. The private term has the rest.
    """

    model: str
    midpoint: Amount
    slope: Amount
    relevance: Amount = 0


@dataclass(frozen=True)
class Slot:
    """A topic of memory: when it is active, what it reads and how it may answer.

    Attributes:
        name: The slot's name.
        when: Words and phrases of a query that activate the slot.
        views: View name to view (or to its sentence); one is named `generic`.
        capacity: Number of positions. The positions of a policy without a layout are
            numbered slot after slot; with a layout this is derived.
        read: Positions that a selection reads; None means all of the slot's own.
        charge: Attributes to charge, the affected ones among them; over-charging is
            allowed. Empty means exactly the affected ones.
        facet: Slots that name the same facet have the same view ids and are served by
            one standing release; empty means a facet of its own. It counts in the
            standing mode only.
        about: What queries of the slot are about, in a sentence, for routers that
            compare meanings. Public.
    """

    name: str
    when: Iterable[str] = ()
    views: Mapping[str, View | str] = field(default_factory=dict)
    capacity: int | None = None
    read: Collection[int] | None = None
    charge: Collection[str] = ()
    facet: str = ""
    about: str = ""

    @cached_property
    def vocabulary(self) -> Mapping[str, View]:
        """Return V_g: view name to `View`, the generic view first (C1)."""
        return vocabulary(self.views)

    @cached_property
    def generic(self) -> View:
        """Return the generic view, which is shown whatever the memory holds."""
        return self.vocabulary[GENERIC]
