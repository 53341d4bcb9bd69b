"""A Gaussian process over orders, whose variances are fitted to the data.

The value of an order is a constant, plus a smooth part that is similar for orders few swaps apart
(the Mallows kernel exp(-theta * share of pairs that differ)), plus one effect per pair of units
that depends on which of the two comes first. Every run adds noise. The variances of the smooth
part, of each pair and of the noise maximise the marginal likelihood, given priors for scores of
variance 1; theta is the best of a few.

Repeated orders enter as means, and their differences inform the noise directly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

THETAS = (1.0, 3.0, 9.0)
CONSTANT = 1.0
"""Variance of the constant: the mean of the scores only estimates the mean of all orders."""
SWEEPS = 12
_FLOOR = 1e-8


@dataclass(frozen=True)
class Prior:
    """The expected variance, and how many squared differences this expectation is worth.

    The density falls towards 0 as well as towards infinity, so that a part which the first scores
    do not show is not ruled out.
    """

    variance: float
    weight: float

    def log_density(self, variance: Floats) -> Floats:
        """Return the log density up to a constant."""
        return -0.5 * self.weight * (np.log(variance) + self.variance / variance)

    def wanted(self, variance: Floats) -> Floats:
        """Return what the prior adds to the numerator of a sweep."""
        return self.weight * self.variance / variance**2

    def there(self, variance: Floats) -> Floats:
        """Return what the prior adds to the denominator of a sweep."""
        return self.weight / variance


SMOOTH_PRIOR = Prior(0.3, 2.0)
PAIR_PRIOR = Prior(0.05, 1.0)
NOISE_PRIOR = Prior(0.5, 4.0)


@dataclass(frozen=True)
class Data:
    """Scores by distinct order: precedence signs, mean score and number of scores."""

    signs: Floats
    """[U, P]"""
    means: Floats
    counts: Floats
    within: float
    """Sum of the squared differences of repeated scores from their order's mean."""

    @property
    def repeats(self) -> float:
        """Return how many of the scores are repeats."""
        return float(self.counts.sum() - len(self.counts))


def data_of(signs: Floats, scores: Floats) -> Data:
    """Group single scores, each with the precedence signs of its order."""
    distinct, which = np.unique(signs, axis=0, return_inverse=True)
    counts = np.bincount(which, minlength=len(distinct)).astype(np.float64)
    means = np.bincount(which, scores, minlength=len(distinct)) / np.maximum(counts, 1)
    return Data(distinct, means, counts, within=float(((scores - means[which]) ** 2).sum()))


@dataclass(frozen=True)
class Model:
    """The variances of the parts."""

    theta: float
    smooth: float
    pairs: Floats
    noise: float

    def covariance(self, a: Floats, b: Floats) -> Floats:
        """Return the covariance of two sets of orders, given by their precedence signs."""
        covariance: Floats = CONSTANT + (a * self.pairs) @ b.T
        if self.smooth > 0:
            covariance = covariance + self.smooth * mallows(a, b, self.theta)
        return covariance


@dataclass(frozen=True)
class Posterior:
    """Mean and standard deviation of every order's value."""

    mean: Floats
    sd: Floats


def mallows(a: Floats, b: Floats, theta: float) -> Floats:
    """Return the Mallows kernel of two sets of orders, given by their precedence signs."""
    agreement = (a @ b.T) / max(1, a.shape[1])
    kernel: Floats = np.exp(-theta * (1.0 - agreement) / 2.0)
    return kernel


def fit(data: Data, *, smooth: bool = True, pairs: bool = True) -> Model:
    """Return the model with the greatest marginal likelihood, using the chosen parts.

    All thetas are fitted side by side, by sweeps that never lower the likelihood: each multiplies a
    variance by a root of (what the data want) / (what is there), the minorise-maximise step for
    variance components. Positive stays positive.
    """
    signs, means, counts = data.signs, data.means, data.counts
    thetas = np.array(THETAS if smooth else THETAS[:1])
    shapes = np.stack([mallows(signs, signs, theta) for theta in thetas])
    s = np.full(len(thetas), SMOOTH_PRIOR.variance if smooth else 0.0)
    p = np.full((len(thetas), signs.shape[1]), PAIR_PRIOR.variance if pairs else 0.0)
    n = np.full(len(thetas), NOISE_PRIOR.variance)
    own = np.arange(len(means))
    for _ in range(SWEEPS):
        covariance = CONSTANT + s[:, None, None] * shapes + (p[:, None, :] * signs) @ signs.T
        covariance[:, own, own] += n[:, None] / counts
        inverse = np.linalg.inv(covariance)
        pull = inverse @ means
        if smooth:
            wanted = (pull * (shapes @ pull[:, :, None])[:, :, 0]).sum(1) + SMOOTH_PRIOR.wanted(s)
            s = s * np.sqrt(wanted / ((inverse * shapes).sum((1, 2)) + SMOOTH_PRIOR.there(s)))
        if pairs:
            wanted = (pull @ signs) ** 2 + PAIR_PRIOR.wanted(p)
            p = p * np.sqrt(wanted / ((signs * (inverse @ signs)).sum(1) + PAIR_PRIOR.there(p)))
        wanted = (pull**2 / counts).sum(1) + data.within / n**2 + NOISE_PRIOR.wanted(n)
        there = (inverse[:, own, own] / counts).sum(1) + data.repeats / n + NOISE_PRIOR.there(n)
        n = n * np.sqrt(wanted / there)
    fitted = [Model(float(theta), float(s[k]), p[k], float(n[k])) for k, theta in enumerate(thetas)]
    return max(fitted, key=lambda one: log_evidence(one, data) + _log_prior(one))


def posterior(model: Model, data: Data, signs: Floats) -> Posterior:
    """Return what the data say about the orders with these precedence signs."""
    prior = CONSTANT + model.smooth + (signs**2) @ model.pairs
    if not len(data.means):
        return Posterior(np.zeros(len(signs)), np.sqrt(prior))
    cross = model.covariance(signs, data.signs)
    inverse = np.linalg.inv(_data_covariance(model, data))
    mean: Floats = cross @ (inverse @ data.means)
    variance = prior - (cross * (cross @ inverse)).sum(axis=1)
    return Posterior(mean, np.sqrt(np.maximum(variance, _FLOOR)))


def log_evidence(model: Model, data: Data) -> float:
    """Return the log marginal likelihood of the data, up to a constant."""
    covariance = _data_covariance(model, data)
    _, log_determinant = np.linalg.slogdet(covariance)
    fitted = data.means @ np.linalg.solve(covariance, data.means)
    repeated = data.repeats * np.log(model.noise) + data.within / model.noise
    return float(-0.5 * (fitted + log_determinant + repeated))


def _data_covariance(model: Model, data: Data) -> Floats:
    covariance = model.covariance(data.signs, data.signs)
    covariance[np.diag_indices_from(covariance)] += model.noise / data.counts
    return covariance


def _log_prior(model: Model) -> float:
    density = NOISE_PRIOR.log_density(np.array(model.noise))
    if model.smooth > 0:
        density = density + SMOOTH_PRIOR.log_density(np.array(model.smooth))
    if model.pairs.any():
        density = density + PAIR_PRIOR.log_density(model.pairs).sum()
    return float(density)
