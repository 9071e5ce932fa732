"""`python -m freestone`: the command line."""

from __future__ import annotations

import sys

from freestone.cli import main

if __name__ == "__main__":
    sys.exit(main())
