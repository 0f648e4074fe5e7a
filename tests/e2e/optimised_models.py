#!/usr/bin/env python3
"""Models as onnxruntime's tools write them, with operators of com.microsoft or in f16: built, run, compared with the model they came from.

    optimised_models.py BIN_DIR [NAME ...]         small models made here
    optimised_models.py BIN_DIR --zoo [NAME ...]   the models of scripts/models that are in the cache

Each model goes through onnxruntime's graph optimiser (extended, and all: with layouts for this CPU, which are refused in one list)
and, where it is a transformer, through onnxruntime.transformers.optimizer; and it is converted to f16. Needs what scripts/setup test installs.
"""
import collections
import logging
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.float16 import convert_float_to_float16
from onnxruntime.transformers.fusion_options import FusionOptions

from torch_net import BIN, F, I, Net, compare, rng, run, session

NAMES = sys.argv[2:]
MODELS = Path(os.environ.get("INGOT_CACHE", Path.home() / ".cache/ingot")) / "models"
HALF_ATOL = 1e-2  # of a model converted to f16
ATOL = 2e-4  # of results of about 1, a dozen layers deep; the approximate GELU of the optimiser is left out
logging.disable(logging.WARNING)


def bert(layer_norm_op):
    """Embeddings, a mask, two layers: all that the optimiser joins into EmbedLayerNormalization, Attention, SkipLayerNormalization, BiasGelu."""
    width, heads, words = 32, 4, 50
    net = Net()
    shape = net.add("Shape", "input_ids")
    length = net.add("Unsqueeze", net.add("Gather", shape, np.int64(1)), np.array([0]))
    positions = net.add("Slice", np.arange(16)[None], np.array([0]), length, np.array([1]))
    x = net.add("Add", net.add("Gather", net.weights(words, width), "input_ids"), net.add("Gather", net.weights(2, width), "token_type_ids"))
    x = net.layer_norm(net.add("Add", x, net.add("Gather", net.weights(16, width), positions)), width, layer_norm_op)
    mask = net.add("Cast", net.add("Unsqueeze", net.add("Unsqueeze", "attention_mask", np.array([1])), np.array([2])), to=F)
    mask = net.add("Mul", net.add("Sub", np.float32(1), mask), np.float32(-10000))
    for _ in range(2):
        split = lambda y, perm: net.add("Transpose", net.add("Reshape", y, np.array([0, 0, heads, width // heads])), perm=perm)
        q, k, v = net.linear(x, width, width), net.linear(x, width, width), net.linear(x, width, width)
        scores = net.add("Div", net.add("MatMul", split(q, [0, 2, 1, 3]), split(k, [0, 2, 3, 1])), np.float32(np.sqrt(width // heads)))
        mixed = net.add("MatMul", net.add("Softmax", net.add("Add", scores, mask), axis=3), split(v, [0, 2, 1, 3]))
        joined = net.add("Reshape", net.add("Transpose", mixed, perm=[0, 2, 1, 3]), np.array([0, 0, width]))
        x = net.layer_norm(net.add("Add", net.linear(joined, width, width), x), width, layer_norm_op)
        x = net.layer_norm(net.add("Add", net.linear(net.gelu(net.linear(x, width, 64)), 64, width), x), width, layer_norm_op)
    net.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))
    made = net.model([(name, I, ["batch", "seq"]) for name in ("input_ids", "attention_mask", "token_type_ids")], [("last_hidden_state", F, ["batch", "seq", width])])

    def feed(batch, length):
        mask = (np.arange(length)[None] < rng.integers(1, length + 1, (batch, 1))).astype(np.int64)
        return {"input_ids": rng.integers(0, words, (batch, length)), "attention_mask": mask, "token_type_ids": rng.integers(0, 2, (batch, length))}
    return made, feed, (1, 12, 3), {"model_type": "bert", "num_heads": heads, "hidden_size": width}


def gpt():
    """Causal layers with the tanh form of GELU, norms before the blocks, the projections of q, k and v in one."""
    width, heads, words, most = 32, 4, 50, 16
    net = Net()
    shape = net.add("Shape", "input_ids")
    length = net.add("Unsqueeze", net.add("Gather", shape, np.int64(1)), np.array([0]))
    x = net.add("Add", net.add("Gather", net.weights(words, width), "input_ids"), net.add("Slice", net.weights(most, width)[None], np.array([0]), length, np.array([1])))
    triangle = np.tril(np.ones((1, 1, most, most), bool))
    causal = net.add("Slice", net.add("Slice", triangle, np.array([0]), length, np.array([2])), np.array([0]), length, np.array([3]))
    for _ in range(2):
        y = net.layer_norm(x, width, True)
        flat = net.add("Gemm", net.add("Reshape", y, np.array([-1, width])), net.weights(width, 3 * width), net.weights(3 * width))
        joined = net.add("Reshape", flat, net.add("Concat", shape, np.array([3 * width]), axis=0))
        q, k, v = net.add("Split", joined, np.array([width] * 3), outputs=3, axis=2)
        split = lambda part, perm: net.add("Transpose", net.add("Reshape", part, np.array([0, 0, heads, width // heads])), perm=perm)
        scores = net.add("Div", net.add("MatMul", split(q, [0, 2, 1, 3]), split(k, [0, 2, 3, 1])), np.float32(np.sqrt(width // heads)))
        scores = net.add("Where", causal, scores, np.float32(-3.4e38))
        mixed = net.add("Transpose", net.add("MatMul", net.add("Softmax", scores, axis=-1), split(v, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        x = net.add("Add", net.linear(net.add("Reshape", mixed, np.array([0, 0, width])), width, width), x)
        y = net.gelu_tanh(net.linear(net.layer_norm(x, width, True), width, 64))
        x = net.add("Add", x, net.linear(y, 64, width))
    net.nodes.append(helper.make_node("MatMul", [net.layer_norm(x, width, True), net.hold(net.weights(width, words))], ["logits"]))
    made = net.model([("input_ids", I, ["batch", "seq"])], [("logits", F, ["batch", "seq", words])])
    return made, lambda batch, n: {"input_ids": rng.integers(0, words, (batch, n))}, (1, 12, 3), {"model_type": "gpt2", "num_heads": heads, "hidden_size": width}


def convnet():
    """Activations of all kinds behind convolutions, a residual sum, squeeze and excitation."""
    net = Net()
    x = net.add("Clip", net.add("Conv", "x", net.weights(16, 3, 3, 3), net.weights(16), pads=[1] * 4, strides=[2, 2]), np.float32(0), np.float32(6))
    for kind in ("Relu", "LeakyRelu", "Sigmoid", "HardSigmoid", "Tanh", "HardSwish"):
        y = net.add(kind, net.add("Conv", x, net.weights(16, 16, 3, 3) / 4, net.weights(16), pads=[1] * 4))
        x = net.add("Relu", net.add("Add", net.add("Conv", y, net.weights(16, 16, 1, 1) / 4, net.weights(16)), x))
    gate = net.add("Sigmoid", net.add("Conv", net.add("GlobalAveragePool", x), net.weights(16, 16, 1, 1), net.weights(16)))
    x = net.add("Mul", x, gate)
    x = net.add("Mul", x, net.add("Sigmoid", net.add("Mul", x, np.float32(1.702))))
    net.nodes.append(helper.make_node("Gemm", [net.add("Flatten", net.add("GlobalAveragePool", x)), net.hold(net.weights(16, 10)), net.hold(net.weights(10))], ["y"]))
    made = net.model([("x", F, ["batch", 3, 16, 16])], [("y", F, ["batch", 10])])
    return made, lambda batch, n: {"x": rng.standard_normal((batch, 3, 16, 16)).astype(np.float32)}, (1, 1, 3), None


SMALL = {"bert": lambda: bert(False), "bert_norm_op": lambda: bert(True), "gpt": gpt, "convnet": convnet}


def operators(path):
    graph = onnx.load(path, load_external_data=False).graph
    return collections.Counter((node.domain + "." if node.domain else "") + node.op_type for node in graph.node)


def variants(path, transformer, folder):
    """name → file"""
    made = {"original": path}
    for name, level in (("extended", ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED), ("all", ort.GraphOptimizationLevel.ORT_ENABLE_ALL)):
        made[name] = folder / f"{name}.onnx"
        session(path, level, made[name])
    made["half"] = folder / "half.onnx"
    onnx.save(convert_float_to_float16(onnx.load(path), keep_io_types=True), made["half"])
    for name, settings in {"fused": {}, "multi_head": {"use_multi_head_attention": True}, "without_embedding": {"enable_embed_layer_norm": False}}.items() if transformer else ():
        options = FusionOptions(transformer["model_type"])
        options.enable_gelu_approximation = False
        for key, value in settings.items():
            setattr(options, key, value)
        result = optimizer.optimize_model(str(path), **transformer, opt_level=0, optimization_options=options, use_gpu=False)
        made[name] = folder / f"{name}.onnx"
        result.save_model_to_file(str(made[name]))
    return made


def check(path, feeds, profile, transformer, folder):
    """Prints a line for each variant; returns how many fail."""
    failed, base = 0, session(path)
    answers = [base.run(None, feed) for feed in feeds]
    for name, file in variants(path, transformer, folder).items():
        found = {op: count for op, count in operators(file).items() if "." in op}
        engine = folder / "model.engine"
        built = run(BIN / "engine-build", file, "-o", engine, "--no-tune", *profile)
        if any(op.startswith("com.microsoft.nchwc") for op in found):
            listed = built.stderr.count("ORT_ENABLE_EXTENDED")
            wrong = None if built.returncode == 3 and listed >= 1 else f"exit status {built.returncode}, need 3 and what to do: {built.stderr[:300]}"
        elif built.returncode:
            wrong = built.stderr.strip()[:2000]
        else:
            wrong = compare(engine, feeds, answers, folder, HALF_ATOL if name == "half" else ATOL)
        print(f"  {'FAIL' if wrong else 'ok  '} {name}: {', '.join(f'{count} {op}' for op, count in found.items()) or 'no operators of com.microsoft'}{': ' + wrong if wrong else ''}")
        failed += wrong is not None
    return failed


def small(name, folder):
    made, feed, sizes, transformer = SMALL[name]()
    path = folder / "model.onnx"
    onnx.save(made, path)
    low, high, batch = sizes
    profile = []
    for tensor in made.graph.input:
        dims = [[size if not d.HasField("dim_value") else d.dim_value for d, size in zip(tensor.type.tensor_type.shape.dim, at)]
                for at in ([1, low, 0, 0], [2, max(high // 2, 1), 0, 0], [batch, high, 0, 0])]
        profile += ["--profile", f"{tensor.name}=" + ":".join("x".join(map(str, d)) for d in dims)]
    return check(path, [feed(1, low), feed(batch, high), feed(2, max(high // 2, 1))], profile, transformer, folder)


def zoo(name, folder):
    import json
    recipe = json.loads((MODELS / name / "recipe.json").read_text())
    files = sorted((MODELS / name / "calib").glob("*.npz"))[:2]
    path = MODELS / name / "model.onnx"
    inputs = session(path).get_inputs()
    if files:
        feeds = [dict(np.load(file)) for file in files]
        feeds = [{x.name: feed[x.name] for x in inputs} for feed in feeds]
    else:
        feeds = [{x.name: rng.standard_normal([d if isinstance(d, int) else 1 for d in x.shape]).astype(np.float32) for x in inputs}]
    profile = []
    for part in (recipe.get("profile") or "").split(","):
        profile += ["--profile", part] if part else []
    transformer = {"minilm_l6": {"model_type": "bert", "num_heads": 12, "hidden_size": 384},
                   "bert_base": {"model_type": "bert", "num_heads": 12, "hidden_size": 768}}.get(name)
    return check(path, feeds, profile, transformer, folder)


def main():
    is_zoo = "--zoo" in NAMES
    chosen = [name for name in NAMES if name != "--zoo"]
    known = sorted(path.parent.name for path in MODELS.glob("*/model.onnx")) if is_zoo else list(SMALL)
    failed = 0
    for name in chosen or known:
        print(f"{name}:", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            failed += (zoo if is_zoo else small)(name, Path(folder))
    return 1 if failed else 0


sys.exit(main())
