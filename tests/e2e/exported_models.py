#!/usr/bin/env python3
"""Networks of the kinds that people export, small and with random weights, dims left open: engines of them against onnxruntime.

    exported_models.py BIN_DIR [NAME ...]      needs what scripts/setup test installs

Each is built optimised, as it is by reference code alone, and with --fp16, and run at several shapes within its profile.
"""
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

from torch_net import BIN, F, I, U8, Net, compare, rng, run, session

ATOL, HALF_ATOL = 2e-4, 5e-3  # of an output's largest
A = np.array
END = A([2**63 - 1])
MODES = [], ["--no-tune", "--no-optimize", "--reference"], ["--fp16"]


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def ends(net, value):
    """A scalar dim as a list of one."""
    return net.add("Unsqueeze", value, A([0]))


def crnn():
    """Text recognition: the width becomes time, two LSTMs both ways."""
    net = Net()
    x = net.add("Relu", net.add("Conv", "x", f32(16, 1, 3, 3) / 3, f32(16), pads=[1] * 4))
    x = net.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.add("Relu", net.add("Conv", x, f32(24, 16, 3, 3) / 12, f32(24), pads=[1] * 4))
    x = net.add("MaxPool", x, kernel_shape=[2, 1], strides=[2, 1])
    x = net.add("Squeeze", net.add("Conv", x, f32(32, 24, 8, 1) / 14, f32(32)), A([2]))
    x = net.add("Transpose", x, perm=[2, 0, 1])
    for inputs in (32, 40):
        y = net.add("LSTM", x, f32(2, 80, inputs) / 8, f32(2, 80, 20) / 6, f32(2, 160) / 4, hidden_size=20, direction="bidirectional")
        x = net.add("Reshape", net.add("Transpose", y, perm=[0, 2, 1, 3]), A([0, 0, -1]))
    x = net.add("Gemm", net.add("Reshape", x, A([-1, 40])), f32(40, 11) / 6, f32(11))
    net.output(net.add("LogSoftmax", x, axis=-1), "y")
    return (net.model([("x", F, ["b", 1, 32, "w"])], [("y", F, ["t", 11])]), [{"x": f32(b, 1, 32, w)} for b, w in ((1, 40), (3, 64), (2, 22))],
            ["x=1x1x32x20:1x1x32x64:4x1x32x100"])


def unet():
    """Odd sizes are padded back by shape arithmetic; the mask is scaled to twice the picture."""
    net = Net()
    high = net.add("Relu", net.add("Conv", "x", f32(8, 3, 3, 3) / 5, f32(8), pads=[1] * 4))
    low = net.add("MaxPool", high, kernel_shape=[2, 2], strides=[2, 2])
    low = net.add("Relu", net.add("Conv", low, f32(16, 8, 3, 3) / 8, f32(16), pads=[2] * 4, dilations=[2, 2]))
    up = net.add("ConvTranspose", low, f32(16, 8, 2, 2) / 4, f32(8), strides=[2, 2])
    want, got = net.add("Shape", high), net.add("Shape", up)
    missing = [ends(net, net.add("Sub", net.add("Gather", want, A(d)), net.add("Gather", got, A(d)))) for d in (2, 3)]
    up = net.add("Pad", up, net.add("Concat", A([0] * 6), *missing, axis=0))
    y = net.add("Conv", net.add("Concat", high, up, axis=1), f32(4, 16, 1, 1) / 4, f32(4))
    twice = net.add("Mul", net.add("Slice", net.add("Shape", "x"), A([2]), A([4]), A([0])), A([2, 2]))
    size = net.add("Concat", net.add("Slice", net.add("Shape", y), A([0]), A([2]), A([0])), twice, axis=0)
    y = net.add("Resize", y, "", "", size, mode="linear", coordinate_transformation_mode="align_corners")
    net.output(net.add("Softmax", y, axis=1), "y")
    return net.model([("x", F, ["b", 3, "h", "w"])], [("y", F, ["b", 4, "h2", "w2"])]), [{"x": f32(1, 3, 17, 22)}, {"x": f32(2, 3, 32, 31)}], [
        "x=1x3x8x8:1x3x32x32:2x3x40x40"]


def llama():
    """RMS norms, rotary positions, grouped queries, a cache that is empty at first, SiLU gates."""
    width, heads, kept, size = 32, 4, 2, 8
    net = Net()
    x, shape = net.add("Gather", net.weights(40, width) * 6, "ids"), net.add("Shape", "ids")
    batch, steps, past = net.add("Gather", shape, A(0)), net.add("Gather", shape, A(1)), net.add("Gather", net.add("Shape", "past_k"), A(2))
    total = net.add("Add", past, steps)
    places = net.add("Unsqueeze", net.add("Cast", net.add("Range", past, total, A(1)), to=F), A([1]))
    angles = net.add("MatMul", places, (1 / 10000 ** (np.arange(0, size, 2) / size)).astype(np.float32)[None])
    angles = net.add("Concat", angles, angles, axis=-1)
    cos, sin = net.add("Cos", angles), net.add("Sin", angles)

    def rms(y):
        mean = net.add("ReduceMean", net.add("Pow", y, np.float32(2)), axes=[-1])
        return net.add("Mul", net.add("Mul", y, net.add("Reciprocal", net.add("Sqrt", net.add("Add", mean, np.float32(1e-5))))), 1 + f32(width) / 8)

    def rotated(q):
        first, second = net.add("Slice", q, A([0]), A([size // 2]), A([3])), net.add("Slice", q, A([size // 2]), END, A([3]))
        return net.add("Add", net.add("Mul", q, cos), net.add("Mul", net.add("Concat", net.add("Neg", second), first, axis=-1), sin))

    def split(y, count):
        dims = net.add("Concat", ends(net, batch), ends(net, steps), A([count]), A([size]), axis=0)
        return net.add("Transpose", net.add("Reshape", y, dims), perm=[0, 2, 1, 3])

    def repeated(y):
        dims = net.add("Concat", ends(net, batch), A([kept, heads // kept]), ends(net, total), A([size]), axis=0)
        merged = net.add("Concat", ends(net, batch), A([heads]), ends(net, total), A([size]), axis=0)
        return net.add("Reshape", net.add("Expand", net.add("Unsqueeze", y, A([2])), dims), merged)
    y = rms(x)
    q = rotated(split(net.add("MatMul", y, net.weights(width, width)), heads))
    k = rotated(split(net.add("MatMul", y, net.weights(width, kept * size)), kept))
    v = split(net.add("MatMul", y, net.weights(width, kept * size)), kept)
    k, v = net.add("Concat", "past_k", k, axis=2), net.add("Concat", "past_v", v, axis=2)
    net.output(k, "present_k")
    net.output(v, "present_v")
    scores = net.add("Mul", net.add("MatMul", q, net.add("Transpose", repeated(k), perm=[0, 1, 3, 2])), np.float32(size**-0.5))
    rows = net.add("Unsqueeze", net.add("Range", past, total, A(1)), A([1]))
    columns = net.add("Unsqueeze", net.add("Range", A(0), total, A(1)), A([0]))
    scores = net.add("Where", net.add("LessOrEqual", columns, rows), scores, np.float32(-1e30))
    mixed = net.add("Transpose", net.add("MatMul", net.add("Softmax", scores, axis=-1), repeated(v)), perm=[0, 2, 1, 3])
    mixed = net.add("Reshape", mixed, net.add("Concat", ends(net, batch), ends(net, steps), A([width]), axis=0))
    x = net.add("Add", x, net.add("MatMul", mixed, net.weights(width, width)))
    y = rms(x)
    gate = net.add("MatMul", y, net.weights(width, 64))
    gated = net.add("Mul", net.add("Mul", gate, net.add("Sigmoid", gate)), net.add("MatMul", y, net.weights(width, 64)))
    x = net.add("Add", x, net.add("MatMul", gated, net.weights(64, width)))
    net.output(net.add("MatMul", rms(x), net.weights(width, 40)), "logits")
    caches = [(name, F, ["b", kept, "p", size]) for name in ("past_k", "past_v")]
    made = net.model([("ids", I, ["b", "s"]), *caches], [("logits", F, ["b", "s", 40]), ("present_k", F, ["b", kept, "t", size]), ("present_v", F, ["b", kept, "t", size])])
    feeds = [{"ids": rng.integers(0, 40, (b, s)), "past_k": f32(b, kept, p, size), "past_v": f32(b, kept, p, size)} for b, s, p in ((1, 3, 0), (1, 1, 5), (2, 4, 1), (1, 7, 9))]
    return made, feeds, ["ids=1x1:1x4:2x8"] + [f"{name}=1x{kept}x0x{size}:1x{kept}x6x{size}:2x{kept}x16x{size}" for name in ("past_k", "past_v")]


def swin():
    """Shifted windows over a picture of open size, by einsums."""
    side = 4
    net = Net()
    shape = net.add("Shape", "x")
    batch, height, width = (net.add("Slice", shape, A([d]), A([d + 1])) for d in range(3))

    def roll(y, count, axis):
        return net.add("Concat", net.add("Slice", y, A([-count]), END, A([axis])), net.add("Slice", y, A([0]), A([-count]), A([axis])), axis=axis)
    x = roll(roll("x", 2, 1), 2, 2)
    rows, columns = net.add("Div", height, A([side])), net.add("Div", width, A([side]))
    windows = net.add("Reshape", x, net.add("Concat", batch, rows, A([side]), columns, A([side]), A([16]), axis=0))
    windows = net.add("Reshape", net.add("Transpose", windows, perm=[0, 1, 3, 2, 4, 5]), A([-1, side * side, 16]))
    q, k = (net.add("Einsum", windows, f32(16, 2, 8) / 4, equation="bnc,chd->bhnd") for _ in range(2))
    scores = net.add("Add", net.add("Einsum", q, k, equation="bhid,bhjd->bhij"), f32(2, 16, 16))
    y = net.add("Einsum", net.add("Softmax", scores, axis=-1), q, equation="bhij,bhjd->bihd")
    y = net.add("Transpose", net.add("Reshape", y, net.add("Concat", batch, rows, columns, A([side, side, 16]), axis=0)), perm=[0, 1, 3, 2, 4, 5])
    net.output(net.add("Reshape", y, net.add("Concat", batch, height, width, A([16]), axis=0)), "y")
    dims = ["b", "h", "w", 16]
    return net.model([("x", F, dims)], [("y", F, dims)]), [{"x": f32(1, 8, 12, 16)}, {"x": f32(2, 4, 8, 16)}], ["x=1x4x4x16:1x8x8x16:2x16x16x16"]


def yolo():
    """A detector to the end: grids by Range and Expand, boxes that suppress each other, as many results as are found."""
    net = Net()
    x = net.add("Conv", "x", f32(18, 3, 3, 3) / 5, f32(18), pads=[1] * 4, strides=[8, 8])
    shape = net.add("Shape", x)
    height, width = net.add("Gather", shape, A(2)), net.add("Gather", shape, A(3))
    size = net.add("Concat", ends(net, height), ends(net, width), axis=0)
    x = net.add("Sigmoid", net.add("Transpose", net.add("Reshape", x, net.add("Concat", A([1, 3, 6]), size, axis=0)), perm=[0, 1, 3, 4, 2]))
    rows = net.add("Expand", net.add("Unsqueeze", net.add("Range", A(0), height, A(1)), A([1])), size)
    columns = net.add("Expand", net.add("Unsqueeze", net.add("Range", A(0), width, A(1)), A([0])), size)
    grid = net.add("Cast", net.add("Concat", net.add("Unsqueeze", columns, A([2])), net.add("Unsqueeze", rows, A([2])), axis=2), to=F)
    centre, extent, rest = net.add("Split", x, A([2, 2, 2]), outputs=3, axis=4)
    centre = net.add("Mul", net.add("Add", net.add("Sub", net.add("Mul", centre, np.float32(2)), np.float32(0.5)), grid), np.float32(8))
    extent = net.add("Mul", net.add("Pow", net.add("Mul", extent, np.float32(2)), np.float32(2)), np.abs(f32(1, 3, 1, 1, 2)) * 20)
    boxes = net.add("Reshape", net.add("Concat", centre, extent, axis=4), A([1, -1, 4]))
    scores = net.add("Transpose", net.add("Reshape", rest, A([1, -1, 2])), perm=[0, 2, 1])
    kept = net.add("NonMaxSuppression", boxes, scores, A([20]), np.float32([0.4]), np.float32([0.45]), center_point_box=1)
    net.output(net.add("Gather", net.add("Squeeze", boxes, A([0])), net.add("Gather", kept, A(2), axis=1), axis=0), "boxes")
    net.output(net.add("GatherND", scores, kept), "scores")
    return net.model([("x", F, [1, 3, "h", "w"])], [("boxes", F, ["n", 4]), ("scores", F, ["n"])]), [{"x": f32(1, 3, 64, 48)}, {"x": f32(1, 3, 96, 96)}], [
        "x=1x3x32x32:1x3x64x64:1x3x96x96"]


def whisper():
    """An encoder of sound: one-dimensional convolutions, places cut to the length, attention."""
    net = Net()
    x = net.gelu(net.add("Conv", "mel", f32(32, 80, 3) / 15, f32(32), pads=[1, 1]))
    x = net.add("Transpose", net.gelu(net.add("Conv", x, f32(32, 32, 3) / 10, f32(32), pads=[1, 1], strides=[2])), perm=[0, 2, 1])
    length = ends(net, net.add("Gather", net.add("Shape", x), A(1)))
    x = net.add("Add", x, net.add("Slice", f32(50, 32), A([0]), length, A([0])))
    y = net.layer_norm(x, 32, False)

    def heads(part):
        part = net.add("Transpose", net.add("Reshape", part, A([0, -1, 4, 8])), perm=[0, 2, 1, 3])
        return net.add("Reshape", part, net.add("Concat", A([-1]), length, A([8]), axis=0))
    q, k, v = heads(net.add("Mul", net.linear(y, 32, 32), np.float32(8**-0.5))), heads(net.add("MatMul", y, net.weights(32, 32))), heads(net.linear(y, 32, 32))
    mixed = net.add("MatMul", net.add("Softmax", net.add("MatMul", q, net.add("Transpose", k, perm=[0, 2, 1])), axis=-1), v)
    mixed = net.add("Transpose", net.add("Reshape", mixed, net.add("Concat", A([-1, 4]), length, A([8]), axis=0)), perm=[0, 2, 1, 3])
    x = net.add("Add", x, net.linear(net.add("Reshape", mixed, net.add("Concat", A([-1]), length, A([32]), axis=0)), 32, 32))
    net.output(net.layer_norm(x, 32, True), "y")
    return net.model([("mel", F, ["b", 80, "t"])], [("y", F, ["b", "u", 32])]), [{"mel": f32(1, 80, 60)}, {"mel": f32(2, 80, 31)}], ["mel=1x80x10:1x80x60:2x80x100"]


def odds_and_ends():
    """What no network has together: norms, places, triangles, running sums, integers, bits."""
    net = Net()
    x, _ = net.add("Dropout", "x", outputs=2)
    x = net.add("InstanceNormalization", net.add("BatchNormalization", x, abs(f32(6)), f32(6), f32(6), abs(f32(6)) + np.float32(0.1)), f32(6), f32(6))
    x = net.add("PRelu", net.add("LRN", x, size=3), f32(6, 1, 1))
    big = net.add("DepthToSpace", net.add("Concat", x, x, axis=1), blocksize=2, mode="CRD")
    top, places = net.add("TopK", net.add("Flatten", big), A([5]), outputs=2)
    net.output(net.add("CumSum", top, A(1)), "sums")
    net.output(places, "places")
    net.output(net.add("Trilu", net.add("Clip", big, np.float32(-1), np.float32(1)), A(1), upper=0), "triangle")
    net.output(net.add("OneHot", net.add("ArgMin", net.add("Flatten", big), axis=1, keepdims=0), A(7), np.float32([-1, 3])), "one")
    net.output(net.add("Mod", net.add("Cast", net.add("Mul", x, np.float32(50)), to=I), A(7)), "mod")
    net.output(net.add("BitShift", net.add("Cast", net.add("Abs", x), to=U8), A([1], np.uint8), direction="LEFT"), "bits")
    four, two = ["a", "b2", "c", "d"], ["a", "b2"]
    outputs = [("sums", F, two), ("places", I, two), ("triangle", F, four), ("one", F, two), ("mod", I, four), ("bits", U8, four)]
    return net.model([("x", F, ["b", 6, 6, "w"])], outputs), [{"x": f32(1, 6, 6, 8)}, {"x": f32(3, 6, 6, 5)}], ["x=1x6x6x2:1x6x6x8:4x6x6x9"]


MODELS = [crnn, unet, llama, swin, yolo, whisper, odds_and_ends]


def check(make, folder):
    made, feeds, profile = make()
    path, engine = folder / "model.onnx", folder / "model.engine"
    onnx.save(made, path)
    base = session(path)
    answers = [base.run(None, feed) for feed in feeds]
    for mode in MODES:
        built = run(BIN / "engine-build", path, "-o", engine, *(word for part in profile for word in ("--profile", part)), *mode)
        if built.returncode or "warning" in built.stderr:
            return f"{mode}: {built.stderr.strip()}"
        if wrong := compare(engine, feeds, answers, folder, HALF_ATOL if "--fp16" in mode else ATOL):
            return f"{mode}: {wrong}"
    return None


def main():
    failed = 0
    for make in MODELS:
        if sys.argv[2:] and make.__name__ not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(make, Path(folder))
        print(f"{'FAIL' if wrong else 'ok  '} {make.__name__}{': ' + wrong if wrong else ''}", flush=True)
        failed += wrong is not None
    return 1 if failed else 0


sys.exit(main())
