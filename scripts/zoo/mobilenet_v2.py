"""MobileNetV2 (width 1.0) with random weights."""

import numpy as np

from . import random_inputs
from .graph_writer import GraphWriter
from .model import Model

BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def build():
    rng = np.random.default_rng(2)
    g = GraphWriter("mobilenet_v2")

    def conv_bn(x, name, inside, outside, kernel, stride=1, group=1, relu6=True, gain=1.0):
        w = random_inputs.he(rng, outside, inside // group, kernel, kernel)
        x = g.conv(x, name + ".conv", w, stride=stride, pads=[kernel // 2] * 4, group=group)
        x = g.batch_norm(x, name + ".bn", *random_inputs.batch_norm(rng, outside, gain), 1e-5)
        return g.relu6(x) if relu6 else x

    x, inside, index = conv_bn(g.input("input", ["batch", 3, 224, 224]), "stem", 3, 32, 3, stride=2), 32, 0
    for expansion, outside, repeats, stride in BLOCKS:
        for repeat in range(repeats):
            name, step, wide = f"block{index}", stride if repeat == 0 else 1, inside * expansion
            y = conv_bn(x, name + ".expand", inside, wide, 1) if expansion != 1 else x
            y = conv_bn(y, name + ".depthwise", wide, wide, 3, stride=step, group=wide)
            residual = step == 1 and inside == outside
            y = conv_bn(y, name + ".project", wide, outside, 1, relu6=False, gain=0.5 if residual else 1.0)
            x = g.node("Add", x, y) if residual else y
            inside, index = outside, index + 1
    x = conv_bn(x, "head", inside, 1280, 1)
    x = g.node("Flatten", g.node("GlobalAveragePool", x), axis=1)
    x = g.node("Gemm", x, g.weight("fc.weight", rng.normal(0, 0.03, (1000, 1280)).astype(np.float32)),
               g.weight("fc.bias", rng.normal(0, 0.01, 1000).astype(np.float32)), transB=1)
    g.output(x, "logits", ["batch", 1000])
    return g.model()


MODEL = Model(
    name="mobilenet_v2", task="image classification, untrained", metric="none: speed only", speed_only=True,
    profile="input=1x3x224x224:1x3x224x224:1x3x224x224", batched="input=1x3x224x224:8x3x224x224:32x3x224x224",
    origin="written by scripts/zoo/mobilenet_v2.py, random weights", inputs_made=random_inputs.NOTE,
    build=build, samples=lambda model: random_inputs.images("input", 224))
