"""`python -m wfbench`, the same as the `wfbench` command."""

from __future__ import annotations

import sys

from wfbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
