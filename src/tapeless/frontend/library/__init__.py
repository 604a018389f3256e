"""The library: NumPy, math, cmath and SciPy functions as ordinary code of the language.

Contract with the compiler of calls (`frontend/calls.py`). `LIBRARY` maps a key to a function of the
language, which is inlined at the caller's location. Keys:

* a function object: `np.sum`, `math.floor`, `np.linalg.solve`, `special.logsumexp`, `np.fft.fft`
* `("method", name)`: the method of arrays, called with the array first: `x.sum(axis=0)`
* `("attribute", name)`: an attribute of arrays that is computed, called with the array
* `("ufunc", name)` for `reduce`, `accumulate`, `outer`, `at`, `reduceat`, and `call` (with
  keywords): called with the ufunc first
* `("complex", name)`: the NumPy ufunc `name` (`exp`, `sqrt`, `power`) on complex scalars

A function has NumPy's parameter names, order and defaults, as far as the language goes: an argument
that it does not take is an error that the compiler words (`np.sum has no argument 'where' here`).
Positional-only and keyword-only markers are honoured. `dtype` arguments arrive as static dtypes or
types. Functions may call each other, intrinsics, builtins and NumPy functions in the table.

The compiler itself knows, so that no entry is needed:

* ufuncs called plainly on numbers and arrays, all that `frontend/ufuncs.py` has in REAL or COMPLEX
  (arithmetic, comparison, bitwise, exp…arctanh, floor, rint, erf, gammaln, psi …): promotion is
  NumPy's; and their namesakes in `math` and `cmath` (results are Python's: weak)
* builtins: abs all any bool callable complex dict divmod enumerate filter float getattr hasattr int
  isinstance len list map max min pow range reversed round sorted sum tuple type zip, `math.prod`,
  over generators, lists and ranges; the methods of lists, dicts and strings of compile time
* `np.array`, `np.asarray`, `np.shape`, `np.ndim`, `np.size`, types as converters (`np.float64(x)`)
* attributes of arrays: T shape size ndim dtype real imag; methods: copy, reshape, transpose,
  astype, item, fill, flatten, ravel, view of a dtype is an error
* indexing of every kind, `a @ b` calls LIBRARY[np.matmul]
"""

from __future__ import annotations

from tapeless.frontend.library import (
    calculus,
    complex_functions,
    creation,
    elementwise,
    factorisations,
    fourier,
    functional,
    gamma_functions,
    joining,
    linear_algebra,
    linear_systems,
    matrix_functions,
    ordering,
    plain_math,
    products,
    reductions,
    selection,
    shapes,
    special,
    ufunc_forms,
)
from tapeless.frontend.library.registry import LIBRARY

__all__ = [
    "LIBRARY",
    "calculus",
    "complex_functions",
    "creation",
    "elementwise",
    "factorisations",
    "fourier",
    "functional",
    "gamma_functions",
    "joining",
    "linear_algebra",
    "linear_systems",
    "matrix_functions",
    "ordering",
    "plain_math",
    "products",
    "reductions",
    "selection",
    "shapes",
    "special",
    "ufunc_forms",
]
