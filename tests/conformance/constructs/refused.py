"""What the language refuses: each is a compile error with line, caret and remedy."""

from __future__ import annotations

import numpy as np

from tests.conformance.constructs.registry import A, X, Y, example

SECTION = "Refused"


@example(SECTION, "print", 1.0, refused="print")
def printing(a):
    print(a)
    return a


@example(SECTION, "try", 1.0, refused="try")
def trying(a):
    try:
        return a / 2
    except ValueError:
        return a


@example(SECTION, "with of anything else", 1.0, refused="with")
def with_file(a):
    with open("x"):
        return a


@example(SECTION, "yield", 1.0, refused="yield")
def yielding(a):
    yield a


@example(SECTION, "del", X, refused="del")
def deleting(x):
    y = x * 2
    del y
    return x


@example(SECTION, "match", 1, refused="match")
def matching(k):
    match k:
        case 1:
            return 2
    return 3


@example(SECTION, "import of one's own modules inside a function", 1.0, refused="import")
def importing(a):
    from tests.conformance.constructs import registry

    return a * registry.X[0]


@example(SECTION, "global variables that are written", 1.0, refused="COUNT")
def writing_globals(a):
    global COUNT
    COUNT = a
    return a


COUNT = 0.0


class Box:
    def __init__(self, value):
        self.value = value


@example(SECTION, "rebinding a field of an argument", Box(1.0), refused="replace")
def rebinding_fields(box):
    box.value = 2.0
    return box.value


@example(SECTION, "a name that is not defined on every path", calls=[(X,)], refused="y")
def undefined_name(x):
    if x[0] > 100:
        y = 1.0
    return y


@example(SECTION, "a name that is not defined at all", 1.0, refused="nowhere")
def unknown_name(a):
    return a + nowhere  # noqa: F821


@example(SECTION, "a variable whose type changes", X, refused="s")
def changing_type(x):
    s = 0.0
    for i in range(len(x)):
        s = x
    return s


@example(SECTION, "a variable whose rank changes", A, calls=[(A, True)], refused="y")
def changing_rank(a, p):
    y = a
    if p:
        y = a[0]
    return y


@example(SECTION, "recursion that nothing static ends", 5, refused="recursi")
def endless(k):
    return 1 if k == 0 else k * endless(k - 1)


@example(SECTION, "+ and * of lists", X, refused="np.array")
def list_arithmetic(x):
    return [v for v in x] + [v for v in x]


@example(SECTION, "an if in a bracket that makes an array", X, refused="if")
def filtered_array(x):
    return np.array([v for v in x if v > 0])


@example(SECTION, "unknown functions", X, refused="np.packbits")
def unknown_function(x):
    return np.packbits(x > 0)


@example(SECTION, "unknown keywords", X, refused="order")
def unknown_keyword(x):
    return np.sort(x, order="a")


@example(SECTION, "np.random", 3, refused="tp.random")
def numpy_random(n):
    return np.random.rand(n)


@example(SECTION, "calls of functions without source", X, refused="os.getpid")
def foreign_calls(x):
    import_free = os.getpid()
    return x + import_free


import os  # noqa: E402


@example(
    SECTION, "a view that cannot be resolved, written", X, Y, calls=[(X, Y, True)], refused="copy"
)
def unresolved_view(x, y, p):
    z = x if p else y
    z[0] = 1.0
    return z


@example(SECTION, "tp.each with a race", X, refused="each")
def racing(x):
    y = x * 1.0
    for i in tp.each(len(x) - 1):
        y[i] = y[i + 1]
    return y


import tapeless as tp  # noqa: E402


@example(SECTION, "ragged comprehension", 3, refused="ragged")
def ragged(n):
    return np.array([[j for j in range(i)] for i in range(n)])


@example(SECTION, "async, await and classes", 1.0, refused="class")
def classes(a):
    class Inner:
        pass

    return a


@example(SECTION, "strings made at run time", 1.0, refused="str")
def strings(a):
    return str(a)


@example(SECTION, "step zero", X, refused="0")
def step_zero(x):
    return x[::0]
