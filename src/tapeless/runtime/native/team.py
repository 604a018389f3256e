"""Parallel regions on an OpenMP runtime that speaks the GOMP interface.

The first region of a call is one of OpenMP's own. A call that enters a second one, mostly a loop
over time whose passes are parallel, keeps a team from then on: its threads wait at a gate for what
comes next, which costs a tenth of an OpenMP region. Who waits for long goes home, back to OpenMP's
own way of sleeping; the next region gathers a new team. Nobody waits for a thread that has not
begun: it finds the gate closed.
"""

from __future__ import annotations

from tapeless.runtime.layout import (
    AWAY,
    FUNCTION,
    GATE,
    HELD,
    REGION,
    REGIONS,
    STATE,
    TASK,
    THREADS,
)
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


def region(ctx: Word, function: Word, data: Word, threads: I32) -> None:
    """Run `function(data)` here and on those threads of a team that come in time."""
    if load(ctx, HELD) != 0 and see(ctx, AWAY) != 0:
        disband(ctx)
    if load(ctx, HELD) == 0:
        count = load(ctx, REGIONS)
        store(ctx, REGIONS, count + 1)
        if count == 0 or load(address_of(GOMP), 1) == 0:
            indirect("vwwii", load(address_of(GOMP), 0), function, data, threads, 0)
            return
        gather(ctx)
    store(ctx, FUNCTION, function)
    store(ctx, TASK, data)
    publish(ctx, GATE, load(ctx, GATE) + ROUND + 1)
    indirect("vw", function, data)
    add_atomically(ctx, GATE, -1)
    while see(ctx, GATE) & INSIDE:
        relax()


def gather(ctx: Word) -> None:
    """A team whose threads wait at the gate."""
    store(ctx, GATE, 0)
    store(ctx, AWAY, 0)
    store(ctx, HELD, 1)
    start = load(address_of(GOMP), 1)
    indirect("vwwi", start, address_of(member), ctx, load(ctx, THREADS))


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
            indirect("vw", load(ctx, FUNCTION), load(ctx, TASK))
            add_atomically(ctx, GATE, -2)
            looks = 0
        else:
            relax()
            looks += 1
    add_atomically(ctx, AWAY, 1)
