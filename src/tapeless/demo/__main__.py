"""`python -m tapeless.demo`"""

import sys

from tapeless.demo import main

sys.exit(main())
