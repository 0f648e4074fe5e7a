"""BERT-like encoders as ONNX: MiniLM with its trained weights, BERT-base with random ones."""

import numpy as np
from onnx import TensorProto

from . import transformer

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def write_encoder(g, tables, layers, heads, epsilon):
    """Adds inputs, embeddings and layers; returns (last hidden state, attention mask as float [B, S])."""
    ids, mask, types = (g.input(name, ["batch", "sequence"], TensorProto.INT64) for name in INPUTS)

    length = g.node("Gather", g.node("Shape", ids), g.ints(1), axis=0)
    positions = g.node("Slice", g.weight("embeddings.position", tables["position"]), g.ints(0), length, g.ints(0))
    x = g.node("Gather", g.weight("embeddings.word", tables["word"]), ids)
    x = g.node("Add", x, g.node("Gather", g.weight("embeddings.token_type", tables["token_type"]), types))
    x = g.node("Add", x, positions)
    x = g.layer_norm(x, "embeddings.norm", *tables["norm"], epsilon)

    kept = g.node("Cast", mask, to=TensorProto.FLOAT)
    blocked = g.node("Sub", g.scalar(1), g.node("Unsqueeze", kept, g.ints(1, 2)))
    added = g.node("Mul", blocked, g.scalar(-10000))
    for index, weights in enumerate(layers):
        x = transformer.post_norm_layer(g, x, f"layer{index}", weights, heads, added, epsilon)
    return x, kept


def write_pooling(g, hidden, kept):
    """Mean over the kept tokens, then unit length."""
    kept = g.node("Unsqueeze", kept, g.ints(2))
    total = g.node("ReduceSum", g.node("Mul", hidden, kept), g.ints(1), keepdims=0)
    count = g.node("Max", g.node("ReduceSum", kept, g.ints(1), keepdims=0), g.scalar(1e-9))
    mean = g.node("Div", total, count)
    length = g.node("Max", g.node("ReduceL2", mean, axes=[-1], keepdims=1), g.scalar(1e-12))
    return g.node("Div", mean, length)


def random_tables(rng, vocabulary, positions, width):
    def table(rows):
        return rng.normal(0, 0.02, (rows, width)).astype(np.float32)

    return dict(word=table(vocabulary), position=table(positions), token_type=table(2),
                norm=transformer.random_norm(rng, width))
