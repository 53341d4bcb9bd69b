"""The conformance kit: checks that a plugin keeps the contract's promises. For plugin tests."""

from __future__ import annotations

from .promise import Progress, Promise

__all__ = ["Progress", "Promise"]
