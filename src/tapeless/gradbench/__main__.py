"""`python -m tapeless.gradbench`: questions on standard input, answers on standard output."""

import sys

from tapeless.gradbench.serve import serve

serve(sys.stdin, sys.stdout)
