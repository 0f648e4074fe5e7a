#!/usr/bin/env python3
"""Models whose dims may be 0 (an empty past, an empty batch), made here, through the tools and against onnxruntime.

    empty_tensor_models.py BIN_DIR [NAME ...]     needs numpy, onnx and onnxruntime, as scripts/setup test installs them
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

BIN = Path(sys.argv[1]).resolve()
ONLY = sys.argv[2:]
F, I = TensorProto.FLOAT, TensorProto.INT64
RTOL, ATOL = 1e-3, 1e-5
MODES = (["--no-tune"], ["--threads", "2"], ["--no-tune", "--no-optimize", "--reference"])
rng = np.random.default_rng(11)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), **attributes)


def constant(name, value, dtype=np.int64):
    return numpy_helper.from_array(np.asarray(value, dtype=dtype), name)


def weights(name, *shape):
    return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32) * 0.3, name)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def model(nodes, inputs, outputs, initializers):
    main = helper.make_graph(nodes, "net", [helper.make_tensor_value_info(*i) for i in inputs],
                             [helper.make_tensor_value_info(name, F, None) for name in outputs], initializers)
    return helper.make_model(main, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def decoder():
    """One attention with a past of 0 to 128 steps, its mask and positions by shape arithmetic."""
    heads, depth = 2, 16
    nodes = [node("Concat", "past_k,k", "keys", axis=2), node("Concat", "past_v,v", "values", axis=2),
             node("Shape", "past_k", "ps"), node("Gather", "ps,two", "before", axis=0), node("Shape", "keys", "ks"),
             node("Gather", "ks,two", "after", axis=0), node("Slice", "table,before,after,zero", "positions"),
             node("Add", "q,positions", "q1"), node("Transpose", "keys", "kt", perm=[0, 1, 3, 2]), node("MatMul", "q1,kt", "s"),
             node("Mul", "s,scale", "s1"), node("Add", "s1,mask", "s2"), node("Softmax", "s2", "p", axis=-1), node("MatMul", "p,values", "y"),
             node("ReduceSum", "past_k,two", "sums"), node("ReduceMax", "keys", "peak", axes=[2])]
    net = model(nodes, [(n, F, ["b", heads, d, depth]) for n, d in (("q", "s"), ("k", "s"), ("v", "s"), ("past_k", "p"), ("past_v", "p"))]
                + [("mask", F, ["b", 1, 1, "p + s"])],
                ["y", "keys", "values", "sums", "peak"],
                [constant("two", [2]), constant("zero", [0]), constant("scale", depth ** -0.5, np.float32), weights("table", 512, depth)])
    feeds = []
    for b, s, p in ((1, 1, 0), (2, 7, 0), (1, 1, 1), (1, 3, 128), (2, 1, 33), (0, 4, 8), (0, 1, 0)):
        feeds.append({"q": f32(b, heads, s, depth), "k": f32(b, heads, s, depth), "v": f32(b, heads, s, depth),
                      "past_k": f32(b, heads, p, depth), "past_v": f32(b, heads, p, depth), "mask": f32(b, 1, 1, p + s)})
    step, past = "0x2x1x16:1x2x1x16:2x2x8x16", "0x2x0x16:1x2x16x16:2x2x128x16"
    return net, feeds, [f"{n}={step}" for n in "qkv"] + [f"past_{n}={past}" for n in "kv"]


def empty_only():
    """As above in small, with a past that is empty most of the time, also while the engine is tuned."""
    net = model([node("Concat", "past,x", "all", axis=1), node("MatMul", "all,w", "y"), node("Relu", "past", "r")],
                [("past", F, [1, "p", 8]), ("x", F, [1, 2, 8])], ["y", "r"], [weights("w", 8, 5)])
    return net, [{"past": f32(1, p, 8), "x": f32(1, 2, 8)} for p in (0, 3, 16)], ["past=1x0x8:1x0x8:1x16x8"]


def pictures():
    """An empty batch through convolutions of all kinds, pools and a classifier."""
    nodes = [node("Conv", "x,k1,c1", "a", pads=[1, 1, 1, 1], strides=[2, 2]), node("Relu", "a", "a1"),
             node("Conv", "a1,kd,c1", "d", pads=[1, 1, 1, 1], group=16), node("Clip", "d,low,high", "d1"),
             node("Conv", "d1,kp", "p"), node("Add", "p,a1", "r"), node("MaxPool", "r", "m", kernel_shape=[2, 2], strides=[2, 2]),
             node("Resize", "m,,scales", "up", mode="nearest"), node("ConvTranspose", "m,kt", "t", strides=[2, 2]),
             node("Concat", "up,t", "both", axis=1), node("AveragePool", "both", "av", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
             node("GlobalAveragePool", "av", "g"), node("Flatten", "g", "f"), node("Gemm", "f,wg,bg", "l"), node("Softmax", "l", "y", axis=-1),
             node("LogSoftmax", "l", "z", axis=-1), node("InstanceNormalization", "m,one,nil", "inorm")]
    init = [weights("k1", 16, 3, 3, 3), weights("c1", 16), weights("kd", 16, 1, 3, 3), weights("kp", 16, 16, 1, 1), weights("kt", 16, 8, 2, 2),
            weights("wg", 24, 10), weights("bg", 10), constant("low", 0, np.float32), constant("high", 6, np.float32),
            constant("scales", [1, 1, 2, 2], np.float32), constant("one", np.ones(16), np.float32), constant("nil", np.zeros(16), np.float32)]
    net = model(nodes, [("x", F, ["n", 3, 24, 24])], ["y", "z", "inorm"], init)
    return net, [{"x": f32(n, 3, 24, 24)} for n in (0, 1, 4)], ["x=0x3x24x24:2x3x24x24:4x3x24x24"]


def text():
    """An encoder layer over no sentences, and over sentences without words."""
    nodes = [node("Gather", "table,ids", "x"), node("Shape", "x", "sh"), node("Gather", "sh,i0", "b", axis=0), node("Gather", "sh,i1", "s", axis=0),
             node("Concat", "b,s,four,eight", "split", axis=0), node("Concat", "b,s,wide", "join", axis=0)]
    for part in "qkv":
        nodes += [node("MatMul", f"x,w{part}", part + "0"), node("Reshape", f"{part}0,split", part + "1"), node("Transpose", part + "1", part, perm=[0, 2, 1, 3])]
    nodes += [node("Transpose", "k", "kt", perm=[0, 1, 3, 2]), node("MatMul", "q,kt", "sc"), node("Softmax", "sc", "p", axis=-1), node("MatMul", "p,v", "m"),
              node("Transpose", "m", "m1", perm=[0, 2, 1, 3]), node("Reshape", "m1,join", "m2"), node("Add", "x,m2", "r"),
              node("LayerNormalization", "r,gain,shift", "n", axis=-1), node("MatMul", "n,wu", "u"), node("Add", "u,bu", "u1"), node("Sigmoid", "u1", "sg"),
              node("Mul", "u1,sg", "g"), node("MatMul", "g,wd", "y"), node("ReduceMean", "y", "rows", axes=[2]), node("ReduceSum", "y,one_axis", "pooled"),
              node("Where", "bits,y,n", "chosen")]
    init = [weights("table", 50, 32), constant("i0", [0]), constant("i1", [1]), constant("four", [4]), constant("eight", [8]), constant("wide", [32]),
            weights("wu", 32, 64), weights("bu", 64), weights("wd", 64, 32), weights("gain", 32), weights("shift", 32), constant("one_axis", [1]),
            constant("bits", np.arange(32) % 2 == 0, bool)] + [weights("w" + part, 32, 32) for part in "qkv"]
    net = model(nodes, [("ids", I, ["batch", "seq"])], ["y", "rows", "pooled", "chosen"], init)
    return net, [{"ids": rng.integers(0, 50, shape)} for shape in ((0, 5), (2, 9), (0, 0), (1, 1))], ["ids=0x0:2x9:4x16"]


def moves():
    """Ops that move elements, of rows that may be none."""
    nodes = [node("Concat", "x,k", "c", axis=0), node("Pad", "x,pads", "pad"), node("Slice", "c,zero,two,axis0", "sl"), node("Split", "x,parts", "s1,s2", axis=1),
             node("Gather", "k,rows", "taken"), node("Expand", "one_row,full", "ex"), node("Tile", "x,twice", "ti"), node("Transpose", "x", "tr", perm=[1, 0]),
             node("ReduceSum", "x,axis0", "sum"), node("ReduceProd", "x", "prod", axes=[0]), node("CumSum", "x,axis_number", "cum"),
             node("Unsqueeze", "x,axis0", "un"), node("Where", "bits,x,x", "wh"), node("Exp", "x", "e"), node("Mul", "x,factors", "mu"),
             node("ScatterND", "c,no_places,none", "sc"), node("Cast", "x", "ca", to=I), node("Cast", "ca", "cb", to=F), node("MatMul", "tr,x", "gram")]
    init = [weights("k", 3, 6), constant("pads", [1, 0, 2, 0]), constant("zero", [0]), constant("two", [2]), constant("axis0", [0]), constant("parts", [2, 4]),
            weights("one_row", 1, 6), constant("full", [0, 6]), constant("twice", [2, 2]), constant("axis_number", 0), constant("bits", np.arange(6) % 2 == 0, bool),
            weights("factors", 6), constant("no_places", np.zeros((0, 1))), constant("none", np.zeros((0, 6)), np.float32)]
    net = model(nodes, [("x", F, ["n", 6]), ("rows", I, ["m"])],
                ["pad", "sl", "s1", "s2", "taken", "ex", "ti", "sum", "prod", "cum", "un", "wh", "e", "mu", "sc", "cb", "gram"], init)
    feeds = [{"x": f32(n, 6), "rows": rng.integers(0, 3, m)} for n, m in ((0, 0), (0, 4), (5, 0), (7, 2))]
    return net, feeds, ["x=0x6:4x6:9x6", "rows=0:2:5"]


CASES = [decoder, empty_only, pictures, text, moves]


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace", timeout=300)


def compare(got, want):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"got {got.dtype}{list(got.shape)}, need {want.dtype}{list(want.shape)}"
    if not np.allclose(got, want, RTOL, ATOL, equal_nan=True):
        return f"differs by {np.abs(got.astype(np.float64) - want).max():.3g}"
    return None


def check(make, folder):
    net, feeds, profiles = make()
    path, engine = folder / "model.onnx", folder / "model.engine"
    onnx.save(net, path)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(net.SerializeToString(), options)
    for mode in MODES:
        built = run(BIN / "engine-build", path, "-o", engine, *[word for profile in profiles for word in ("--profile", profile)], *mode)
        if built.returncode != 0:
            return f"{mode}: build: {built.stderr.strip()}"
        for step, feed in enumerate(feeds):
            where = f"{mode}, {[list(value.shape) for value in feed.values()]}"
            files = []
            for i, tensor in enumerate(net.graph.input):
                files.append(folder / f"in_{i}.{'npy' if step % 2 else 'pb'}")
                if step % 2:
                    np.save(files[-1], feed[tensor.name])
                else:
                    files[-1].write_bytes(numpy_helper.from_array(feed[tensor.name], tensor.name).SerializeToString())
            done = run(BIN / "engine-run", engine, "--inputs", ",".join(map(str, files)), "--outputs-dir", folder / "out")
            if done.returncode != 0:
                return f"{where}: run: {done.stderr.strip()}"
            for i, answer in enumerate(session.run(None, feed)):
                tensor = onnx.TensorProto()
                tensor.ParseFromString((folder / f"out/out_{i}.pb").read_bytes())
                if wrong := compare(numpy_helper.to_array(tensor), answer):
                    return f"{where}, output {net.graph.output[i].name}: {wrong}"
    return None


def main():
    failed = 0
    for make in CASES:
        if ONLY and make.__name__ not in ONLY:
            continue
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(make, Path(folder))
        print(f"{'FAIL' if wrong else 'ok  '} {make.__name__}{': ' + wrong if wrong else ''}")
        failed += wrong is not None
    return 1 if failed else 0


sys.exit(main())
