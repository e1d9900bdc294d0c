"""How often each view is drawn, beside how often its law says: a check of the draw itself.

The draws use known coins and public stores, so they repeat and tell nothing of anybody.
"""

from collections import Counter
from dataclasses import dataclass, replace

from langchain_memview.audit.turns import Ask, Turns
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.store import MemoryStore
from langchain_memview.testing.draws import seeded_draw

DRAWS = 2000


@dataclass(frozen=True)
class Frequency:
    """One view of one slot.

    Attributes:
        slot: The slot.
        view: The view.
        law: Its exact probability, as a float.
        drawn: Its share of `DRAWS` seeded draws.
        error: Five standard errors of the share; a share outside law ± error has a
            chance below one in a million.
    """

    slot: str
    view: str
    law: float
    drawn: float
    error: float


def frequencies(
    interface: TrustedInterface, query: str, store: MemoryStore, seed: int = 0
) -> tuple[Frequency, ...]:
    """Return law and frequency of every view of the first turn on a public store.

    Args:
        interface: The interface.
        query: What is asked.
        store: A store without anybody's memories.
        seed: Of the coins.
    """
    law: dict[tuple[str, str], float] = {}
    turns, ask = Turns(interface), Ask(query)
    for step, chance in turns.law(store, ask, turns.state()).items():
        for slot in step.shown:
            key = (slot.slot, slot.view)
            law[key] = law.get(key, 0.0) + float(chance)
    drawn: Counter[tuple[str, str]] = Counter()
    fixed = Turns(replace(interface, draw=seeded_draw(seed)))
    for _ in range(DRAWS):
        for slot in fixed.once(store, ask):
            drawn[slot.slot, slot.view] += 1
    return tuple(
        Frequency(
            *key,
            chance,
            drawn[key] / DRAWS,
            5 * (chance * (1 - chance) / DRAWS) ** 0.5,
        )
        for key, chance in law.items()
    )
