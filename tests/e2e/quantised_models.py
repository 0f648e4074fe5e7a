#!/usr/bin/env python3
"""Models quantised by onnxruntime's own tools, against onnxruntime: answers, and how much of each runs in 8 bits.

    quantised_models.py BIN_DIR [NAME ...]     needs numpy, onnx, onnxruntime and pillow, as scripts/setup test installs them

Operators that are quantised themselves, with plain ones on integers between them; Q/DQ in the bodies of If and Loop; calibration of a model that has such bodies.
"""
import json
import logging
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization as q
from onnxruntime.quantization.shape_inference import quant_pre_process
from PIL import Image

BIN = Path(sys.argv[1]).resolve()
ONLY = sys.argv[2:]
DIGITS = Path(__file__).resolve().parents[2] / "models/digits"
F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
rng = np.random.default_rng(11)
logging.disable(logging.WARNING)  # of the quantiser, about preprocessing
ort.set_default_logger_severity(3)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), name=outputs, **attributes)


def constant(name, value, dtype=None):
    return numpy_helper.from_array(np.asarray(value, dtype=dtype), name)


def weights(name, *shape):
    fan = max(1, int(np.prod(shape[1:]))) if len(shape) > 1 else 1
    return numpy_helper.from_array((rng.standard_normal(shape) / np.sqrt(fan)).astype(np.float32), name)


def model(nodes, inputs, outputs, initializers):
    infos = [[helper.make_tensor_value_info(*v) for v in values] for values in (inputs, outputs)]
    return helper.make_model(helper.make_graph(nodes, "g", *infos, initializers), ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


class Feeds(q.CalibrationDataReader):
    def __init__(self, feeds):
        self.rest = iter(feeds)

    def get_next(self):
        return next(self.rest, None)


def static(net, folder, feeds, **options):
    source, made = folder / "float.onnx", folder / "quantised.onnx"
    onnx.save(net, source)
    options = {"per_channel": True, "activation_type": q.QuantType.QUInt8, "weight_type": q.QuantType.QInt8, **options}
    q.quantize_static(str(source), str(made), Feeds(feeds), **options)
    return onnx.load(made)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def digits(part, count):
    return [{"image": (np.asarray(Image.open(p).convert("L"), np.float32) / np.float32(255)).reshape(1, 1, 20, 20)}
            for p in sorted((DIGITS / part).glob("*.png"))[:count]]


class Case:


    def __init__(self, net, feeds, int8=0, floats=10**9, error=1e-5, tactics=(), options=()):
        self.net, self.feeds, self.int8, self.floats = net, feeds, int8, floats
        self.error, self.tactics, self.options = error, tactics, list(options)


def digits_operators(folder):
    """Every layer of the shipped digits model."""
    quant_pre_process(str(DIGITS / "digits.onnx"), str(folder / "folded.onnx"), skip_symbolic_shape=True)  # batch norms into convolutions
    net = static(onnx.load(folder / "folded.onnx"), folder, digits("calib", 50), quant_format=q.QuantFormat.QOperator)
    return Case(net, digits("test", 20), int8=19, floats=2, error=0.02)


def residual_net():
    nodes = [node("Conv", "x,w1,b1", "c1", strides=[2, 2], pads=[3, 3, 3, 3]), node("Relu", "c1", "r1"),
             node("MaxPool", "r1", "p1", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
             node("Conv", "p1,w2,b2", "c2", pads=[1, 1, 1, 1]), node("Relu", "c2", "r2"), node("Conv", "r2,w3,b3", "c3", pads=[1, 1, 1, 1]),
             node("Add", "c3,p1", "a1"), node("Relu", "a1", "r3"), node("MaxPool", "r3", "p2", kernel_shape=[2, 2], strides=[2, 2]),
             node("Conv", "p2,w4,b4", "c4"), node("Concat", "c4,p2", "cat", axis=1), node("Resize", "cat,,sizes", "up", mode="nearest"),
             node("Conv", "up,w5,b5", "c5"), node("Relu", "c5", "r5"), node("Transpose", "r5", "t", perm=[0, 2, 3, 1]),
             node("Reshape", "t,flat", "f"), node("MatMul", "f,w6", "y")]
    init = [weights("w1", 16, 3, 7, 7), weights("b1", 16), weights("w2", 16, 16, 3, 3), weights("b2", 16), weights("w3", 16, 16, 3, 3),
            weights("b3", 16), weights("w4", 12, 16, 1, 1), weights("b4", 12), constant("sizes", [1, 1, 2, 2], np.float32),
            weights("w5", 8, 28, 1, 1), weights("b5", 8), constant("flat", [1, -1], np.int64), weights("w6", 8 * 8 * 8, 10)]
    return model(nodes, [("x", F, [1, 3, 32, 32])], [("y", F, [1, 10])], init)


def pools_and_moves(folder):
    """A residual net whose pool, concatenation of two scales, resize, transpose and reshape read bare integers."""
    feeds = [{"x": f32(1, 3, 32, 32)} for _ in range(6)]
    net = static(residual_net(), folder, feeds, quant_format=q.QuantFormat.QOperator)
    return Case(net, feeds, int8=13, floats=2, error=0.02)


def pools_and_moves_with_qdq(folder):
    """The same as Q/DQ, its concatenation's parts of scales of their own."""
    feeds = [{"x": f32(1, 3, 32, 32)} for _ in range(6)]
    net = static(residual_net(), folder, feeds, quant_format=q.QuantFormat.QDQ)
    return Case(net, feeds, int8=13, floats=2, error=0.02)


def branch(tag, scale):
    """A Q/DQ layer inside a body: quantises its outer input, multiplies by its own weights."""
    n = lambda name: f"{tag}_{name}"
    w = rng.integers(-60, 60, (8, 8)).astype(np.int8)
    init = [constant(n("sx"), scale, np.float32), constant(n("zx"), 120, np.uint8), constant(n("w"), w), constant(n("sw"), 0.01, np.float32),
            constant(n("zw"), 0, np.int8), constant(n("sy"), 0.05, np.float32), constant(n("zy"), 128, np.uint8)]
    nodes = lambda x, y: [node("QuantizeLinear", f"{x},{n('sx')},{n('zx')}", n("q")), node("DequantizeLinear", f"{n('q')},{n('sx')},{n('zx')}", n("d")),
                          node("DequantizeLinear", f"{n('w')},{n('sw')},{n('zw')}", n("dw")), node("MatMul", f"{n('d')},{n('dw')}", n("m")),
                          node("Relu", n("m"), n("r")), node("QuantizeLinear", f"{n('r')},{n('sy')},{n('zy')}", n("qy")),
                          node("DequantizeLinear", f"{n('qy')},{n('sy')},{n('zy')}", y)]
    return nodes, init


def qdq_in_branches(folder):
    """If: a product in 8 bits in each branch."""
    bodies = []
    for tag, scale in (("a", 0.03), ("b", 0.02)):
        nodes, init = branch(tag, scale)
        bodies.append(helper.make_graph(nodes("x", tag), tag, [], [onnx.ValueInfoProto(name=tag)], init))
    net = model([node("If", "c", "y", then_branch=bodies[0], else_branch=bodies[1])], [("c", B, []), ("x", F, [4, 8])], [("y", F, [4, 8])], [])
    x = f32(4, 8)
    return Case(net, [{"c": np.array(c), "x": x} for c in (True, False)], int8=2)


def qdq_in_loop(folder):
    """Loop: the same product applied to the state again and again; the weights are captured from outside."""
    nodes, init = branch("a", 0.03)
    body = helper.make_graph([node("Identity", "go", "go_on")] + nodes("h", "h2"), "body",
                             [helper.make_tensor_value_info("i", I, []), helper.make_tensor_value_info("go", B, []), helper.make_tensor_value_info("h", F, [4, 8])],
                             [onnx.ValueInfoProto(name="go_on"), onnx.ValueInfoProto(name="h2")])
    net = model([node("Loop", "n,,x", "y", body=body)], [("n", I, []), ("x", F, [4, 8])], [("y", F, [4, 8])], init)
    x = f32(4, 8)
    return Case(net, [{"n": np.array(n, np.int64), "x": x} for n in (0, 1, 3)], int8=1)


def calibrated_around_branches(folder):
    """--int8 --calib where a layer feeds an If: layers around it are quantised, the bodies stay float, and answers stay close."""
    bodies = [helper.make_graph([node("Conv", f"r,{tag}_w", tag)], tag, [], [onnx.ValueInfoProto(name=tag)], [weights(f"{tag}_w", 8, 8, 1, 1)]) for tag in "ab"]
    nodes = [node("Conv", "x,w1,b1", "c1", pads=[1, 1, 1, 1]), node("Relu", "c1", "r1"), node("Conv", "r1,w2", "c2"), node("Relu", "c2", "r"),
             node("If", "c", "t", then_branch=bodies[0], else_branch=bodies[1]), node("Conv", "t,w3", "y")]
    net = model(nodes, [("x", F, [1, 3, 8, 8]), ("c", B, [])], [("y", F, [1, 4, 8, 8])],
                [weights("w1", 16, 3, 3, 3), weights("b1", 16), weights("w2", 8, 16, 1, 1), weights("w3", 4, 8, 1, 1)])
    calib = folder / "calib"
    feeds = [{"x": f32(1, 3, 8, 8), "c": np.array(i % 2 == 0)} for i in range(8)]
    calib.mkdir()
    for i, feed in enumerate(feeds):
        np.savez(calib / f"{i}.npz", **feed)
    return Case(net, feeds, int8=3, error=0.08, options=["--int8", "--calib", calib])


CASES = [digits_operators, pools_and_moves, pools_and_moves_with_qdq, qdq_in_branches, qdq_in_loop, calibrated_around_branches]


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace", timeout=300)


def flat(layers):
    """Layers and those of bodies."""
    for layer in layers:
        yield layer
        for body in layer.get("bodies", []):
            yield from flat(body["layers"] if isinstance(body, dict) else body)


def check(make, folder):
    case = make(folder)
    path, engine, report = folder / "model.onnx", folder / "model.engine", folder / "report.json"
    onnx.save(case.net, path)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(case.net.SerializeToString(), options)
    built = run(BIN / "engine-build", path, "-o", engine, "--report", report, "--no-tune", *case.options)
    if built.returncode != 0:
        return f"build: {built.stderr.strip()}"
    layers = list(flat(json.loads(report.read_text())["layers"]))
    int8, floats = (sum(layer["precision"] == kind for layer in layers) for kind in ("int8", "f32"))
    if int8 < case.int8 or floats > case.floats:
        return f"{int8} layers in 8 bits and {floats} in f32, need {case.int8} or more and {case.floats} or fewer"
    if missing := set(case.tactics) - {layer["tactic"] for layer in layers}:
        return f"nothing runs on {', '.join(sorted(missing))}"
    for step, feed in enumerate(case.feeds):
        files = []
        for i, tensor in enumerate(case.net.graph.input):
            files.append(folder / f"in_{i}.pb")
            files[-1].write_bytes(numpy_helper.from_array(feed[tensor.name], tensor.name).SerializeToString())
        done = run(BIN / "engine-run", engine, "--inputs", ",".join(map(str, files)), "--outputs-dir", folder / "out")
        if done.returncode != 0:
            return f"step {step}: run: {done.stderr.strip()}"
        want = session.run(None, feed)[0]
        tensor = onnx.TensorProto()
        tensor.ParseFromString((folder / "out/out_0.pb").read_bytes())
        got = numpy_helper.to_array(tensor)
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"step {step}: got {got.dtype}{list(got.shape)}, need {want.dtype}{list(want.shape)}"
        error = np.abs(got.astype(np.float64) - want).max() / max(np.abs(want).max(), 1e-9)
        if not error <= case.error:
            return f"step {step}: differs by {error:.3g} of the largest value, need {case.error:g} or less"
    return None


def main():
    failed = 0
    for make in CASES:
        if ONLY and make.__name__ not in ONLY:
            continue
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(make, Path(folder))
        print(f"{'FAIL' if wrong else 'ok  '} {make.__name__}{': ' + wrong if wrong else ''}", flush=True)
        failed += wrong is not None
    return 1 if failed else 0


sys.exit(main())
