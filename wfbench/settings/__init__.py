"""What a user asked for: configuration and the plugins it selects."""

from __future__ import annotations
