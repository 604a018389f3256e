"""Machine learning, mostly in f32 as NPBench has it."""

import itertools

import numpy as np
import scipy.signal
import scipy.spatial
import scipy.special

from .registry import Kernel


def normal32(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    tmp_max = np.max(x, axis=-1, keepdims=True)
    tmp_out = np.exp(x - tmp_max)
    tmp_sum = np.sum(tmp_out, axis=-1, keepdims=True)
    return tmp_out / tmp_sum


def softmax_data(rng, size):
    return (normal32(rng, 2, 3, size, size + 1),)


def softmax_oracle(x):
    return scipy.special.softmax(x, axis=-1)


def mlp(x, w1, b1, w2, b2, w3, b3):
    x = relu(x @ w1 + b1)
    x = relu(x @ w2 + b2)
    return softmax(x @ w3 + b3)


def mlp_data(rng, size):
    widths = size + 1, size, size + 2, 5
    weights = []
    for a, b in itertools.pairwise(widths):
        weights += [normal32(rng, a, b) / np.float32(np.sqrt(a)), normal32(rng, b)]
    return normal32(rng, 4, widths[0]), *weights


def mlp_oracle(x, *weights):
    for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        x = np.einsum("ni,ij->nj", x, w) + b
        x = x * (x > 0)
    return scipy.special.softmax(x.astype(np.float64) @ weights[-2] + weights[-1], axis=1)


def conv2d(input, weights):
    """Batch, height, width, channels; valid convolution, one output pixel at a time."""
    K = weights.shape[0]
    N, H_in, W_in, _ = input.shape
    H_out = H_in - K + 1
    W_out = W_in - K + 1
    output = np.empty((N, H_out, W_out, weights.shape[3]), dtype=np.float32)
    for i in range(H_out):
        for j in range(W_out):
            output[:, i, j, :] = np.sum(
                input[:, i : i + K, j : j + K, :, np.newaxis] * weights[np.newaxis, :, :, :],
                axis=(1, 2, 3),
            )
    return output


def conv2d_data(rng, size):
    return normal32(rng, 2, size, size + 1, 3), normal32(rng, 3, 3, 3, 4)


def conv2d_oracle(input, weights):
    flipped = weights[::-1, ::-1].astype(np.float64)
    planes = [
        sum(
            scipy.signal.convolve2d(x[:, :, c], flipped[:, :, c, o], "valid")
            for c in range(x.shape[2])
        )
        for x in input
        for o in range(weights.shape[3])
    ]
    return np.moveaxis(np.stack(planes).reshape(len(input), -1, *planes[0].shape), 1, 3)


def conv2d_loops(input, weights):
    N, H_in, W_in, C_in = input.shape
    K, _, _, C_out = weights.shape
    out = np.zeros((N, H_in - K + 1, W_in - K + 1, C_out), dtype=np.float32)
    for n in range(N):
        for i in range(H_in - K + 1):
            for j in range(W_in - K + 1):
                for di in range(K):
                    for dj in range(K):
                        for c in range(C_in):
                            for o in range(C_out):
                                out[n, i, j, o] += (
                                    input[n, i + di, j + dj, c] * weights[di, dj, c, o]
                                )
    return out


def maxpool(x):
    N, H, W, C = x.shape
    output = np.empty((N, H // 2, W // 2, C), dtype=x.dtype)
    for i in range(H // 2):
        for j in range(W // 2):
            window = x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :]
            output[:, i, j, :] = np.max(window, axis=(1, 2))
    return output


def lenet(x, conv1, bias1, conv2, bias2, fc, fc_bias):
    """Two convolutions with pooling, one dense layer."""
    first = maxpool(relu(conv2d(x, conv1) + bias1))
    second = maxpool(relu(conv2d(first, conv2) + bias2))
    flat = np.reshape(second, (x.shape[0], second.shape[1] * second.shape[2] * second.shape[3]))
    return flat @ fc + fc_bias


def lenet_data(rng, size):
    n = 10 if size < 12 else 14
    inner = (((n - 2) // 2) - 2) // 2
    return (
        normal32(rng, 2, n, n, 1),
        normal32(rng, 3, 3, 1, 3),
        normal32(rng, 3),
        normal32(rng, 3, 3, 3, 4),
        normal32(rng, 4),
        normal32(rng, inner * inner * 4, 5),
        normal32(rng, 5),
    )


def pool_oracle(x):
    n, h, w, c = x.shape
    cut = x[:, : h // 2 * 2, : w // 2 * 2]
    return cut.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def lenet_oracle(x, conv1, bias1, conv2, bias2, fc, fc_bias):
    x = pool_oracle(np.clip(conv2d_oracle(x, conv1) + bias1, 0, None))
    x = pool_oracle(np.clip(conv2d_oracle(x, conv2) + bias2, 0, None))
    return np.einsum("nk,ko->no", x.reshape(len(x), -1), fc) + fc_bias


def batchnorm(x, eps=1e-5):
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std * std + eps)


def resnet_block(input, conv1, conv2, conv3):
    """Bottleneck: 1x1, 3x3 with padding, 1x1, then the shortcut."""
    x = relu(batchnorm(conv2d(input, conv1)))
    padded = np.zeros((x.shape[0], x.shape[1] + 2, x.shape[2] + 2, x.shape[3]), dtype=np.float32)
    padded[:, 1:-1, 1:-1, :] = x
    x = relu(batchnorm(conv2d(padded, conv2)))
    x = batchnorm(conv2d(x, conv3))
    return relu(x + input)


def resnet_block_data(rng, size):
    n = min(size, 10)
    return (
        normal32(rng, 3, n, n, 4),
        normal32(rng, 1, 1, 4, 3),
        normal32(rng, 3, 3, 3, 3),
        normal32(rng, 1, 1, 3, 4),
    )


def resnet_block_oracle(input, conv1, conv2, conv3):
    def norm(x):
        return (x - np.mean(x, axis=0)) / np.sqrt(np.var(x, axis=0) + 1e-5)

    x = np.clip(norm(np.einsum("nhwc,co->nhwo", input.astype(np.float64), conv1[0, 0])), 0, None)
    x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    x = np.clip(norm(conv2d_oracle(x, conv2)), 0, None)
    return np.clip(norm(np.einsum("nhwc,co->nhwo", x, conv3[0, 0])) + input, 0, None)


def kmeans_assign(points, centroids):
    n, d = points.shape
    labels = np.zeros(n, dtype=np.int64)
    cost = 0.0
    for i in range(n):
        best = np.inf
        for j in range(centroids.shape[0]):
            distance = 0.0
            for k in range(d):
                diff = points[i, k] - centroids[j, k]
                distance += diff * diff
            if distance < best:
                best = distance
                labels[i] = j
        cost += best
    return labels, cost


def kmeans_assign_data(rng, size):
    points = rng.uniform(size=(5 * size, 3))
    return points, points[-4:].copy()


def kmeans_assign_oracle(points, centroids):
    distance, labels = scipy.spatial.KDTree(centroids).query(points)
    return labels, np.sum(distance**2)


def lloyd(points, centroids, steps):
    """k-means; empty clusters keep their centroid."""
    k = centroids.shape[0]
    for _ in range(steps):
        sums = np.zeros_like(centroids)
        counts = np.zeros(k, dtype=np.int64)
        for i in range(points.shape[0]):
            nearest = np.argmin(np.sum((centroids - points[i]) ** 2, axis=1))
            sums[nearest] += points[i]
            counts[nearest] += 1
        for j in range(k):
            if counts[j] > 0:
                centroids[j] = sums[j] / counts[j]


def lloyd_data(rng, size):
    return *kmeans_assign_data(rng, size), 4


def lloyd_oracle(points, centroids, steps):
    for _ in range(steps):
        owner = scipy.spatial.distance.cdist(points, centroids).argmin(axis=1)
        member = owner == np.arange(len(centroids))[:, None]
        some = member.any(axis=1)
        centroids[some] = (member @ points / np.maximum(member.sum(axis=1), 1)[:, None])[some]


def logistic_descent(X, y, w, rate, steps):
    """Gradient descent on the logistic loss, gradient by hand; returns the last loss."""
    n = X.shape[0]
    loss = 0.0
    for _ in range(steps):
        z = X @ w
        p = 1.0 / (1.0 + np.exp(-z))
        loss = np.sum(np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0.0) - y * z) / n
        w -= rate * (p - y) @ X / n
    return loss


def logistic_descent_data(rng, size):
    X = rng.standard_normal((3 * size, size))
    y = (X[:, 0] + rng.standard_normal(3 * size) > 0).astype(np.float64)
    return X, y, np.zeros(size), 0.5, 6


def logistic_descent_oracle(X, y, w, rate, steps):
    signs = 2.0 * y - 1.0
    for _ in range(steps):
        margin = signs * (X @ w)
        loss = -np.mean(scipy.special.log_expit(margin))
        w += rate * np.mean((signs * scipy.special.expit(-margin))[:, None] * X, axis=0)
    return loss


def attention(Q, K, V):
    scale = 1.0 / np.sqrt(Q.shape[-1])
    scores = np.einsum("hqd,hkd->hqk", Q, K) * scale
    causal = np.tril(np.ones((Q.shape[1], K.shape[1]))) > 0
    weights = softmax(np.where(causal, scores, -np.inf))
    return np.einsum("hqk,hkd->hqd", weights, V)


def attention_data(rng, size):
    return tuple(rng.standard_normal((3, 2, size, 4)))


def attention_oracle(Q, K, V):
    out = np.zeros_like(V)
    for h, i in np.ndindex(Q.shape[:2]):
        weight = scipy.special.softmax(K[h, : i + 1] @ Q[h, i] / 2.0)
        out[h, i] = weight @ V[h, : i + 1]
    return out


def lstm(weights, bias, xs, h, c):
    """One layer, one sequence; gates i, f, o, g in one matrix over [x, h]."""
    m = len(h)
    for x in xs:
        gates = weights @ np.concatenate((x, h)) + bias
        sigmoids = 1.0 / (1.0 + np.exp(-gates[: 3 * m]))
        c = sigmoids[m : 2 * m] * c + sigmoids[:m] * np.tanh(gates[3 * m :])
        h = sigmoids[2 * m :] * np.tanh(c)
    return h, c


def lstm_data(rng, size):
    m, d = 4, 3
    weights, bias = rng.standard_normal((4 * m, d + m)), rng.standard_normal(4 * m)
    return weights, bias, rng.standard_normal((size, d)), np.zeros(m), np.zeros(m)


def lstm_oracle(weights, bias, xs, h, c):
    wx, wh = np.split(weights, [xs.shape[1]], axis=1)
    for x in xs:
        i, f, o, g = (wx @ x + wh @ h + bias).reshape(4, -1)
        c = scipy.special.expit(f) * c + scipy.special.expit(i) * np.tanh(g)
        h = scipy.special.expit(o) * np.tanh(c)
    return h, c


def layer_norm(x, gain, bias):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        row = x[i]
        centred = row - row.mean()
        out[i] = gain * centred / np.sqrt((centred**2).mean() + 1e-5) + bias
    return out


def layer_norm_data(rng, size):
    return normal32(rng, size, size + 2), normal32(rng, size + 2), normal32(rng, size + 2)


def layer_norm_oracle(x, gain, bias):
    x = x.astype(np.float64)
    variance = x.var(axis=1, keepdims=True) + 1e-5
    return gain * (x - x.mean(axis=1, keepdims=True)) * variance**-0.5 + bias


def adam(params, grads, m, v, rate, beta1, beta2):
    """One row of `grads` per step; three arrays are written."""
    for t in range(grads.shape[0]):
        m[:] = beta1 * m + (1.0 - beta1) * grads[t]
        v[:] = beta2 * v + (1.0 - beta2) * grads[t] ** 2
        m_hat = m / (1.0 - beta1 ** (t + 1))
        v_hat = v / (1.0 - beta2 ** (t + 1))
        params -= rate * m_hat / (np.sqrt(v_hat) + 1e-8)


def adam_data(rng, size):
    params, grads = rng.standard_normal(size), rng.standard_normal((6, size))
    return params, grads, np.zeros(size), np.zeros(size), 0.01, 0.9, 0.99


def adam_oracle(params, grads, m, v, rate, beta1, beta2):
    steps = len(grads)
    for t in range(1, steps + 1):
        ages = np.arange(t)[::-1]
        m_hat = np.average(grads[:t], axis=0, weights=beta1**ages)
        v_hat = np.average(grads[:t] ** 2, axis=0, weights=beta2**ages)
        params -= rate * m_hat / (np.sqrt(v_hat) + 1e-8)
    m[:], v[:] = m_hat * (1.0 - beta1**steps), v_hat * (1.0 - beta2**steps)


F32 = 2e-4

KERNELS = [
    Kernel("softmax", softmax, softmax_data, tol=F32, oracle=softmax_oracle),
    Kernel("mlp", mlp, mlp_data, tol=F32, oracle=mlp_oracle),
    Kernel("conv2d", conv2d, conv2d_data, tol=F32, oracle=conv2d_oracle),
    Kernel("conv2d_loops", conv2d_loops, conv2d_data, tol=F32, oracle=conv2d_oracle),
    Kernel("lenet", lenet, lenet_data, tol=10 * F32, oracle=lenet_oracle),
    Kernel(
        "resnet_block", resnet_block, resnet_block_data, tol=10 * F32, oracle=resnet_block_oracle
    ),
    Kernel("kmeans_assign", kmeans_assign, kmeans_assign_data, oracle=kmeans_assign_oracle),
    Kernel("lloyd", lloyd, lloyd_data, ("centroids",), oracle=lloyd_oracle),
    Kernel(
        "logistic_descent",
        logistic_descent,
        logistic_descent_data,
        ("w",),
        oracle=logistic_descent_oracle,
    ),
    Kernel("attention", attention, attention_data, oracle=attention_oracle),
    Kernel("lstm", lstm, lstm_data, tol=1e-11, oracle=lstm_oracle),
    Kernel("layer_norm", layer_norm, layer_norm_data, tol=F32, oracle=layer_norm_oracle),
    Kernel("adam", adam, adam_data, ("params", "m", "v"), oracle=adam_oracle),
]
