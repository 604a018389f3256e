"""Tables filled in an order that the recurrence dictates."""

import itertools

import numpy as np
import scipy.sparse.csgraph

from .registry import Kernel


def floyd_warshall(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))


def floyd_warshall_data(rng, size):
    path = rng.integers(1, 1000, (size, size))
    np.fill_diagonal(path, 0)
    return (path,)


def floyd_warshall_oracle(path):
    path[:] = scipy.sparse.csgraph.shortest_path(path.astype(float)).astype(np.int64)


def floyd_warshall_loops(path):
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if path[i, k] + path[k, j] < path[i, j]:
                    path[i, j] = path[i, k] + path[k, j]


def nussinov(seq):
    """Largest number of complementary pairs (bases sum to 3) without crossings."""
    n = seq.shape[0]
    table = np.zeros((n, n), np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                pair = seq[i] + seq[j] == 3 if i < j - 1 else False
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + (1 if pair else 0))
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def nussinov_data(rng, size):
    return (rng.integers(0, 4, size),)


def nussinov_oracle(seq):
    """Interval by interval: the last base is unpaired or pairs with k."""
    n = len(seq)
    best = np.zeros((n + 1, n + 1), np.int64)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length
            options = [best[i, j - 1]]
            for k in range(i, j - 2):
                if seq[k] + seq[j - 1] == 3:
                    options.append(best[i, k] + best[k + 1, j - 1] + 1)
            best[i, j] = max(options)
    return np.triu(best[:n, 1:])


def needleman_wunsch(a, b, match, mismatch, gap):
    n, m = len(a), len(b)
    score = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(1, n + 1):
        score[i, 0] = i * gap
    for j in range(1, m + 1):
        score[0, j] = j * gap
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            same = match if a[i - 1] == b[j - 1] else mismatch
            diagonal = score[i - 1, j - 1] + same
            score[i, j] = max(diagonal, score[i - 1, j] + gap, score[i, j - 1] + gap)
    return score


def needleman_wunsch_data(rng, size):
    return rng.integers(0, 4, size), rng.integers(0, 4, size + 3), 2, -1, -2


def needleman_wunsch_oracle(a, b, match, mismatch, gap):
    """Shortest paths in the alignment graph, by Bellman-Ford over whole tables."""
    same = np.where(a[:, None] == b, match, mismatch)
    score = np.full((len(a) + 1, len(b) + 1), -(10**6), dtype=np.int64)
    score[0, 0] = 0
    for _ in range(len(a) + len(b)):
        score[1:, 1:] = np.maximum(score[1:, 1:], score[:-1, :-1] + same)
        score[1:] = np.maximum(score[1:], score[:-1] + gap)
        score[:, 1:] = np.maximum(score[:, 1:], score[:, :-1] + gap)
    return score


def edit_distance(a, b):
    """Two rows that change places."""
    m = len(b)
    previous = np.arange(m + 1)
    current = np.zeros(m + 1, dtype=np.int64)
    for i in range(len(a)):
        current[0] = i + 1
        for j in range(m):
            cost = 0 if a[i] == b[j] else 1
            current[j + 1] = min(previous[j + 1] + 1, current[j] + 1, previous[j] + cost)
        previous, current = current, previous
    return previous[m]


def edit_distance_data(rng, size):
    return rng.integers(0, 3, size), rng.integers(0, 3, size + 2)


def edit_distance_oracle(a, b):
    # an alignment maximises -(edits): match 0, mismatch -1, gap -1
    return -needleman_wunsch_oracle(a, b, 0, -1, -1)[-1, -1]


def longest_increasing(x):
    n = len(x)
    best = np.ones(n, dtype=np.int64)
    for i in range(1, n):
        for j in range(i):
            if x[j] < x[i] and best[j] + 1 > best[i]:
                best[i] = best[j] + 1
    return best.max()


def longest_increasing_data(rng, size):
    return (rng.standard_normal(size),)


def longest_increasing_oracle(x):
    tails = []
    for value in x:
        at = int(np.searchsorted(tails, value))
        tails[at : at + 1] = [value]
    return len(tails)


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1)
    for i in range(len(weights)):
        for c in range(capacity, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best


def knapsack_data(rng, size):
    return rng.integers(1, 9, min(size, 11)), rng.uniform(0.0, 1.0, min(size, 11)), 20


def knapsack_oracle(weights, values, capacity):
    choices = np.array(list(itertools.product((0, 1), repeat=len(weights))))
    weight, value = choices @ weights, choices @ values
    return np.array([value[weight <= c].max() for c in range(capacity + 1)])


def viterbi(start, transition, emission, observed):
    """Most likely states of a hidden Markov chain; logarithms of probabilities."""
    n, states = len(observed), len(start)
    score = np.zeros((n, states))
    back = np.zeros((n, states), dtype=np.int64)
    score[0] = start + emission[:, observed[0]]
    for t in range(1, n):
        for s in range(states):
            best = 0
            for r in range(1, states):
                if score[t - 1, r] + transition[r, s] > score[t - 1, best] + transition[best, s]:
                    best = r
            back[t, s] = best
            score[t, s] = score[t - 1, best] + transition[best, s] + emission[s, observed[t]]
    path = np.zeros(n, dtype=np.int64)
    path[n - 1] = np.argmax(score[n - 1])
    for t in range(n - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score[n - 1, path[n - 1]]


def viterbi_data(rng, size):
    start, transition, emission = (np.log(rng.uniform(size=s)) for s in (3, (3, 3), (3, 4)))
    return start, transition, emission, rng.integers(0, 4, min(size, 8))


def viterbi_oracle(start, transition, emission, observed):
    paths = np.array(list(itertools.product(range(3), repeat=len(observed))))
    score = start[paths[:, 0]] + emission[paths, observed].sum(axis=1)
    score = score + transition[paths[:, :-1], paths[:, 1:]].sum(axis=1)
    return paths[np.argmax(score)], score.max()


def dynamic_time_warping(x, y):
    n, m = len(x), len(y)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            nearest = min(cost[i, j], cost[i, j + 1], cost[i + 1, j])
            cost[i + 1, j + 1] = abs(x[i] - y[j]) + nearest
    return cost[n, m]


def dynamic_time_warping_data(rng, size):
    return rng.standard_normal(size), rng.standard_normal(size + 2)


def dynamic_time_warping_oracle(x, y):
    local = np.abs(x[:, None] - y)
    total = np.full(local.shape, np.inf)
    total[0, 0] = local[0, 0]
    for _ in range(len(x) + len(y)):
        for di, dj in ((1, 1), (1, 0), (0, 1)):
            there, here = total[di:, dj:], total[: len(x) - di, : len(y) - dj]
            total[di:, dj:] = np.minimum(there, here + local[di:, dj:])
    return total[-1, -1]


def max_subarray(x):
    best = x[0]
    ending = x[0]
    for i in range(1, len(x)):
        ending = max(x[i], ending + x[i])
        best = max(best, ending)
    return best


def max_subarray_oracle(x):
    sums = np.concatenate([[0.0], np.cumsum(x)])
    return max(sums[j] - sums[i] for i in range(len(sums)) for j in range(i + 1, len(sums)))


KERNELS = [
    Kernel(
        "floyd_warshall",
        floyd_warshall,
        floyd_warshall_data,
        ("path",),
        oracle=floyd_warshall_oracle,
    ),
    Kernel(
        "floyd_warshall_loops",
        floyd_warshall_loops,
        floyd_warshall_data,
        ("path",),
        oracle=floyd_warshall_oracle,
    ),
    Kernel("nussinov", nussinov, nussinov_data, oracle=nussinov_oracle),
    Kernel(
        "needleman_wunsch",
        needleman_wunsch,
        needleman_wunsch_data,
        oracle=needleman_wunsch_oracle,
    ),
    Kernel("edit_distance", edit_distance, edit_distance_data, oracle=edit_distance_oracle),
    Kernel(
        "longest_increasing",
        longest_increasing,
        longest_increasing_data,
        oracle=longest_increasing_oracle,
    ),
    Kernel("knapsack", knapsack, knapsack_data, oracle=knapsack_oracle),
    Kernel("viterbi", viterbi, viterbi_data, oracle=viterbi_oracle),
    Kernel(
        "dynamic_time_warping",
        dynamic_time_warping,
        dynamic_time_warping_data,
        oracle=dynamic_time_warping_oracle,
    ),
    Kernel("max_subarray", max_subarray, longest_increasing_data, oracle=max_subarray_oracle),
]
