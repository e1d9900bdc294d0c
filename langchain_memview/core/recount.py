"""The ledger under changed terms: counted again from every recorded release.

A policy may put a position into a group, or lower a cap, while accounts are open. What
was spent is then never merely carried over: every release names the positions that it
read, so it is known what it could have told about the attribute as it is defined now.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from langchain_memview.core.charging import additive_share
from langchain_memview.core.ledger import Balance, Ledger
from langchain_memview.core.release import SlotRelease


def recomputed(
    releases: Iterable[SlotRelease],
    groups: Mapping[str, frozenset[int]],
    caps: Mapping[str, Fraction],
    before: Ledger,
) -> Ledger:
    """Return the ledger under changed groups and caps, recounted from every release.

    A position that joins a group brings all past releases that read it, so spent
    amounts are recounted, never carried over. They do not shrink: an attribute whose
    group lost a position keeps what it was charged. Caps only go down. A release that
    was uncharged because nothing protected what it read has no bounded loss: an
    attribute whose group such a position joins has spent its whole cap.

    Args:
        releases: What every slot of every recorded operation released.
        groups: Attribute name to its group in the new policy.
        caps: Cap of every attribute in the new policy, in nats.
        before: The ledger under the old policy.
    """
    spent = dict.fromkeys(caps, Fraction(0))
    unbounded: set[str] = set()
    for release in releases:
        charges = release.charges
        for name in spent:
            touched = groups[name] & frozenset(release.read_set)
            due = charges.get(name, Fraction(0))
            if touched and release.shares:
                share = additive_share(release.epsilon, release.read_set, groups[name])
                due = max(due, share)
            elif touched:
                due = release.epsilon
            spent[name] += due
            if touched and release.outcome == "uncharged":
                unbounded.add(name)
    balances = {}
    for name, cap in caps.items():
        old = before.balances.get(name, Balance(Fraction(0), cap))
        total = max(spent[name], old.spent)
        if name in unbounded:
            # It was shown as it was, so nothing more can be promised or released.
            total = max(total, min(cap, old.cap))
        balances[name] = Balance(total, max(min(cap, old.cap), total))
    return Ledger(balances)
