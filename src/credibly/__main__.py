"""Runs the command line as ``python -m credibly``."""

import sys

# tach-ignore(the command line stands above the public surface; this file is only its door)
from credibly.cli import main

if __name__ == "__main__":
    sys.exit(main())
