"""Who runs the networks of a learner and differentiates its loss."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .batch import Batch
from .layouts import Floats
from .objective import Parts, Weighting


class Backend(Protocol):
    """Runs the networks of a learner, under the condition it is given."""

    def at_work(self) -> AbstractContextManager[None]:
        """Be ready for many calls until the end of the block."""

    def values(self, rows: Floats, condition: Floats) -> Floats:
        """Return the critic's values of rows of its inputs."""

    def differentiate(
        self,
        batch: Batch,
        chosen: NDArray[np.int64] | None,
        condition: Floats,
        targets: Floats,
        advantages: Floats | None,
        weighting: Weighting,
    ) -> Parts:
        """Leave the gradient of the loss of some transitions with the networks; return the loss.

        `targets` and `advantages` are of the whole batch. Without `advantages` they are the targets
        minus the present values.
        """
