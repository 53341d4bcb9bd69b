"""The plugin host: finds plugins, vets each in isolation and knows what they offer."""

from __future__ import annotations
