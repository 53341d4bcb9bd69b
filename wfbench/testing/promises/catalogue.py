"""The promises a collector makes."""

from __future__ import annotations

from wfbench.testing.verdict import Catalogue

COLLECTOR = Catalogue()
