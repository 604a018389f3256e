"""Memory that native code asks for: recycled buffers, and the arenas made of them.

A fresh page costs about 2 µs, so buffers go back to lists by size class and are used again, up to
a limit. Four classes per doubling; data is 64-byte aligned; big buffers get different cache sets.
"""

from __future__ import annotations

from tapeless.runtime.layout import (
    ARENA_BYTES,
    CACHE_LIMIT,
    CACHED,
    CHUNK_END,
    CHUNK_HEADER,
    CHUNK_NEXT,
    CHUNKS,
    CLASS,
    COLOUR,
    COUNT,
    END,
    FREE_LISTS,
    HEADER,
    HUGE_PAGES,
    LENT,
    LINK,
    LOCK,
    RAW,
    RESULTS,
    STATE,
    TOP,
)
from tapeless.runtime.words import (
    Extern,
    Word,
    add_atomically,
    exchange,
    leading_zeros,
    load,
    local,
    publish,
    store,
)

posix_memalign = Extern("posix_memalign", "iwww")
free = Extern("free", "vw")
madvise = Extern("madvise", "iwwi")
sched_yield = Extern("sched_yield", "i")

HUGE = 1 << 21  # bytes of a huge page
SMALLEST_CHUNK = 1 << 16
LARGEST = 1 << 46


def lock(state: Word) -> None:
    tries = 0
    while exchange(state, LOCK, 1) != 0:
        tries += 1
        if tries > 64:
            sched_yield()


def unlock(state: Word) -> None:
    publish(state, LOCK, 0)


def class_of(size: Word) -> Word:
    """The smallest class that holds `size` bytes: 4 * (power - 6) + quarter, sizes from 64 up."""
    if size <= 64:
        return 0
    power = 63 - leading_zeros(size - 1)
    quarter = ((size - 1) >> (power - 2)) & 3
    return 4 * (power - 6) + quarter + 1


def class_size(index: Word) -> Word:
    return (4 + (index & 3)) << ((index >> 2) + 4)


def fresh_buffer(state: Word, index: Word) -> Word:
    """A buffer of class `index` from the system, or 0."""
    size = class_size(index)
    skew = 0
    alignment = 64
    if size >= 8192:
        skew = (add_atomically(state, COLOUR, 1) & 15) * 320
    total = size + HEADER + skew
    if size >= 2 * HUGE and load(state, HUGE_PAGES) != 0:
        alignment = HUGE
    place = local(1)
    if posix_memalign(place, alignment, total) != 0:
        return 0
    raw = load(place, 0)
    if alignment == HUGE:
        madvise(raw, total & ~(HUGE - 1), load(state, HUGE_PAGES))
    header = raw + skew
    store(header, CLASS, index)
    store(header, RAW, raw)
    return header + HEADER


def take_buffer(state: Word, size: Word) -> Word:
    """Memory for `size` bytes with no owner yet, or 0."""
    if size < 0 or size > LARGEST:
        return 0
    index = class_of(size)
    lock(state)
    data = load(state, FREE_LISTS + index)
    if data != 0:
        store(state, FREE_LISTS + index, load(data - HEADER, LINK))
        store(state, CACHED, load(state, CACHED) - class_size(index))
    store(state, LENT, load(state, LENT) + class_size(index))
    unlock(state)
    if data == 0:
        data = fresh_buffer(state, index)
        if data == 0:
            add_atomically(state, LENT, 0 - class_size(index))
            return 0
    store(data - HEADER, LINK, 0)
    store(data - HEADER, COUNT, 0)
    return data


def give_buffer(state: Word, data: Word) -> None:
    """Back to its list, or to the system when enough is kept."""
    header = data - HEADER
    index = load(header, CLASS)
    size = class_size(index)
    lock(state)
    store(state, LENT, load(state, LENT) - size)
    kept = load(state, CACHED) + size
    keep = kept <= load(state, CACHE_LIMIT)
    if keep != 0:
        store(state, CACHED, kept)
        store(header, LINK, load(state, FREE_LISTS + index))
        store(state, FREE_LISTS + index, data)
    unlock(state)
    if keep == 0:
        free(load(header, RAW))


def drop_buffer(state: Word, data: Word) -> None:
    """Back to the system at once."""
    header = data - HEADER
    add_atomically(state, LENT, 0 - class_size(load(header, CLASS)))
    free(load(header, RAW))


def trim(state: Word, classes: Word) -> None:
    """All free buffers back to the system."""
    for index in range(classes):
        lock(state)
        data = load(state, FREE_LISTS + index)
        store(state, FREE_LISTS + index, 0)
        unlock(state)
        while data != 0:
            header = data - HEADER
            data = load(header, LINK)
            add_atomically(state, CACHED, 0 - class_size(index))
            free(load(header, RAW))


def alloc_result(ctx: Word, size: Word) -> Word:
    """Memory for a result: listed in the context until the call has ended."""
    data = take_buffer(load(ctx, STATE), size)
    if data != 0:
        store(data - HEADER, LINK, load(ctx, RESULTS))
        store(ctx, RESULTS, data)
    return data


def drop_results(ctx: Word) -> None:
    """End of a call: result buffers that nobody owns go back."""
    data = load(ctx, RESULTS)
    store(ctx, RESULTS, 0)
    while data != 0:
        following = load(data - HEADER, LINK)
        if load(data - HEADER, COUNT) == 0:
            give_buffer(load(ctx, STATE), data)
        data = following


def enter_chunk(ctx: Word, chunk: Word, size: Word) -> Word:
    start = chunk + CHUNK_HEADER
    store(ctx, TOP, start + size)
    store(ctx, END, load(chunk, CHUNK_END))
    return start


def new_chunk(ctx: Word, size: Word) -> Word:
    """A chunk for `size` bytes and at least as big as all so far; 0 if there is no memory."""
    wanted = size + CHUNK_HEADER
    total = load(ctx, ARENA_BYTES)
    wanted = max(wanted, total)
    wanted = max(wanted, SMALLEST_CHUNK)
    chunk = take_buffer(load(ctx, STATE), wanted)
    if chunk == 0:
        return 0
    capacity = class_size(load(chunk - HEADER, CLASS))
    store(chunk, CHUNK_NEXT, 0)
    store(chunk, CHUNK_END, chunk + capacity)
    store(ctx, ARENA_BYTES, total + capacity)
    return chunk


def grow(ctx: Word, size: Word) -> Word:
    """Memory in the next chunk that is big enough. Chunks behind the current one are free: arenas
    are stacks."""
    if size < 0 or size > LARGEST:
        return 0
    size = (size + 63) & ~63
    end = load(ctx, END)
    chunk = load(ctx, CHUNKS)
    last = 0
    if end != 0:
        while chunk != 0 and last == 0:
            if load(chunk, CHUNK_END) == end:
                last = chunk
            chunk = load(chunk, CHUNK_NEXT)
    while chunk != 0:
        if load(chunk, CHUNK_END) - chunk - CHUNK_HEADER >= size:
            return enter_chunk(ctx, chunk, size)
        last = chunk
        chunk = load(chunk, CHUNK_NEXT)
    chunk = new_chunk(ctx, size)
    if chunk == 0:
        return 0
    if last == 0:
        store(ctx, CHUNKS, chunk)
    else:
        store(last, CHUNK_NEXT, chunk)
    return enter_chunk(ctx, chunk, size)


def reset_arena(ctx: Word) -> None:
    """Everything is free again. Several chunks become one, big enough, when it is needed next:
    kept beside it, they would double what a program takes."""
    chunk = load(ctx, CHUNKS)
    if chunk == 0:
        return
    if load(chunk, CHUNK_NEXT) == 0:
        store(ctx, TOP, chunk + CHUNK_HEADER)
        store(ctx, END, load(chunk, CHUNK_END))
        return
    while chunk != 0:
        following = load(chunk, CHUNK_NEXT)
        drop_buffer(load(ctx, STATE), chunk)
        chunk = following
    forget_chunks(ctx)


def free_arena(ctx: Word) -> None:
    chunk = load(ctx, CHUNKS)
    while chunk != 0:
        following = load(chunk, CHUNK_NEXT)
        give_buffer(load(ctx, STATE), chunk)
        chunk = following
    forget_chunks(ctx)


def forget_chunks(ctx: Word) -> None:
    store(ctx, CHUNKS, 0)
    store(ctx, TOP, 0)
    store(ctx, END, 0)
