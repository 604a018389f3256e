"""Random programs are differentiated, and derivatives by different means compared.

`programs` makes programs of Core in which floats flow through every construct, and takes programs
of the language from `tests.conformance.fuzz`; `judge` compares. `python -m tests.ad.fuzz` runs any
number of them.
"""
