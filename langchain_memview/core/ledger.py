"""The arithmetic of ledgers: prospective check and charge, on every path: condition C5.

A `Ledger` is a value: spent L_a and cap B_a of every attribute. `blocked_by` asks
before anything is drawn, `charge` answers with a new ledger or refuses. No method
lowers what was spent or lifts a cap, and a charge is for all attributes or for none.
Where the value is kept between turns, and how two processes agree on it, is the
business of `core.accounts` and `ledgers`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from langchain_memview.errors import LedgerOverdrawnError


@dataclass(frozen=True)
class Balance:
    """What one attribute has spent, and its cap, in nats.

    Attributes:
        spent: L_a, the sum of all charges; 0 <= spent <= cap.
        cap: B_a. It is above the policy's cap only where more was already spent when
            the policy lowered it: what is out cannot be taken back.
    """

    spent: Fraction
    cap: Fraction

    @property
    def remaining(self) -> Fraction:
        """Return cap minus spent, in nats."""
        return self.cap - self.spent


@dataclass(frozen=True)
class Ledger:
    """The balances of one account, one per protected attribute."""

    balances: Mapping[str, Balance]

    def __post_init__(self) -> None:
        """Keep a read-only copy."""
        object.__setattr__(self, "balances", MappingProxyType(dict(self.balances)))

    @classmethod
    def opened(cls, caps: Mapping[str, Fraction]) -> "Ledger":
        """Return a ledger in which nothing has been spent."""
        return cls({name: Balance(Fraction(0), cap) for name, cap in caps.items()})

    def only(self, attributes: Collection[str]) -> "Ledger":
        """Return the ledger of these attributes alone.

        Raises:
            KeyError: An attribute has no balance.
        """
        return Ledger({name: self.balances[name] for name in attributes})

    def blocked_by(
        self, charge_set: Collection[str], epsilon: Fraction
    ) -> tuple[str, ...]:
        """Return the attributes whose cap the charge would pass, sorted by name.

        Args:
            charge_set: Attributes that would be charged.
            epsilon: The charge, in nats.
        """
        return self.blocked(dict.fromkeys(charge_set, epsilon))

    def blocked(self, charges: Mapping[str, Fraction]) -> tuple[str, ...]:
        """Return the attributes whose cap their own charge would pass, sorted by name."""
        return tuple(
            sorted(
                name
                for name, epsilon in charges.items()
                if self.balances[name].spent + epsilon > self.balances[name].cap
            )
        )

    def admits(self, charge_set: Collection[str], epsilon: Fraction) -> bool:
        """Return whether every attribute of the charge set can bear the charge."""
        return not self.blocked_by(charge_set, epsilon)

    def charge(self, charge_set: Collection[str], epsilon: Fraction) -> "Ledger":
        """Return the ledger after charging ε to every attribute of the charge set.

        Args:
            charge_set: Attributes to charge.
            epsilon: The charge, in nats; >= 0.

        Raises:
            LedgerOverdrawnError: A cap would be passed; nothing is charged then.
            ValueError: ε is negative.
        """
        return self.charge_each(dict.fromkeys(charge_set, epsilon))

    def charge_each(self, charges: Mapping[str, Fraction]) -> "Ledger":
        """Return the ledger after charging every attribute its own amount.

        Args:
            charges: Attribute to its charge, in nats; >= 0.

        Raises:
            LedgerOverdrawnError: A cap would be passed; nothing is charged then.
            ValueError: A charge is negative.
        """
        if charges and min(charges.values()) < 0:
            raise ValueError(f"a charge cannot be negative, got {charges} (C5)")
        for name in self.blocked(charges):
            balance = self.balances[name]
            raise LedgerOverdrawnError(
                attribute=name,
                spent=balance.spent,
                epsilon=charges[name],
                cap=balance.cap,
            )
        charged = {
            name: Balance(self.balances[name].spent + epsilon, self.balances[name].cap)
            for name, epsilon in charges.items()
        }
        return Ledger({**self.balances, **charged})
