"""Money for calls: asked for before a call is sent, so that a budget is never passed."""

from __future__ import annotations

from decimal import Decimal
from typing import Protocol


class Purse(Protocol):
    """Holds what calls under way may cost. A reply that is stored settles its call."""

    async def take(self, key: str, most: Decimal) -> None:
        """Hold the money for a call; waits while calls under way may leave some over.

        Raises:
            LlmError: with `budget:spent`, where the call could pass the budget.
        """
        ...

    def give_back(self, key: str) -> None:
        """The call was not sent, or was refused: it cost nothing."""
        ...

    def write_off(self, key: str) -> None:
        """Nobody knows whether the call will be billed: its money stays held."""
        ...
