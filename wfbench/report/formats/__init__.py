"""From a report to a format. A format writes and draws tables; it computes no figure."""

from __future__ import annotations
