"""Contexts: taken when a kernel starts, given back when it has ended; signals on the way."""

from __future__ import annotations

from tapeless.runtime.layout import (
    ALLOC_RESULT,
    ARENA_COUNT,
    ARENAS,
    CONTEXT_WORDS,
    COUNT,
    COUNTDOWN,
    ERROR,
    FOREIGN,
    GROW,
    HEADER,
    IDLE,
    INTERRUPTED,
    LOOKED,
    MAIN,
    MAX_THREADS,
    NEXT,
    PARALLEL,
    PERIOD,
    POLL,
    REGION,
    REGION_THREAD,
    REGIONS,
    RESULTS,
    SITE,
    STATE,
    THREAD_NUM,
    THREADS,
)
from tapeless.runtime.native.clock import now
from tapeless.runtime.native.memory import (
    alloc_result,
    drop_results,
    free_arena,
    give_buffer,
    grow,
    lock,
    reset_arena,
    unlock,
)
from tapeless.runtime.native.team import disband
from tapeless.runtime.words import I32, Extern, Word, add_atomically, address_of, load, store

calloc = Extern("calloc", "www")
free = Extern("free", "vw")
PyGILState_Ensure = Extern("PyGILState_Ensure", "i")
PyGILState_Release = Extern("PyGILState_Release", "vi")
PyErr_CheckSignals = Extern("PyErr_CheckSignals", "i")
PyErr_Fetch = Extern("PyErr_Fetch", "vwww")
PyCapsule_GetPointer = Extern("PyCapsule_GetPointer", "www")
PyCapsule_GetContext = Extern("PyCapsule_GetContext", "ww")

LOOK_EVERY = 20_000_000  # ns
FIRST_PERIOD = 4
LONGEST_PERIOD = 1 << 24


def new_context(state: Word, main: Word) -> Word:
    """A context with nothing in it; `main` is 0 for the one of the calling thread."""
    ctx = calloc(CONTEXT_WORDS, 8)
    if ctx != 0:
        store(ctx, STATE, state)
        store(ctx, MAIN, ctx if main == 0 else main)
        store(ctx, GROW, address_of(grow))
        store(ctx, ALLOC_RESULT, address_of(alloc_result))
        store(ctx, POLL, address_of(poll))
        store(ctx, PERIOD, FIRST_PERIOD)
        store(ctx, COUNTDOWN, FIRST_PERIOD)
        store(ctx, THREADS, 1)
    return ctx


def widen_arenas(state: Word, ctx: Word, threads: Word) -> Word:
    """Contexts for that many threads; 0 if there is no memory."""
    table = calloc(threads, 8)
    if table == 0:
        return 0
    known = load(ctx, ARENA_COUNT)
    old = load(ctx, ARENAS)
    store(table, 0, ctx)
    for index in range(1, threads):
        if index < known:
            store(table, index, load(old, index))
        else:
            worker = new_context(state, ctx)
            if worker == 0:
                return 0
            store(table, index, worker)
    store(ctx, ARENAS, table)
    store(ctx, ARENA_COUNT, threads)
    free(old)
    return 1


def acquire(state: Word, foreign: Word) -> Word:
    """A context for one call, or 0."""
    lock(state)
    ctx = load(state, IDLE)
    if ctx != 0:
        store(state, IDLE, load(ctx, NEXT))
    unlock(state)
    if ctx == 0:
        ctx = new_context(state, 0)
        if ctx == 0:
            return 0
    threads = load(state, MAX_THREADS)
    if load(ctx, ARENA_COUNT) < threads and widen_arenas(state, ctx, threads) == 0:
        threads = 1
    region = load(state, REGION)
    store(ctx, THREADS, threads if region != 0 else 1)
    store(ctx, PARALLEL, region)
    store(ctx, THREAD_NUM, load(state, REGION_THREAD))
    store(ctx, FOREIGN, foreign)
    store(ctx, SITE, 0)
    store(ctx, LOOKED, 0)
    store(ctx, PERIOD, FIRST_PERIOD)
    store(ctx, COUNTDOWN, FIRST_PERIOD)
    store(ctx, INTERRUPTED, 0)
    store(ctx, REGIONS, 0)
    return ctx


def finish(ctx: Word) -> None:
    """The call has ended: its memory is free again and the context idle."""
    disband(ctx)
    if load(ctx, RESULTS) != 0:
        drop_results(ctx)
    reset_arena(ctx)
    table = load(ctx, ARENAS)
    for index in range(1, load(ctx, ARENA_COUNT)):
        worker = load(table, index)
        reset_arena(worker)
        store(worker, SITE, 0)
        store(worker, COUNTDOWN, FIRST_PERIOD)
        store(worker, PERIOD, FIRST_PERIOD)
    state = load(ctx, STATE)
    lock(state)
    store(ctx, NEXT, load(state, IDLE))
    store(state, IDLE, ctx)
    unlock(state)


def free_contexts(state: Word) -> None:
    """The arenas of idle contexts go back to the lists of buffers."""
    lock(state)
    ctx = load(state, IDLE)
    store(state, IDLE, 0)
    unlock(state)
    while ctx != 0:
        following = load(ctx, NEXT)
        table = load(ctx, ARENAS)
        for index in range(1, load(ctx, ARENA_COUNT)):
            free_arena(load(table, index))
            free(load(table, index))
        free_arena(ctx)
        free(table)
        free(ctx)
        ctx = following


def poll(ctx: Word) -> I32:
    """Whether to leave the kernel. Looks for signals every 20 ms: until then, ever rarer polls."""
    main = load(ctx, MAIN)
    if main != ctx:
        store(ctx, COUNTDOWN, load(ctx, PERIOD))
        return load(main, INTERRUPTED)
    time = now()
    looked = load(ctx, LOOKED)
    period = load(ctx, PERIOD)
    if looked == 0:
        looked = time
        store(ctx, LOOKED, time)
    if time - looked < LOOK_EVERY:
        if period < LONGEST_PERIOD:
            period = 2 * period
    elif time - looked > 4 * LOOK_EVERY and period > 1:
        period = period >> 1
    store(ctx, PERIOD, period)
    store(ctx, COUNTDOWN, period)
    if time - looked >= LOOK_EVERY:
        look(ctx)
        store(ctx, LOOKED, now())
    return load(ctx, INTERRUPTED)


def look(ctx: Word) -> None:
    """Run the handlers of signals that have come, and keep what they raise."""
    lock_state = PyGILState_Ensure()
    if PyErr_CheckSignals() != 0:
        error = ctx + 8 * ERROR
        PyErr_Fetch(error, error + 8, error + 16)
        store(ctx, INTERRUPTED, 1)
    PyGILState_Release(lock_state)


def own(data: Word) -> None:
    """One more owner of a result buffer."""
    add_atomically(data - HEADER, COUNT, 1)


def disown(state: Word, data: Word) -> None:
    if add_atomically(data - HEADER, COUNT, -1) == 1:
        give_buffer(state, data)


def disown_capsule(capsule: Word) -> None:
    """Destructor of the object that an array's memory belongs to."""
    disown(PyCapsule_GetContext(capsule), PyCapsule_GetPointer(capsule, 0))
