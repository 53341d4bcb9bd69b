"""Testing documented claims: a laboratory that measures, and a report of what was found.

What is claimed, and when it counts as reproduced, is said by plugins; how things are measured is
said here, once for all of them.
"""

from __future__ import annotations
