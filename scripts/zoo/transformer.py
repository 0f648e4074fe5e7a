"""Transformer layers as primitive ONNX operators, shared by the BERT-like models and the vision transformer."""

import numpy as np


def attention(g, x, name, weights, heads, mask=None):
    """Self-attention before its residual; `weights` maps query, key, value, out to (w [in, out], b)."""
    width = weights["query"][0].shape[0]
    depth = width // heads

    def split(part, perm):
        y = g.linear(x, f"{name}.{part}", *weights[part])
        return g.node("Transpose", g.node("Reshape", y, g.ints(0, 0, heads, depth)), perm=perm)

    scores = g.node("MatMul", split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1]))
    scores = g.node("Div", scores, g.scalar(np.sqrt(depth)))
    if mask is not None:
        scores = g.node("Add", scores, mask)
    mixed = g.node("MatMul", g.node("Softmax", scores, axis=-1), split("value", [0, 2, 1, 3]))
    joined = g.node("Reshape", g.node("Transpose", mixed, perm=[0, 2, 1, 3]), g.ints(0, 0, width))
    return g.linear(joined, f"{name}.out", *weights["out"])


def feed_forward(g, x, name, weights):
    y = g.gelu(g.linear(x, name + ".up", *weights["up"]))
    return g.linear(y, name + ".down", *weights["down"])


def post_norm_layer(g, x, name, weights, heads, mask, epsilon):
    """BERT: normalise after each residual sum."""
    x = g.node("Add", attention(g, x, name, weights, heads, mask), x)
    x = g.layer_norm(x, name + ".norm1", *weights["norm1"], epsilon)
    x = g.node("Add", feed_forward(g, x, name, weights), x)
    return g.layer_norm(x, name + ".norm2", *weights["norm2"], epsilon)


def pre_norm_layer(g, x, name, weights, heads, epsilon):
    """ViT: normalise inside each residual branch."""
    y = g.layer_norm(x, name + ".norm1", *weights["norm1"], epsilon)
    x = g.node("Add", x, attention(g, y, name, weights, heads))
    y = g.layer_norm(x, name + ".norm2", *weights["norm2"], epsilon)
    return g.node("Add", x, feed_forward(g, y, name, weights))


def random_layer(rng, width, hidden):
    """Weights with the statistics of a trained layer's start: normal 0.02, norms near one."""
    def linear(inside, outside):
        return (rng.normal(0, 0.02, (inside, outside)).astype(np.float32),
                rng.normal(0, 0.02, outside).astype(np.float32))

    weights = {part: linear(width, width) for part in ("query", "key", "value", "out")}
    weights["up"], weights["down"] = linear(width, hidden), linear(hidden, width)
    weights["norm1"], weights["norm2"] = random_norm(rng, width), random_norm(rng, width)
    return weights


def random_norm(rng, width):
    return (rng.normal(1, 0.1, width).astype(np.float32), rng.normal(0, 0.05, width).astype(np.float32))
