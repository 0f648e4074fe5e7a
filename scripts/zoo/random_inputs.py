"""Models without training: their inputs are seeded noise, for ranges and timing only."""

import numpy as np

from .model import Samples

NOTE = "seeded normal noise; the weights are random too, so only time, memory and agreement with FP32 mean anything"


def images(name, size, calib=8, evaluate=4):
    rng = np.random.default_rng(7)
    samples = [{name: rng.normal(0, 1, (1, 3, size, size)).astype(np.float32)} for _ in range(calib + evaluate)]
    return Samples(samples[:calib], samples[calib:], [None] * evaluate)


def tokens(names, vocabulary, length, calib=8, evaluate=4):
    rng = np.random.default_rng(7)
    samples = []
    for _ in range(calib + evaluate):
        ids = rng.integers(0, vocabulary, (1, length))
        samples.append(dict(zip(names, (ids, np.ones_like(ids), np.zeros_like(ids)))))
    return Samples(samples[:calib], samples[calib:], [None] * evaluate)


def he(rng, *shape):
    """He initialisation of a convolution or of a [out, in] matrix."""
    fan_in = int(np.prod(shape[1:]))
    return rng.normal(0, np.sqrt(2 / fan_in), shape).astype(np.float32)


def batch_norm(rng, channels, gain=1.0):
    """Scale, shift, mean and variance, all away from their defaults; `gain` keeps residual sums from growing."""
    return ((gain * rng.uniform(0.7, 1.3, channels)).astype(np.float32), rng.normal(0, 0.1, channels).astype(np.float32),
            rng.normal(0, 0.1, channels).astype(np.float32), rng.uniform(0.6, 1.6, channels).astype(np.float32))
