"""The command line: each verb is a signature that is parsed, and the API function it calls."""

from __future__ import annotations
