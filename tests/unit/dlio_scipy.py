#!/usr/bin/env python3
"""dlio_scipy.py COUNT - random samples of each family of /dlio-config, and what SciPy estimates from them.

For tests/unit/dlio/test_dlio_scipy.c. Exit status 77: there is no SciPy. A line on standard output is a sample:

    name n value... choice, then of each single family: valid first second log_likelihood bic ks; of the two mixtures:
    valid, weight mean stdev of each part, log_likelihood (only valid, where it is 0)

Numbers are exact (float.hex); choice is -1 where the best two are nearly equal. SciPy fits weibull_min by a simplex search
to about 1e-4; here the equations of its maximum likelihood are solved by scipy.optimize.brentq. Mixtures have no estimate in
SciPy: expectation maximisation is written once more in NumPy, from the description in docs/API.md.
"""

import sys

try:
    import numpy as np
    from scipy import optimize, special, stats
except ImportError:
    sys.exit(77)

FAMILIES = ["normal", "lognormal", "gamma", "exponential", "weibull"]


def weibull(x):
    logs = np.log(x)
    top = logs.max()

    def score(k):
        p = np.exp(k * (logs - top))
        return (p * (logs - top)).sum() / p.sum() - 1 / k - (logs - top).mean()

    high = 1.0
    while score(high) < 0:
        high *= 2
    shape = optimize.brentq(score, 1e-6, high, xtol=1e-14, rtol=1e-14)
    return shape, np.exp(top) * np.mean(np.exp(shape * (logs - top))) ** (1 / shape)


def singles(x):
    """By family (first, second, distribution), None: not possible."""
    mean, stdev = stats.norm.fit(x)
    found = {"normal": (mean, stdev, stats.norm(mean, stdev))}
    if x.min() <= 0:
        return found
    mu, sigma = stats.norm.fit(np.log(x))
    found["lognormal"] = (mu, sigma, stats.lognorm(sigma, scale=np.exp(mu)))
    shape, _, scale = stats.gamma.fit(x, floc=0)
    found["gamma"] = (shape, scale, stats.gamma(shape, scale=scale))
    _, scale = stats.expon.fit(x, floc=0)
    found["exponential"] = (0, scale, stats.expon(scale=scale))
    shape, scale = weibull(x)
    found["weibull"] = (shape, scale, stats.weibull_min(shape, scale=scale))
    return found


def mixture(x, count):
    """[(weight, mean, stdev)] and the log-likelihood."""
    x = np.sort(x)
    weights = np.full(count, 1 / count)
    means = np.percentile(x, [100 * (k + 0.5) / count for k in range(count)])
    stdevs = np.full(count, x.std())
    before = -np.inf
    for _ in range(500):
        log_p = np.log(weights) + stats.norm.logpdf(x[:, None], means, stdevs)
        total = special.logsumexp(log_p, axis=1)
        likelihood = total.sum()
        if abs(likelihood - before) < 1e-6:
            break
        before = likelihood
        share = np.exp(log_p - total[:, None])
        sums = share.sum(axis=0)
        weights = sums / len(x)
        means = (share * x[:, None]).sum(axis=0) / sums
        variances = (share * (x[:, None] - means) ** 2).sum(axis=0) / sums
        stdevs = np.sqrt(np.maximum(variances, 1e-6 * x.var()))
    log_p = np.log(weights) + stats.norm.logpdf(x[:, None], means, stdevs)
    return sorted(zip(weights, means, stdevs), key=lambda part: part[1]), special.logsumexp(log_p, axis=1).sum()


def hexes(*values):
    return " ".join(float(v).hex() for v in values)


def describe(name, x):
    n = len(x)
    bics, texts = [], []
    found = singles(x)
    for family in FAMILIES:
        if family not in found:
            texts.append("0 " + hexes(0, 0, 0, 0, 0))
            bics.append(np.inf)
            continue
        first, second, distribution = found[family]
        likelihood = distribution.logpdf(x).sum()
        bic = (1 if family == "exponential" else 2) * np.log(n) - 2 * likelihood
        texts.append("1 " + hexes(first, second, likelihood, bic, stats.kstest(x, distribution.cdf).statistic))
        bics.append(bic)
    for count in (2, 3):
        if n < 20:
            texts.append("0")
            bics.append(np.inf)
            continue
        parts, likelihood = mixture(x, count)
        texts.append("1 " + hexes(*[v for part in parts for v in part], likelihood))
        bics.append((3 * count - 1) * np.log(n) - 2 * likelihood)
    order = np.argsort(bics, kind="stable")
    choice = order[0] if bics[order[1]] - bics[order[0]] > 1e-5 else -1
    print(name, n, hexes(*x), choice, *texts)


def sample(name, rng):
    n = int(rng.integers(5, 400))
    scale = 10 ** rng.uniform(-5, 1)
    if name == "normal":
        return np.abs(rng.normal(1, rng.uniform(0.01, 0.3), n)) * scale
    if name == "lognormal":
        return rng.lognormal(np.log(scale), rng.uniform(0.05, 2), n)
    if name == "gamma":
        return rng.gamma(10 ** rng.uniform(-0.7, 2.5), scale, n)
    if name == "exponential":
        return rng.exponential(scale, n)
    if name == "weibull":
        return rng.weibull(10 ** rng.uniform(-0.5, 1.3), n) * scale
    means = np.cumsum(rng.uniform(0.5, 3, 2 if name == "mixture2" else 3))
    chosen = rng.integers(0, len(means), n)
    return np.abs(rng.normal(means[chosen], rng.uniform(0.05, 0.5))) * scale


def main():
    rng = np.random.default_rng(20261125)
    for name in [*FAMILIES, "mixture2", "mixture3"]:
        for _ in range(int(sys.argv[1])):
            describe(name, np.sort(sample(name, rng)))


main()
