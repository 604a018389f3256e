"""The public GradBench suite's questions, answered: `python -m tapeless.gradbench`."""
