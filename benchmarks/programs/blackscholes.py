"""Prices of European call and put options."""

import math

import numpy as np
from scipy.special import erf

from benchmarks.program import Program, prange

RATE, VOLATILITY = 0.03, 0.25


def blackscholes(spot, strike, years):
    call = np.empty_like(spot)
    put = np.empty_like(spot)
    for i in range(spot.size):
        width = VOLATILITY * math.sqrt(years[i])
        d1 = (math.log(spot[i] / strike[i]) + RATE * years[i]) / width + 0.5 * width
        d2 = d1 - width
        n1 = 0.5 + 0.5 * math.erf(d1 * 0.7071067811865476)
        n2 = 0.5 + 0.5 * math.erf(d2 * 0.7071067811865476)
        later = strike[i] * math.exp(-RATE * years[i])
        call[i] = spot[i] * n1 - later * n2
        put[i] = later * (1.0 - n2) - spot[i] * (1.0 - n1)
    return call, put


def blackscholes_numpy(spot, strike, years):
    width = VOLATILITY * np.sqrt(years)
    d1 = (np.log(spot / strike) + RATE * years) / width + 0.5 * width
    n1 = 0.5 + 0.5 * erf(d1 * 0.7071067811865476)
    n2 = 0.5 + 0.5 * erf((d1 - width) * 0.7071067811865476)
    later = strike * np.exp(-RATE * years)
    return spot * n1 - later * n2, later * (1.0 - n2) - spot * (1.0 - n1)


def blackscholes_parallel(spot, strike, years):
    call = np.empty_like(spot)
    put = np.empty_like(spot)
    for i in prange(spot.size):
        width = VOLATILITY * math.sqrt(years[i])
        d1 = (math.log(spot[i] / strike[i]) + RATE * years[i]) / width + 0.5 * width
        d2 = d1 - width
        n1 = 0.5 + 0.5 * math.erf(d1 * 0.7071067811865476)
        n2 = 0.5 + 0.5 * math.erf(d2 * 0.7071067811865476)
        later = strike[i] * math.exp(-RATE * years[i])
        call[i] = spot[i] * n1 - later * n2
        put[i] = later * (1.0 - n2) - spot[i] * (1.0 - n1)
    return call, put


C = """
void kernel(const double *restrict spot, const double *restrict strike,
            const double *restrict years, int64_t n, double *restrict call, double *restrict put) {
    #pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        double width = 0.25 * sqrt(years[i]);
        double d1 = (log(spot[i] / strike[i]) + 0.03 * years[i]) / width + 0.5 * width;
        double n1 = 0.5 + 0.5 * erf(d1 * 0.7071067811865476);
        double n2 = 0.5 + 0.5 * erf((d1 - width) * 0.7071067811865476);
        double later = strike[i] * exp(-0.03 * years[i]);
        call[i] = spot[i] * n1 - later * n2;
        put[i] = later * (1.0 - n2) - spot[i] * (1.0 - n1);
    }
}
"""


def arguments(rng, n):
    return rng.uniform(50, 150, n), rng.uniform(50, 150, n), rng.uniform(0.1, 3, n)


PROGRAM = Program(
    name="blackscholes",
    source=blackscholes,
    numpy=blackscholes_numpy,
    numba=(blackscholes, blackscholes_parallel),
    c=C,
    dims=lambda spot, strike, years: (spot.size,),
    outputs=lambda spot, strike, years: (np.empty_like(spot), np.empty_like(spot)),
    arguments=arguments,
    sizes={"small": (2_000,), "large": (1_000_000,)},
    exponential=True,
)
