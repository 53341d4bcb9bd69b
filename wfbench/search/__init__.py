"""The workflow search: ask for an order, train it, score it, tell; until the budget is spent.

Nothing here prints. What happens is told as events to observers, of which the run directory is one.
"""

from __future__ import annotations
