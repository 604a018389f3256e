"""Filters, transforms, images."""

import numpy as np
import scipy.ndimage
import scipy.signal

from .registry import Kernel


def stockham_fft(x):
    """Radix-2 self-sorting FFT; the length is a power of two."""
    n = x.shape[0]
    source = x.copy()
    target = np.zeros_like(x)
    half = n // 2
    stride = 1
    while half >= 1:
        for p in range(half):
            w = np.exp(-2j * np.pi * p / (2 * half))
            for q in range(stride):
                a = source[q + stride * p]
                b = source[q + stride * (p + half)]
                target[q + stride * 2 * p] = a + b
                target[q + stride * (2 * p + 1)] = (a - b) * w
        source, target = target, source
        half //= 2
        stride *= 2
    return source


def stockham_fft_data(rng, size):
    n = 1 << size.bit_length()
    return (rng.standard_normal(n) + 1j * rng.standard_normal(n),)


def stockham_fft_oracle(x):
    return np.fft.fft(x)


def dft(x):
    n = len(x)
    return np.array(
        [sum(x[j] * np.exp(-2j * np.pi * j * k / n) for j in range(n)) for k in range(n)]
    )


def deriche_coefficients(alpha):
    k = (1.0 - np.exp(-alpha)) ** 2 / (1.0 + alpha * np.exp(-alpha) * 2.0 - np.exp(2.0 * alpha))
    a1 = k
    a2 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    return a1, a2, a3, a4, b1, b2


def deriche(alpha, img):
    """Recursive edge filter: forwards and backwards along both axes."""
    a1, a2, a3, a4, b1, b2 = deriche_coefficients(alpha)
    W, H = img.shape
    y1 = np.empty_like(img)
    y2 = np.empty_like(img)
    y1[:, 0] = a1 * img[:, 0]
    y1[:, 1] = a1 * img[:, 1] + a2 * img[:, 0] + b1 * y1[:, 0]
    for j in range(2, H):
        y1[:, j] = a1 * img[:, j] + a2 * img[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * img[:, -1]
    for j in range(H - 3, -1, -1):
        y2[:, j] = a3 * img[:, j + 1] + a4 * img[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    out = y1 + y2
    y1[0, :] = a1 * out[0, :]
    y1[1, :] = a1 * out[1, :] + a2 * out[0, :] + b1 * y1[0, :]
    for i in range(2, W):
        y1[i, :] = a1 * out[i, :] + a2 * out[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]
    y2[-1, :] = 0.0
    y2[-2, :] = a3 * out[-1, :]
    for i in range(W - 3, -1, -1):
        y2[i, :] = a3 * out[i + 1, :] + a4 * out[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]
    return y1 + y2


def deriche_data(rng, size):
    return 0.25, rng.uniform(size=(size, size + 3))


def deriche_oracle(alpha, img):
    a1, a2, a3, a4, b1, b2 = deriche_coefficients(alpha)
    for axis in (1, 0):
        forward = scipy.signal.lfilter([a1, a2], [1.0, -b1, -b2], img, axis)
        flipped = scipy.signal.lfilter([0.0, a3, a4], [1.0, -b1, -b2], np.flip(img, axis), axis)
        img = forward + np.flip(flipped, axis)
    return img


def azimint_naive(data, radius, npt):
    rmax = radius.max()
    res = np.zeros(npt)
    for i in range(npt):
        r1 = rmax * i / npt
        r2 = rmax * (i + 1) / npt
        mask = np.logical_and(r1 <= radius, radius < r2)
        res[i] = data[mask].mean() if mask.any() else 0.0
    return res


def azimint_data(rng, size):
    return rng.uniform(size=20 * size), rng.uniform(size=20 * size), size


def azimint_oracle(data, radius, npt):
    edges = np.array([radius.max() * i / npt for i in range(npt + 1)])
    where = np.searchsorted(edges, radius, side="right") - 1
    keep = where < npt
    sums = np.bincount(where[keep], weights=data[keep], minlength=npt)
    counts = np.bincount(where[keep], minlength=npt)
    return sums / np.maximum(counts, 1)


def azimint_hist(data, radius, npt):
    """One pass: a weighted and a plain histogram."""
    rmax = radius.max()
    sums = np.zeros(npt)
    counts = np.zeros(npt, dtype=np.int64)
    for i in range(data.shape[0]):
        b = int(radius[i] * npt / rmax)
        if b == npt:
            continue
        sums[b] += data[i]
        counts[b] += 1
    return sums / np.maximum(counts, 1)


def fir_filter(x, taps):
    n, k = len(x), len(taps)
    return np.array([sum(taps[j] * x[i + k - 1 - j] for j in range(k)) for i in range(n - k + 1)])


def fir_filter_data(rng, size):
    return rng.standard_normal(size), rng.standard_normal(5)


def fir_filter_oracle(x, taps):
    return np.convolve(x, taps, "valid")


def biquad(x, b0, b1, b2, a1, a2):
    y = np.zeros_like(x)
    z1 = 0.0
    z2 = 0.0
    for i in range(len(x)):
        y[i] = b0 * x[i] + z1
        z1 = b1 * x[i] - a1 * y[i] + z2
        z2 = b2 * x[i] - a2 * y[i]
    return y


def biquad_data(rng, size):
    return rng.standard_normal(size), 0.2, 0.4, 0.2, -0.5, 0.3


def biquad_oracle(x, b0, b1, b2, a1, a2):
    return scipy.signal.lfilter([b0, b1, b2], [1.0, a1, a2], x)


def autocorrelation(x, lags):
    centred = x - x.mean()
    variance = np.sum(centred * centred)
    result = np.zeros(lags)
    for lag in range(lags):
        result[lag] = np.sum(centred[: len(x) - lag] * centred[lag:]) / variance
    return result


def autocorrelation_data(rng, size):
    return rng.standard_normal(size), 5


def autocorrelation_oracle(x, lags):
    full = np.correlate(x - np.mean(x), x - np.mean(x), "full")[len(x) - 1 :]
    return full[:lags] / full[0]


def haar(x):
    """Haar wavelet transform in place; the length is a power of two."""
    n = len(x)
    scratch = np.zeros_like(x)
    root = np.sqrt(0.5)
    while n > 1:
        half = n // 2
        for i in range(half):
            scratch[i] = (x[2 * i] + x[2 * i + 1]) * root
            scratch[half + i] = (x[2 * i] - x[2 * i + 1]) * root
        x[:n] = scratch[:n]
        n = half


def haar_data(rng, size):
    return (rng.standard_normal(1 << size.bit_length()),)


def haar_oracle(x):
    if len(x) > 1:
        smooth, detail = np.array([[1, 1], [1, -1]]) @ x.reshape(-1, 2).T / np.sqrt(2.0)
        haar_oracle(smooth)
        x[:] = np.concatenate([smooth, detail])


def median_filter(image):
    """Median of every 3 x 3 window."""
    n, m = image.shape
    out = np.zeros((n - 2, m - 2))
    for i in range(n - 2):
        for j in range(m - 2):
            out[i, j] = np.sort(image[i : i + 3, j : j + 3].reshape(9))[4]
    return out


def image_data(rng, size):
    return (rng.uniform(size=(size, size + 2)),)


def median_filter_oracle(image):
    return scipy.ndimage.median_filter(image, 3)[1:-1, 1:-1]


def sobel(image):
    gx = (
        image[:-2, 2:] + 2.0 * image[1:-1, 2:] + image[2:, 2:]
        - image[:-2, :-2] - 2.0 * image[1:-1, :-2] - image[2:, :-2]
    )  # fmt: skip
    gy = (
        image[2:, :-2] + 2.0 * image[2:, 1:-1] + image[2:, 2:]
        - image[:-2, :-2] - 2.0 * image[:-2, 1:-1] - image[:-2, 2:]
    )  # fmt: skip
    return np.sqrt(gx * gx + gy * gy)


def sobel_oracle(image):
    gradients = scipy.ndimage.sobel(image, 0), scipy.ndimage.sobel(image, 1)
    return np.hypot(*gradients)[1:-1, 1:-1]


def bilinear(image, ys, xs):
    """Samples between pixels; coordinates outside are clamped."""
    n, m = image.shape
    out = np.empty(len(ys))
    for k in range(len(ys)):
        y = min(max(ys[k], 0.0), n - 1.000001)
        x = min(max(xs[k], 0.0), m - 1.000001)
        i, j = int(y), int(x)
        dy, dx = y - i, x - j
        top = (1.0 - dx) * image[i, j] + dx * image[i, j + 1]
        bottom = (1.0 - dx) * image[i + 1, j] + dx * image[i + 1, j + 1]
        out[k] = (1.0 - dy) * top + dy * bottom
    return out


def bilinear_data(rng, size):
    ys, xs = rng.uniform(-1.0, size + 1.0, (2, 3 * size))
    return rng.uniform(size=(size, size + 2)), ys, xs


def bilinear_oracle(image, ys, xs):
    at = np.stack([np.clip(ys, 0.0, image.shape[0] - 1), np.clip(xs, 0.0, image.shape[1] - 1)])
    return scipy.ndimage.map_coordinates(image, at, order=1)


def moving_average(x, width):
    """Running sums: what enters minus what leaves."""
    n = len(x)
    out = np.zeros(n - width + 1)
    total = 0.0
    for i in range(n):
        total += x[i]
        if i >= width:
            total -= x[i - width]
        if i >= width - 1:
            out[i - width + 1] = total / width
    return out


def moving_average_data(rng, size):
    return rng.standard_normal(size), 4


def moving_average_oracle(x, width):
    return np.lib.stride_tricks.sliding_window_view(x, width).mean(axis=1)


KERNELS = [
    Kernel("stockham_fft", stockham_fft, stockham_fft_data, oracle=stockham_fft_oracle),
    Kernel("dft", dft, stockham_fft_data, tol=1e-11, oracle=stockham_fft_oracle),
    Kernel("deriche", deriche, deriche_data, oracle=deriche_oracle),
    Kernel("azimint_naive", azimint_naive, azimint_data, oracle=azimint_oracle),
    Kernel("azimint_hist", azimint_hist, azimint_data, oracle=azimint_oracle),
    Kernel("fir_filter", fir_filter, fir_filter_data, oracle=fir_filter_oracle),
    Kernel("biquad", biquad, biquad_data, oracle=biquad_oracle),
    Kernel("autocorrelation", autocorrelation, autocorrelation_data, oracle=autocorrelation_oracle),
    Kernel("haar", haar, haar_data, ("x",), oracle=haar_oracle),
    Kernel("median_filter", median_filter, image_data, oracle=median_filter_oracle),
    Kernel("sobel", sobel, image_data, oracle=sobel_oracle),
    Kernel("bilinear", bilinear, bilinear_data, tol=1e-5, oracle=bilinear_oracle),
    Kernel("moving_average", moving_average, moving_average_data, oracle=moving_average_oracle),
]
