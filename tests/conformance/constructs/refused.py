"""What the language refuses: each is a compile error with line, caret and remedy."""

from __future__ import annotations

from dataclasses import dataclass

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


@example(SECTION, "tp.each that carries a number", X, refused="each")
def carrying(x):
    last = 0.0
    for i in tp.each(len(x)):
        last = x[i]
    return last


@example(SECTION, "tp.each that writes one element again and again", X, refused="each")
def one_element(x):
    for i in tp.each(len(x)):
        x[0] = i
    return x


@example(SECTION, "tp.each that is a recurrence", X, refused="each")
def recurring(x):
    for i in tp.each(1, len(x)):
        x[i] = x[i - 1] + 1.0
    return x


@example(SECTION, "arguments that a builtin does not take", X, refused="'foo' is an invalid")
def surplus_of_zip(x):
    return [a + b for a, b in zip(x, x, foo=x)]


@example(SECTION, "arguments that the function of map does not take", X, refused="arguments")
def surplus_of_map(x):
    return list(map(lambda v: v, x, x))


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


@example(SECTION, "an array that is collected and then written", X, refused=".copy()")
def collected_and_written(x):
    u = x.copy()
    seen = []
    for _ in range(len(x)):
        u[0] += 1.0
        seen.append(u)
    return np.array(seen)


@example(SECTION, "a list of one array that is written", X, 3, refused=".copy()")
def listed_and_written(x, n):
    u = x.copy()
    r = [u for _ in range(n)]
    u[0] = 99.0
    return r[0][0]


@example(SECTION, "rows of a list of rows that are written", A, refused="copy")
def written_rows(a):
    rows = list(a)
    rows[0][1] = 5.0
    return a


@example(SECTION, "lists in a list of run-time length that are changed", X, 2, refused="changed")
def changed_items(x, n):
    groups = [[v] for v in x]
    groups[n][0] = 5.0
    return groups[n][0]


@dataclass
class Counter:
    count: float


@example(SECTION, "an object that may be one of two and is changed", 1.0, refused="changed")
def changed_object(a):
    p, q = Counter(1.0), Counter(2.0)
    r = p if a > 0 else q
    r.count += 1.0
    return p.count


@example(SECTION, "arguments that have no meaning here", X, refused="order")
def fortran_order(x):
    return x.flatten("F")


@example(SECTION, "buffers that are swapped on one path only", X, refused=".copy()")
def swapped_sometimes(x):
    a, b = x.copy(), x * 2
    for t in range(3):
        if x[t] > 0:
            a, b = b, a
        a[t] = t
    return a


@example(SECTION, "a tuple walked together with an array", X, 2.0, refused="np.array")
def tuple_with_array(x, y):
    total = 0.0
    for a, b in zip((1.0, y, 3.0), x):
        total += a * b
    return total
