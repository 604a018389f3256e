"""Random well-typed programs of the language, run by every road that must give the same numbers.

`python -m tests.conformance.fuzz --count N --seed S`. A program is made by `maker` statement by
statement: each is run in plain Python as it is written, so that types and shapes are known without
a second definition of NumPy's rules, and what raises is left out. `stages` runs a finished program
as plain Python, on the interpreter after tracing and after every pass, and compiled; `shrink` makes
a failing one small.
"""
