"""ResNet-50 (the form with the stride in the 3x3 convolution) with random weights."""

import numpy as np

from . import random_inputs
from .graph_writer import GraphWriter
from .model import Model

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride


def build():
    rng = np.random.default_rng(50)
    g = GraphWriter("resnet50")

    def conv_bn(x, name, inside, outside, kernel, stride=1, relu=True, gain=1.0):
        pads = [kernel // 2] * 4
        x = g.conv(x, name + ".conv", random_inputs.he(rng, outside, inside, kernel, kernel), stride=stride, pads=pads)
        x = g.batch_norm(x, name + ".bn", *random_inputs.batch_norm(rng, outside, gain), 1e-5)
        return g.node("Relu", x) if relu else x

    x = conv_bn(g.input("input", ["batch", 3, 224, 224]), "stem", 3, 64, 7, stride=2)
    x = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    inside = 64
    for stage, (width, blocks, stride) in enumerate(STAGES, 1):
        for block in range(blocks):
            name, step = f"stage{stage}.block{block}", stride if block == 0 else 1
            y = conv_bn(x, name + ".a", inside, width, 1)
            y = conv_bn(y, name + ".b", width, width, 3, stride=step)
            y = conv_bn(y, name + ".c", width, 4 * width, 1, relu=False, gain=0.4)
            if block == 0:
                x = conv_bn(x, name + ".skip", inside, 4 * width, 1, stride=step, relu=False, gain=0.7)
            x, inside = g.node("Relu", g.node("Add", y, x)), 4 * width
    x = g.node("Flatten", g.node("GlobalAveragePool", x), axis=1)
    x = g.node("Gemm", x, g.weight("fc.weight", rng.normal(0, 0.03, (1000, inside)).astype(np.float32)),
               g.weight("fc.bias", rng.normal(0, 0.01, 1000).astype(np.float32)), transB=1)
    g.output(x, "logits", ["batch", 1000])
    return g.model()


MODEL = Model(
    name="resnet50", task="image classification, untrained", metric="none: speed only", speed_only=True,
    profile="input=1x3x224x224:1x3x224x224:1x3x224x224", batched="input=1x3x224x224:8x3x224x224:32x3x224x224",
    origin="written by scripts/zoo/resnet50.py, random weights", inputs_made=random_inputs.NOTE,
    build=build, samples=lambda model: random_inputs.images("input", 224))
