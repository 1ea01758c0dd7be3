"""``python -m salvor`` is ``salvor``."""

import sys

from salvor.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
