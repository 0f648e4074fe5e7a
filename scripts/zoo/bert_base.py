"""BERT-base with random weights, at 128 tokens."""

import numpy as np

from . import bert, random_inputs, transformer
from .graph_writer import GraphWriter
from .model import Model

VOCABULARY, POSITIONS, WIDTH, HIDDEN, HEADS, LAYERS = 30522, 512, 768, 3072, 12, 12


def build():
    rng = np.random.default_rng(128)
    g = GraphWriter("bert_base")
    layers = [transformer.random_layer(rng, WIDTH, HIDDEN) for _ in range(LAYERS)]
    x, _ = bert.write_encoder(g, bert.random_tables(rng, VOCABULARY, POSITIONS, WIDTH), layers, HEADS, 1e-12)
    g.output(x, "last_hidden_state", ["batch", "sequence", WIDTH])
    return g.model()


def profile(smallest, usual, largest):
    return ",".join(f"{name}={smallest}:{usual}:{largest}" for name in bert.INPUTS)


MODEL = Model(
    name="bert_base", task="text encoding, untrained", metric="none: speed only", speed_only=True,
    profile=profile("1x128", "1x128", "1x128"), batched=profile("1x16", "8x128", "32x384"),
    origin="written by scripts/zoo/bert_base.py, random weights", inputs_made=random_inputs.NOTE,
    build=build, samples=lambda model: random_inputs.tokens(bert.INPUTS, VOCABULARY, 128))
