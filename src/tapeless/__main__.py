"""`python -m tapeless`: the command line."""

import sys

from tapeless.cli import main

sys.exit(main())
