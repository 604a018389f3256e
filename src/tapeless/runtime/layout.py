"""Where things are in memory that native code shares: contexts, process state, buffers, tables.

Numbers are 8-byte slots unless they say otherwise.
"""

from __future__ import annotations

# The context of a running kernel: 0 to 20 as docs/architecture.md has it, the rest private.
TOP = 0
END = 1
CHUNKS = 2
SITE = 3
ARGS = 4
ARG_COUNT = 8
COUNTDOWN = 12
THREADS = 13
GROW = 14
ALLOC_RESULT = 15
POLL = 16
PARALLEL = 17
THREAD_NUM = 18
ARENAS = 19
FOREIGN = 20
MAIN = 21  # the context of the call's own thread
STATE = 22
NEXT = 23  # in the list of idle contexts
RESULTS = 24  # list of the result buffers of this call
LOOKED = 25  # when signals were last looked at, in ns
PERIOD = 26  # polls from one look to the next
INTERRUPTED = 27
ERROR = 28  # type, value and traceback that a signal handler raised
ARENA_BYTES = 31  # all chunks together
ARENA_COUNT = 32  # contexts in `arenas`
HELD = 33  # whether a team waits for regions of this call
REGIONS = 34  # regions that this call has entered
GATE = 48  # on a line of its own with what its threads read
FUNCTION = 49
TASK = 50
AWAY = 51  # threads that have gone home
BEGAN = 52  # when the first thread of a region did, in ns
ENDED = 53  # when the first one had no more to do
CONTEXT_WORDS = 64

INTERRUPT_SITE = -1
MEMORY_SITE = -2

# The state of the process.
LOCK = 0
IDLE = 1  # idle contexts
CACHED = 2  # bytes in free buffers
CACHE_LIMIT = 3
MAX_THREADS = 4
REGION = 5  # what goes to ctx.parallel, or 0
REGION_THREAD = 6  # what goes to ctx.thread_num, or 0
HUGE_PAGES = 7  # the advice for big memory, or 0
COLOUR = 8
LENT = 9  # bytes in buffers in use
ALONE = 10  # regions to run on one thread, since others were waited for
STALLS = 11  # how much they were of late
ARRAY_TYPE = 16
NEW_ARRAY = 17
SET_BASE = 18
NEW_SCALAR = 19
READ_SCALAR = 20
FLOAT_TYPE = 24
INT_TYPE = 25
BOOL_TYPE = 26
COMPLEX_TYPE = 27
TRUE = 28
FREE_LISTS = 64
CLASSES = 192
STATE_WORDS = FREE_LISTS + CLASSES

# A buffer: a header of 64 bytes, then the data.
HEADER = 64  # bytes
CLASS = 0
LINK = 1
COUNT = 2  # owners
RAW = 3  # what malloc gave

# A chunk of an arena is a buffer whose data start with these.
CHUNK_NEXT = 0
CHUNK_END = 1
CHUNK_HEADER = 64  # bytes

# Python objects, in bytes: `object` ends where the fields of a subtype start, its type before that.
HEAD = object.__basicsize__
TYPE = HEAD - 8
CELL = HEAD  # the contents of a closure's cell
# NumPy's array object, in bytes: public since NumPy 2.
DATA = HEAD
RANK = HEAD + 8
DIMENSIONS = HEAD + 16
STRIDES = HEAD + 24
DESCR = HEAD + 40
FLAGS = HEAD + 48
C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400
CARRAY = C_CONTIGUOUS | ALIGNED | WRITEABLE
# NumPy's descriptor: kind, type, byte order and type number fill 8 bytes here.
DESCR_IDENTITY = HEAD + 8

# Tables of the fast entry.
TABLE_NEXT = 0
TABLE_KERNEL = 1
TABLE_NARGS = 2
TABLE_ARGS = 3
TABLE_GUARDS = 4
TABLE_NGUARDS = 5
TABLE_FEEDS = 6
TABLE_NFEEDS = 7
TABLE_FOREIGN = 8
TABLE_RAISE = 9
TABLE_OUTS = 10
TABLE_NOUTS = 11
TABLE_TUPLE = 12
TABLE_HOLD = 13  # fewer array elements than this: the interpreter lock is kept
TABLE_CAPTURES = 14
TABLE_NCAPTURES = 15
TABLE_WORDS = 16

RECORD_TABLES = 0
RECORD_STATE = 1
RECORD_WORDS = 2

MAX_ARGS = 64  # captures included
MAX_SLOTS = 256
MAX_RESULTS = 128

# A capture, an argument that the caller does not give: kind, container or object, key.
CAPTURE_WORDS = 3
GLOBAL_CAPTURE, CELL_CAPTURE, OBJECT_CAPTURE = range(3)

# An argument: kind, what (descriptor, type or object), identity of the descriptor, rank, flags.
ARG_WORDS = 8
ARG_KIND, ARG_WHAT, ARG_IDENTITY, ARG_RANK, ARG_FLAGS, ARG_SHIFT = range(6)
ARRAY_ARG, FLOAT_ARG, INT_ARG, BOOL_ARG, COMPLEX_ARG, SCALAR_ARG, SAME_ARG = range(7)

# A guard: kind, then an argument and an axis, then a number or a second argument and axis.
GUARD_WORDS = 5
SIZE_IS, SIZE_IS_NOT, SIZES_AGREE, DISJOINT = range(4)

# A feed of one kernel slot: kind, argument, axis, number.
FEED_WORDS = 4
FEED_DATA, FEED_SIZE, FEED_STRIDE, FEED_VALUE, FEED_CONST = range(5)

# A returned object: kind, kernel result slot or argument, descriptor or object, rank.
OUT_WORDS = 4
ARRAY_OUT, FLOAT_OUT, INT_OUT, BOOL_OUT, COMPLEX_OUT, SCALAR_OUT, COMPLEX64_OUT = range(7)
ARGUMENT_OUT, CONSTANT_OUT = 7, 8
