"""Two revisions of a project, measured in turns on this machine."""

from __future__ import annotations
