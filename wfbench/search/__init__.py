"""The workflow search: ask for an order, train it, score it, tell; until the budget is spent.

Nothing here prints. Everything that happens is an event, which is stored and passed to observers.
"""

from __future__ import annotations
