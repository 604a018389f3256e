"""Parallel regions on an OpenMP runtime that speaks the GOMP interface.

The first region of a call is one of OpenMP's own. A call that enters a second one, mostly a loop
over time whose passes are parallel, keeps a team from then on: its threads wait at a gate for what
comes next, which costs less than half of an OpenMP region. Who waits for long goes home, back to
OpenMP's own way of sleeping; the next region gathers a new team. Nobody waits for a thread that has
not begun: it finds the gate closed.

On a busy machine a region may wait far longer for a thread than it works. After two such regions
in a row the next ones run alone, more of them each time.
"""

from __future__ import annotations

from tapeless.runtime.layout import (
    ALONE,
    AWAY,
    BEGAN,
    ENDED,
    FOREIGN,
    FUNCTION,
    GATE,
    HELD,
    REGION,
    REGIONS,
    STALLS,
    STATE,
    TASK,
    THREADS,
)
from tapeless.runtime.native.clock import now
from tapeless.runtime.words import (
    I32,
    Static,
    Word,
    add_atomically,
    address_of,
    indirect,
    load,
    publish,
    relax,
    replace,
    see,
    store,
)

GOMP = Static("gomp", 3)  # addresses of GOMP_parallel, GOMP_parallel_start, GOMP_parallel_end

# The gate: bit 0 says whether it is open, then comes twice the number of threads inside, then the
# number of the region. Negative: go home.
INSIDE = 0xFFFE
ROUND = 1 << 16
PATIENCE = 2_000  # looks at the gate, about 30 µs, before a thread goes home
STALL = 1_000_000  # ns that are too long to wait for others, if the work itself took less
MOST_ALONE = 12  # as a power of two


def region(ctx: Word, function: Word, data: Word, threads: I32) -> None:
    """Run `function(data)` here and on those threads of a team that come in time."""
    state = load(ctx, STATE)
    alone = load(state, ALONE)
    if alone > 0:
        store(state, ALONE, alone - 1)
        indirect("vw", function, data)
        return
    called = now()
    store(ctx, FUNCTION, function)
    store(ctx, TASK, data)
    store(ctx, BEGAN, 0)
    store(ctx, ENDED, 0)
    if is_held(ctx):
        publish(ctx, GATE, load(ctx, GATE) + ROUND + 1)
        work(ctx)
        add_atomically(ctx, GATE, -1)
        while see(ctx, GATE) & INSIDE:
            relax()
    else:
        indirect("vwwii", load(address_of(GOMP), 0), address_of(work), ctx, threads, 0)
    judge(state, called, load(ctx, BEGAN), load(ctx, ENDED))


def work(ctx: Word) -> None:
    """One thread's part of a region; the first to begin and the first to end note when."""
    if see(ctx, BEGAN) == 0:
        replace(ctx, BEGAN, 0, now())
    indirect("vw", load(ctx, FUNCTION), load(ctx, TASK))
    if see(ctx, ENDED) == 0:
        replace(ctx, ENDED, 0, now())


def judge(state: Word, called: Word, began: Word, ended: Word) -> None:
    """Whether threads are worth it, as the machine is now."""
    waited = began - called + now() - ended
    stalls = load(state, STALLS)
    if waited > STALL and waited > ended - began:
        store(state, ALONE, 1 << stalls if stalls > 0 else 0)
        store(state, STALLS, min(stalls + 1, MOST_ALONE))
    elif stalls > 0:
        store(state, STALLS, stalls - 1)


def is_held(ctx: Word) -> Word:
    """Whether a team waits at the gate, gathered now if the call needs one."""
    if load(ctx, HELD) != 0:
        if see(ctx, AWAY) == 0:
            return 1
        disband(ctx)
    count = load(ctx, REGIONS)
    store(ctx, REGIONS, count + 1)
    start = load(address_of(GOMP), 1)
    if count == 0 or start == 0 or load(ctx, FOREIGN) != 0:
        return 0  # BLAS has threads of its own, and warns when it is called inside a region
    store(ctx, GATE, 0)
    store(ctx, AWAY, 0)
    store(ctx, HELD, 1)
    indirect("vwwi", start, address_of(member), ctx, load(ctx, THREADS))
    return 1


def disband(ctx: Word) -> None:
    """Send the team home, if there is one; in a forked child there is none any more."""
    if load(ctx, HELD) != 0:
        store(ctx, HELD, 0)
        publish(ctx, GATE, -1)
        if load(load(ctx, STATE), REGION) != 0:
            indirect("v", load(address_of(GOMP), 2))


def member(ctx: Word) -> None:
    """What a thread of a team does: each region once, if it comes in time."""
    last = 0
    looks = 0
    while looks < PATIENCE:
        gate = see(ctx, GATE)
        if gate < 0:
            return
        if gate & 1 and gate >> 16 != last and replace(ctx, GATE, gate, gate + 2):
            last = gate >> 16
            work(ctx)
            add_atomically(ctx, GATE, -2)
            looks = 0
        else:
            relax()
            looks += 1
    add_atomically(ctx, AWAY, 1)
