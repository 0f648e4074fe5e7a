"""Vision transformer ViT-B/16 at 224x224 with random weights."""

import numpy as np

from . import random_inputs, transformer
from .graph_writer import GraphWriter
from .model import Model

WIDTH, HIDDEN, HEADS, LAYERS, PATCH, SIZE = 768, 3072, 12, 12, 16, 224
EPSILON = 1e-6


def build():
    rng = np.random.default_rng(16)
    g = GraphWriter("vit_b16")
    x = g.input("input", ["batch", 3, SIZE, SIZE])
    x = g.conv(x, "patches", random_inputs.he(rng, WIDTH, 3, PATCH, PATCH), np.zeros(WIDTH, np.float32), stride=PATCH)
    x = g.node("Transpose", g.node("Reshape", x, g.ints(0, 0, -1)), perm=[0, 2, 1])
    # the class token, once per image of the batch
    batch = g.node("Slice", g.node("Shape", x), g.ints(0), g.ints(1), g.ints(0))
    shape = g.node("Concat", batch, g.ints(1, WIDTH), axis=0)
    token = g.node("Expand", g.weight("class_token", rng.normal(0, 0.02, (1, 1, WIDTH)).astype(np.float32)), shape)
    x = g.node("Concat", token, x, axis=1)
    count = (SIZE // PATCH) ** 2 + 1
    x = g.node("Add", x, g.weight("positions", rng.normal(0, 0.02, (1, count, WIDTH)).astype(np.float32)))
    for index in range(LAYERS):
        x = transformer.pre_norm_layer(g, x, f"layer{index}", transformer.random_layer(rng, WIDTH, HIDDEN), HEADS, EPSILON)
    x = g.layer_norm(x, "norm", *transformer.random_norm(rng, WIDTH), EPSILON)
    x = g.node("Gather", x, g.constant(0, np.int64), axis=1)
    x = g.node("Gemm", x, g.weight("head.weight", rng.normal(0, 0.02, (1000, WIDTH)).astype(np.float32)),
               g.weight("head.bias", rng.normal(0, 0.01, 1000).astype(np.float32)), transB=1)
    g.output(x, "logits", ["batch", 1000])
    return g.model()


MODEL = Model(
    name="vit_b16", task="image classification, untrained", metric="none: speed only", speed_only=True,
    profile="input=1x3x224x224:1x3x224x224:1x3x224x224", batched="input=1x3x224x224:8x3x224x224:32x3x224x224",
    origin="written by scripts/zoo/vit_b16.py, random weights", inputs_made=random_inputs.NOTE,
    build=build, samples=lambda model: random_inputs.images("input", SIZE))
