#!/usr/bin/env python3
"""Single operators at sizes typical of exported models, Ingot beside onnxruntime, one thread each: which have no fast kernel.

    operators.py BIN_DIR [WORD ...]     those whose name contains a word, or all; needs scripts/setup test

Prints milliseconds (medians) of both, their ratio, and the tactics of Ingot's steps; the worst ratio last.
"""
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

BIN, WORDS = Path(sys.argv[1]).resolve(), sys.argv[2:]
SECONDS = 0.4
rng = np.random.default_rng(3)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def ints(most, *shape):
    return rng.integers(0, most, shape, dtype=np.int64)


def recurrent(cell, steps, batch, inputs, hidden, directions=1, **attributes):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[cell]
    weights = [f32(directions, gates * hidden, inputs) / 16, f32(directions, gates * hidden, hidden) / 16, f32(directions, 2 * gates * hidden) / 16]
    return cell, [f32(steps, batch, inputs)], weights, {"hidden_size": hidden, "direction": "bidirectional" if directions == 2 else "forward", **attributes}


def boxes(n):
    corner = rng.random((1, n, 2), dtype=np.float32) * 600
    return np.concatenate([corner, corner + rng.random((1, n, 2), dtype=np.float32) * 60], 2)


# name → operator, what is fed, constants behind it, attributes; opset 18
CASES = {
    "lstm 32x1x256 h256": recurrent("LSTM", 32, 1, 256, 256),
    "lstm both ways 80x8x512 h256": recurrent("LSTM", 80, 8, 512, 256, 2),
    "lstm 1x1x128 h128": recurrent("LSTM", 1, 1, 128, 128),
    "gru 32x1x256 h256": recurrent("GRU", 32, 1, 256, 256, linear_before_reset=1),
    "gru keras 40x4x128 h128": recurrent("GRU", 40, 4, 128, 128),
    "rnn 32x4x256 h256": recurrent("RNN", 32, 4, 256, 256),
    "topk 1000 k5": ("TopK", [f32(1, 1000)], [np.array([5])], {}),
    "topk 8x8400 k300": ("TopK", [f32(8, 8400)], [np.array([300])], {}),
    "topk 1x672000 k100": ("TopK", [f32(1, 672000)], [np.array([100])], {}),
    "topk axis1 1x300x64": ("TopK", [f32(1, 300, 64)], [np.array([10])], {"axis": 1}),
    "nms 8400": ("NonMaxSuppression", [boxes(8400), rng.random((1, 8, 8400), dtype=np.float32)], [np.array([100]), np.float32([0.5]), np.float32([0.3])], {}),
    "scatter_elements 512x768": ("ScatterElements", [f32(512, 768)], [ints(512, 128, 768), f32(128, 768)], {"axis": 0}),
    "scatter_elements add": ("ScatterElements", [f32(512, 768)], [ints(512, 128, 768), f32(128, 768)], {"axis": 0, "reduction": "add"}),
    "scatter_nd rows 512x768": ("ScatterND", [f32(512, 768)], [ints(512, 128, 1), f32(128, 768)], {}),
    "scatter_nd elements": ("ScatterND", [f32(64, 64, 64)], [ints(64, 20000, 3), f32(20000)], {}),
    "cumsum last 64x1024": ("CumSum", [f32(64, 1024)], [np.array(1)], {}),
    "cumsum axis1 1x512x768": ("CumSum", [f32(1, 512, 768)], [np.array(1)], {}),
    "cumsum s64 8x512": ("CumSum", [ints(2, 8, 512)], [np.array(1)], {}),
    "grid_sample 1x64x64x64": ("GridSample", [f32(1, 64, 64, 64), f32(1, 64, 64, 2) / 2], [], {}),
    "instance_norm 1x64x128x128": ("InstanceNormalization", [f32(1, 64, 128, 128)], [f32(64), f32(64)], {}),
    "batch_norm 1x64x56x56": ("BatchNormalization", [f32(1, 64, 56, 56)], [f32(64), f32(64), f32(64), abs(f32(64))], {}),
    "argmax classes 1x21x256x256": ("ArgMax", [f32(1, 21, 256, 256)], [], {"axis": 1, "keepdims": 0}),
    "argmax last 8x50257": ("ArgMax", [f32(8, 50257)], [], {"axis": -1}),
    "softmax axis1 1x21x256x256": ("Softmax", [f32(1, 21, 256, 256)], [], {"axis": 1}),
    "logsoftmax 8x50257": ("LogSoftmax", [f32(8, 50257)], [], {}),
    "gather_elements 512x768": ("GatherElements", [f32(512, 768)], [ints(512, 128, 768)], {"axis": 0}),
    "gather_nd rows": ("GatherND", [f32(512, 768)], [ints(512, 128, 1)], {}),
    "gather axis1 1x256x512": ("Gather", [f32(1, 256, 512)], [ints(256, 100)], {"axis": 1}),
    "gather last 512x768": ("Gather", [f32(512, 768)], [ints(768, 100)], {"axis": 1}),
    "gather s64 rows": ("Gather", [ints(9, 4096, 64)], [ints(4096, 512)], {}),
    "onehot 512x1000": ("OneHot", [ints(1000, 512)], [np.array([1000]), np.float32([0, 1])], {}),
    "trilu 8x512x512": ("Trilu", [f32(8, 512, 512)], [], {"upper": 0}),
    "resize cubic 1x3x128 x2": ("Resize", [f32(1, 3, 128, 128)], [None, np.float32([1, 1, 2, 2])], {"mode": "cubic"}),
    "resize linear 1x64x64 x2": ("Resize", [f32(1, 64, 64, 64)], [None, np.float32([1, 1, 2, 2])], {"mode": "linear"}),
    "resize nearest 1x64x64 x2": ("Resize", [f32(1, 64, 64, 64)], [None, np.float32([1, 1, 2, 2])], {"mode": "nearest"}),
    "roi_align 100": ("RoiAlign", [f32(1, 64, 50, 50)], [boxes(100)[0] / 16, np.zeros(100, np.int64)], {"output_height": 7, "output_width": 7, "sampling_ratio": 2}),
    "lrn 1x96x55x55": ("LRN", [f32(1, 96, 55, 55)], [], {"size": 5}),
    "maxpool indices": ("MaxPool", [f32(1, 64, 112, 112)], [], {"kernel_shape": [2, 2], "strides": [2, 2], "outputs": 2}),
    "maxpool 3x3": ("MaxPool", [f32(1, 64, 112, 112)], [], {"kernel_shape": [3, 3], "strides": [2, 2]}),
    "conv3d 1x8x16x32x32": ("Conv", [f32(1, 8, 16, 32, 32)], [f32(16, 8, 3, 3, 3)], {"pads": [1] * 6}),
    "conv1d 1x80x3000 (whisper)": ("Conv", [f32(1, 80, 3000)], [f32(384, 80, 3)], {"pads": [1, 1]}),
    "conv_transpose 1x64x32x32": ("ConvTranspose", [f32(1, 64, 32, 32)], [f32(64, 32, 4, 4)], {"strides": [2, 2], "pads": [1] * 4}),
    "group_norm primitive": ("LpNormalization", [f32(8, 512, 768)], [], {"axis": -1}),
    "mvn": ("MeanVarianceNormalization", [f32(1, 64, 56, 56)], [], {}),
    "lp_pool": ("GlobalLpPool", [f32(1, 512, 14, 14)], [], {"p": 2}),
    "add s64 512x512": ("Add", [ints(9, 512, 512), ints(9, 512, 512)], [], {}),
    "mul s64 by scalar": ("Mul", [ints(9, 512, 512)], [np.array(3)], {}),
    "equal s64": ("Equal", [ints(9, 512, 512)], [np.array(1)], {}),
    "and bool": ("And", [ints(2, 512, 512) > 0, ints(2, 512, 512) > 0], [], {}),
    "not bool": ("Not", [ints(2, 512, 512) > 0], [], {}),
    "where": ("Where", [ints(2, 512, 512) > 0, f32(512, 512)], [np.float32(-1e9)], {}),
    "cast s64 f32": ("Cast", [ints(9, 512, 512)], [], {"to": TensorProto.FLOAT}),
    "cast f32 s64": ("Cast", [f32(512, 512)], [], {"to": TensorProto.INT64}),
    "cast f32 f16": ("Cast", [f32(512, 512)], [], {"to": TensorProto.FLOAT16}),
    "cast bool f32": ("Cast", [ints(2, 512, 512) > 0], [], {"to": TensorProto.FLOAT}),
    "reduce_prod": ("ReduceProd", [f32(64, 1024)], [np.array([1])], {"keepdims": 0}),
    "reduce_l2": ("ReduceL2", [f32(64, 1024)], [np.array([1])], {}),
    "reduce_sum s64": ("ReduceSum", [ints(9, 64, 1024)], [np.array([1])], {"opset": 13}),
    "reduce_logsumexp": ("ReduceLogSumExp", [f32(64, 1024)], [np.array([1])], {}),
    "mod f32": ("Mod", [f32(512, 512)], [np.float32(0.7)], {"fmod": 1}),
    "pow f32": ("Pow", [abs(f32(512, 512))], [np.float32(2.2)], {}),
    "sin": ("Sin", [f32(512, 512)], [], {}), "cos": ("Cos", [f32(512, 512)], [], {}), "erf": ("Erf", [f32(512, 512)], [], {}),
    "round": ("Round", [f32(512, 512)], [], {}), "sign": ("Sign", [f32(512, 512)], [], {}), "isnan": ("IsNaN", [f32(512, 512)], [], {}),
    "tan": ("Tan", [f32(512, 512)], [], {}), "atan": ("Atan", [f32(512, 512)], [], {}), "softplus": ("Softplus", [f32(512, 512)], [], {}),
    "prelu": ("PRelu", [f32(1, 64, 56, 56)], [f32(64, 1, 1)], {}), "mish": ("Mish", [f32(512, 512)], [], {}),
    "reverse_sequence": ("ReverseSequence", [f32(64, 8, 256)], [np.full(8, 60)], {}),
    "depth_to_space": ("DepthToSpace", [f32(1, 64, 64, 64)], [], {"blocksize": 2}),
    "einsum": ("Einsum", [f32(8, 64, 32), f32(8, 64, 32)], [], {"equation": "bic,bjc->bij"}),
    "matmul f16": ("MatMul", [f32(64, 256).astype(np.float16)], [f32(256, 256).astype(np.float16)], {}),
    "matmul f64": ("MatMul", [f32(64, 256).astype(np.float64)], [f32(256, 256).astype(np.float64)], {}),
    "add f16": ("Add", [f32(512, 512).astype(np.float16), f32(512, 512).astype(np.float16)], [], {}),
    "matmul_integer": ("MatMulInteger", [ints(255, 64, 256).astype(np.uint8)], [ints(120, 256, 256).astype(np.int8)], {}),
    "dynamic_quantize": ("DynamicQuantizeLinear", [f32(64, 1024)], [], {"outputs": 3}),
    "range-like tile": ("Tile", [f32(1, 512)], [np.array([512, 1])], {}),
    "expand": ("Expand", [f32(512, 1)], [np.array([512, 512])], {}),
    "nonzero": ("NonZero", [ints(2, 256, 256).astype(np.float32)], [], {}),
    "unique": ("Unique", [ints(99, 4096)], [], {}),
    "compress": ("Compress", [f32(4096, 64), ints(2, 4096) > 0], [], {"axis": 0}),
    "pad reflect": ("Pad", [f32(1, 32, 64, 64)], [np.array([0, 0, 2, 2, 0, 0, 2, 2])], {"mode": "reflect"}),
    "slice": ("Slice", [f32(1, 512, 768)], [np.array([1]), np.array([400]), np.array([1]), np.array([2])], {}),
    "deform_conv": ("DeformConv", [f32(1, 16, 32, 32)], [f32(16, 16, 3, 3), f32(1, 18, 32, 32)], {"pads": [1] * 4, "opset": 19}),
    "dft 1x512": ("DFT", [f32(8, 512, 1)], [], {"axis": 1, "opset": 17}),
}


def model_of(op, fed, constants, attributes):
    attributes = dict(attributes)
    outputs, opset = attributes.pop("outputs", 2 if op == "TopK" else 1), attributes.pop("opset", 18)
    names = [f"x{i}" for i in range(len(fed))] + ["" if c is None else f"c{i}" for i, c in enumerate(constants)]
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], **attributes)
    inputs = [helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for i, x in enumerate(fed)]
    held = [numpy_helper.from_array(np.asarray(c), f"c{i}") for i, c in enumerate(constants) if c is not None]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)], held)
    made = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])
    typed = onnx.shape_inference.infer_shapes(made)
    for output, found in zip(made.graph.output, typed.graph.output):
        output.type.CopyFrom(found.type)
    return made


def theirs(made, fed):
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed, times = {f"x{i}": x for i, x in enumerate(fed)}, []
    session.run(None, feed)
    end = time.perf_counter() + SECONDS
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        session.run(None, feed)
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def ours(made, fed, folder):
    path, engine, said = folder / "m.onnx", folder / "m.engine", folder / "said.json"
    onnx.save(made, path)
    built = subprocess.run([BIN / "engine-build", path, "-o", engine, "--no-verify"], capture_output=True, text=True)
    if built.returncode:
        return None, built.stderr.strip()[:100]
    files = []
    for i, x in enumerate(fed):
        files.append(str(folder / f"{i}.pb"))
        Path(files[-1]).write_bytes(numpy_helper.from_array(x, f"x{i}").SerializeToString())
    done = subprocess.run([BIN / "engine-run", engine, "--profile", "--bench", "--inputs", ",".join(files), "--seconds", str(SECONDS), "--json", said],
                          capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip()[:100]
    report = json.loads(said.read_text())
    return report["latency_ms"]["median"], " ".join(row["tactic"] for row in report["profile"])


def main():
    rows = []
    for name, case in CASES.items():
        if WORDS and not any(word in name for word in WORDS):
            continue
        made = model_of(*case)
        with tempfile.TemporaryDirectory() as folder:
            mine, tactics = ours(made, case[1], Path(folder))
        try:
            peer = theirs(made, case[1])
        except Exception as error:
            peer, tactics = float("nan"), f"{tactics}; onnxruntime: {' '.join(str(error).split())[:60]}"
        rows.append((mine / peer if mine and peer == peer else 0, name, mine, peer, tactics))
    print(f"{'ratio':>7} {'ingot ms':>10} {'ort ms':>10}  operator")
    for ratio, name, mine, peer, tactics in sorted(rows):
        print(f"{ratio:7.2f} {'-' if mine is None else f'{mine:.4f}':>10} {peer:10.4f}  {name}: {tactics}")


if __name__ == "__main__":
    main()
