"""The command line: one file per verb, each of which parses, calls the core and renders."""

from __future__ import annotations
