"""Options of the forms that any environment with a workflow model can take.

`wfbench.orders.forms` says what they mean. They are here because listing plugins shows them and
must not import numpy.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from .specs import EnvRef, option

PAIRS = "pairs"
"""One bit per pair of units: whether the first of the two comes before the second."""
POSITIONS = "positions"
"""One bit per position and unit."""
KINDS = (PAIRS, POSITIONS)
"""How an order can be shown."""


@dataclass(frozen=True)
class FormOptions:
    """Options of every environment that has a workflow model."""

    orders: str = option("", "draw an order per episode and show it: all, or names joined by ;")
    order_code: str = option(PAIRS, "how the order is shown: pairs or positions")
    hold: str = option("", "steps that blue is held at the start: K, or LOW-HIGH")
    hold_share: float = option(1.0, "share of episodes that are held")

    def __post_init__(self) -> None:
        if self.order_code not in KINDS:
            raise ValueError(f"order_code is {self.order_code!r}; it must be {' or '.join(KINDS)}")
        if not 0 <= self.hold_share <= 1:
            raise ValueError(f"hold_share is {self.hold_share}; it must be between 0 and 1")
        held_steps(self.hold)

    @property
    def plain(self) -> bool:
        """Tell whether the environment stays as it is."""
        return not self.orders and not self.hold


def held_steps(text: str) -> tuple[int, int]:
    """Return the fewest and the most steps that blue is held; raise ValueError if unreadable."""
    low, dash, high = text.partition("-")
    parts = (low, high if dash else low) if text else ("0", "0")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"hold is {text!r}; it must be a number of steps, or LOW-HIGH")
    first, last = int(parts[0]), int(parts[1])
    if last < first:
        raise ValueError(f"hold is {text!r}; its end lies before its start")
    return first, last


def shaped_ref(ref: EnvRef, options: FormOptions) -> EnvRef:
    """Refer to an environment in the form that the options ask for."""
    return replace(ref, form={} if options.plain else asdict(options))
