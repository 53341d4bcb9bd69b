"""What a Python user calls and every verb of the command line stands on.

`wfbench` offers these names; import them from there. Nothing here prints: results are objects.
"""

from __future__ import annotations
