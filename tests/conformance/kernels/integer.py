"""Whole numbers: sorting, searching, bits, cellular automata."""

import math

import numpy as np
import scipy.ndimage

from .registry import Kernel


def crc16(data, poly):
    """CRC-16 (X.25): reflected, inverted at both ends, bytes swapped at the end."""
    crc = 0xFFFF
    for b in data:
        cur_byte = 0xFF & b
        for _ in range(8):
            if (crc & 0x0001) ^ (cur_byte & 0x0001):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            cur_byte >>= 1
    crc = ~crc & 0xFFFF
    crc = (crc << 8) | ((crc >> 8) & 0xFF)
    return crc & 0xFFFF


def crc16_data(rng, size):
    return rng.integers(0, 256, size), 0x8408


def crc16_oracle(data, poly):
    """The remainder of the message polynomial, by long division of Python integers."""

    def reversed_bits(value, width):
        return int(format(value, f"0{width}b")[::-1], 2)

    message = 0
    for b in data:
        message = message << 8 | reversed_bits(int(b), 8)
    bits = 8 * len(data)
    message = (message << 16) ^ (0xFFFF << bits)
    divisor = reversed_bits(poly, 16) | 1 << 16
    for at in range(bits + 15, 15, -1):
        if message >> at & 1:
            message ^= divisor << (at - 16)
    crc = reversed_bits(message, 16) ^ 0xFFFF
    return int.from_bytes(crc.to_bytes(2, "little"), "big")


def histogram(image, bins):
    counts = np.zeros(bins, dtype=np.int64)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            counts[image[i, j]] += 1
    return counts


def histogram_data(rng, size):
    return rng.integers(0, 16, (size, size + 1)), 16


def histogram_oracle(image, bins):
    return np.bincount(image.ravel(), minlength=bins)


def game_of_life(grid, steps):
    for _ in range(steps):
        neighbours = np.zeros_like(grid)
        for di in (-1, 0, 1):
            for dj in (-1, 0, 1):
                if di != 0 or dj != 0:
                    neighbours += np.roll(np.roll(grid, di, axis=0), dj, axis=1)
        born = (grid == 0) & (neighbours == 3)
        stays = (grid == 1) & ((neighbours == 2) | (neighbours == 3))
        grid[:] = np.where(born | stays, 1, 0)


def game_of_life_data(rng, size):
    return rng.integers(0, 2, (size, size + 2)), 4


def game_of_life_oracle(grid, steps):
    for _ in range(steps):
        total = scipy.ndimage.convolve(grid, np.ones((3, 3), dtype=grid.dtype), mode="wrap")
        grid[:] = (total == 3) | ((total == 4) & (grid == 1))


def game_of_life_loops(grid, steps):
    n, m = grid.shape
    for _ in range(steps):
        new = np.zeros((n, m), dtype=np.int64)
        for i in range(n):
            for j in range(m):
                alive = -grid[i, j]
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        alive += grid[(i + di) % n, (j + dj) % m]
                if alive == 3 or (alive == 2 and grid[i, j] == 1):
                    new[i, j] = 1
        grid[:] = new


def sieve(n):
    prime = np.ones(n + 1, dtype=np.bool_)
    prime[:2] = False
    i = 2
    while i * i <= n:
        if prime[i]:
            prime[i * i :: i] = False
        i += 1
    return prime


def sieve_data(rng, size):
    return (10 * size,)


def sieve_oracle(n):
    return np.array([k > 1 and all(k % d for d in range(2, k)) for k in range(n + 1)])


def quicksort(a):
    """In place, with an explicit stack of intervals."""
    stack = np.zeros(2 * len(a) + 2, dtype=np.int64)
    stack[1] = len(a) - 1
    top = 2
    while top > 0:
        top -= 2
        low, high = stack[top], stack[top + 1]
        if low >= high:
            continue
        pivot = a[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        stack[top], stack[top + 1] = low, j
        stack[top + 2], stack[top + 3] = i, high
        top += 4


def sort_data(rng, size):
    return (rng.standard_normal(size),)


def sort_oracle(a):
    a.sort()


def insertion_sort(a):
    for i in range(1, len(a)):
        value = a[i]
        j = i - 1
        while j >= 0 and a[j] > value:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = value


def bubble_sort(a):
    n = len(a)
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swapped = True
        if not swapped:
            break


def radix_sort(a, digits):
    """Least significant digit first, eight values per digit: count, scan, place."""
    source = a.copy()
    target = np.zeros_like(a)
    for d in range(digits):
        counts = np.zeros(8, dtype=np.int64)
        for value in source:
            counts[(value >> (3 * d)) & 7] += 1
        start = np.cumsum(counts) - counts
        for value in source:
            digit = (value >> (3 * d)) & 7
            target[start[digit]] = value
            start[digit] += 1
        source, target = target, source
    return source


def radix_sort_data(rng, size):
    return rng.integers(0, 8**3, size), 3


def radix_sort_oracle(a, digits):
    return np.sort(a)


def binary_search(table, xs):
    found = np.zeros(len(xs), dtype=np.int64)
    for i in range(len(xs)):
        low = 0
        high = len(table)
        while low < high:
            middle = (low + high) // 2
            if table[middle] < xs[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = low
    return found


def binary_search_data(rng, size):
    table = np.sort(rng.standard_normal(size))
    return table, np.concatenate([rng.standard_normal(size), table[::2]])


def binary_search_oracle(table, xs):
    return np.searchsorted(table, xs)


def prefix_sums(x):
    inclusive = np.zeros_like(x)
    exclusive = np.zeros_like(x)
    total = 0
    for i in range(len(x)):
        exclusive[i] = total
        total += x[i]
        inclusive[i] = total
    return inclusive, exclusive


def integers_data(rng, size):
    return (rng.integers(-50, 50, size),)


def prefix_sums_oracle(x):
    return np.cumsum(x), np.cumsum(x) - x


def collatz(limit):
    """Start below `limit` with the longest chain."""
    best, longest = 1, 0
    for start in range(1, limit):
        n, steps = start, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        if steps > longest:
            best, longest = start, steps
    return best, longest


def collatz_data(rng, size):
    return (10 * size,)


def collatz_oracle(limit):
    def steps(n):
        return 0 if n == 1 else 1 + steps(3 * n + 1 if n & 1 else n >> 1)

    chains = [steps(n) for n in range(1, limit)]
    return chains.index(max(chains)) + 1, max(chains)


def gcd_table(a, b):
    result = np.zeros((len(a), len(b)), dtype=np.int64)
    for i in range(len(a)):
        for j in range(len(b)):
            x, y = a[i], b[j]
            while y != 0:
                x, y = y, x % y
            result[i, j] = x
    return result


def gcd_table_data(rng, size):
    return rng.integers(1, 1000, size), rng.integers(1, 1000, 5)


def gcd_table_oracle(a, b):
    return np.array([[math.gcd(int(x), int(y)) for y in b] for x in a])


def popcounts(x):
    counts = np.zeros(len(x), dtype=np.int64)
    for i in range(len(x)):
        v = x[i]
        while v:
            v &= v - 1
            counts[i] += 1
    return counts


def popcounts_data(rng, size):
    return (rng.integers(0, 2**62, size),)


def popcounts_oracle(x):
    return np.array([int(v).bit_count() for v in x])


def union_find(n, left, right):
    """Components of a graph: every vertex gets the smallest vertex of its component."""
    parent = np.arange(n)
    for e in range(len(left)):
        a, b = left[e], right[e]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if a == b:
            continue
        parent[max(a, b)] = min(a, b)
    for v in range(n):
        root = v
        while parent[root] != root:
            root = parent[root]
        parent[v] = root
    return parent


def union_find_data(rng, size):
    edges = rng.integers(0, size, (2, max(1, 2 * size // 3)))
    return size, edges[0], edges[1]


def union_find_oracle(n, left, right):
    reach = np.eye(n, dtype=bool)
    reach[left, right] = reach[right, left] = True
    for _ in range(n.bit_length()):
        reach = reach @ reach
    return np.argmax(reach, axis=1)


def first_index(x, value):
    """A loop with an `else`: -1 where nothing is found."""
    for i in range(len(x)):
        if x[i] == value:
            at = i
            break
    else:
        at = -1
    return at


def first_index_data(rng, size):
    return rng.permutation(size), 3 if size % 2 else size + 1


def first_index_oracle(x, value):
    hits = np.flatnonzero(x == value)
    return hits[0] if len(hits) else -1


KERNELS = [
    Kernel("crc16", crc16, crc16_data, oracle=crc16_oracle),
    Kernel("histogram", histogram, histogram_data, oracle=histogram_oracle),
    Kernel("game_of_life", game_of_life, game_of_life_data, ("grid",), oracle=game_of_life_oracle),
    Kernel(
        "game_of_life_loops",
        game_of_life_loops,
        game_of_life_data,
        ("grid",),
        oracle=game_of_life_oracle,
    ),
    Kernel("sieve", sieve, sieve_data, oracle=sieve_oracle),
    Kernel("quicksort", quicksort, sort_data, ("a",), oracle=sort_oracle),
    Kernel("insertion_sort", insertion_sort, sort_data, ("a",), oracle=sort_oracle),
    Kernel("bubble_sort", bubble_sort, sort_data, ("a",), oracle=sort_oracle),
    Kernel("radix_sort", radix_sort, radix_sort_data, oracle=radix_sort_oracle),
    Kernel("binary_search", binary_search, binary_search_data, oracle=binary_search_oracle),
    Kernel("prefix_sums", prefix_sums, integers_data, oracle=prefix_sums_oracle),
    Kernel("collatz", collatz, collatz_data, oracle=collatz_oracle),
    Kernel("gcd_table", gcd_table, gcd_table_data, oracle=gcd_table_oracle),
    Kernel("popcounts", popcounts, popcounts_data, oracle=popcounts_oracle),
    Kernel("union_find", union_find, union_find_data, oracle=union_find_oracle),
    Kernel("first_index", first_index, first_index_data, oracle=first_index_oracle),
]
