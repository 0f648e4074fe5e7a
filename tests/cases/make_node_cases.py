"""Writes tests/cases/nodes/*.txt: single ONNX nodes with the answers of onnxruntime (or, where it lacks one, onnx.reference), and
for operators that are ops of Ingot's own the same calls as op cases in tests/cases/ops.

Run by hand when cases are added:  python tests/cases/make_node_cases.py     (needs numpy, onnx and onnxruntime)
The node files are read by tests/builder/node_cases_test.cpp, which also explains their lines.
"""
import pathlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper
from onnx.reference import ReferenceEvaluator

from make_ops_cases import OUT, data, f32, i64, tensor_text

NODES = pathlib.Path(__file__).parent / "nodes"


class Const:
    """An input that is an initialiser of the model."""

    def __init__(self, array):
        self.array = np.asarray(array)


def array_of(x):
    return x.array if isinstance(x, Const) else x


def attr_text(name, value):
    if isinstance(value, str):
        return f"attr {name} string {value}"
    if isinstance(value, (list, tuple)):
        kind = "floats" if any(isinstance(v, float) for v in value) else "ints"
        return " ".join([f"attr {name} {kind}"] + [repr(v) for v in value])
    return f"attr {name} {'float' if isinstance(value, float) else 'int'} {value!r}"


def onnxruntime_answers(model, feed):
    """None where onnxruntime lacks the operator, or the type."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        typed = onnx.shape_inference.infer_shapes(model)
        for k, value in enumerate(typed.graph.output):
            if value.type.HasField("tensor_type"):
                model.graph.output[k].CopyFrom(value)
        return ort.InferenceSession(model.SerializeToString(), options).run(None, feed)
    except Exception as error:
        if "NOT_IMPLEMENTED" not in str(error) and "ShapeInferenceError" not in str(error):
            raise
        return None


class Writer:
    def __init__(self, file, about, room=None):
        self.path, self.count = NODES / file, 0
        self.lines = [f"# {about} Made by make_node_cases.py."]
        self.rooms = []

    def case(self, name, op, inputs, outputs=1, opset=22, domain="", tolerance=None, reference=False, answers=None, room=None,
             room_inputs=None, **attrs):
        attrs = {key.rstrip("_"): value for key, value in attrs.items()}
        wanted = [1] * outputs if isinstance(outputs, int) else outputs
        names = [f"i{k}" if x is not None else "" for k, x in enumerate(inputs)]
        while names and names[-1] == "":
            names.pop()
        given = [(n, x) for n, x in zip(names, inputs) if x is not None]
        node = helper.make_node(op, names, [f"o{k}" if w else "" for k, w in enumerate(wanted)], domain=domain, **attrs)
        info = lambda n, x: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), list(x.shape))
        values = [info(n, x) for n, x in given if not isinstance(x, Const)]
        weights = [onnx.numpy_helper.from_array(x.array, n) for n, x in given if isinstance(x, Const)]
        results = [onnx.ValueInfoProto(name=f"o{k}") for k, w in enumerate(wanted) if w]
        opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
        graph = helper.make_graph([node], "g", values, results, initializer=weights)
        model = helper.make_model(graph, ir_version=10, opset_imports=opsets)
        feed = {n: x for n, x in given if not isinstance(x, Const)}
        if answers is None and not reference:
            answers = onnxruntime_answers(model, feed)
            reference = answers is None
            if reference:
                print(f"{name}: onnxruntime does not run it")
        if answers is None:
            answers = ReferenceEvaluator(model).run(None, feed)
        self.lines += ["", f"case {name}", f"node {op} opset={opset}" + (f" domain={domain}" if domain else "")]
        self.lines += [attr_text(k, v) for k, v in attrs.items()]
        for x in inputs[:len(names)]:
            self.lines.append("in absent" if x is None else ("const " if isinstance(x, Const) else "in ") + tensor_text(array_of(x)))
        rest = iter(answers)
        outs = ["out " + tensor_text(next(rest)) if w else "out absent" for w in wanted]
        tail = outs + ([f"tol {tolerance}"] if tolerance else [])
        self.lines += tail
        self.count += 1
        if room:
            room_op, _, fields = room.partition(" ")
            self.rooms += ["", f"case {name}", f"op {room_op} {fields}".rstrip()]
            self.rooms += ["in absent" if x is None else "in " + tensor_text(array_of(x)) for x in (room_inputs or inputs[:len(names)])]
            self.rooms += tail
        return answers

    def write(self, room_file=None):
        self.path.write_text("\n".join(self.lines) + "\n")
        print(self.path.name, self.count)
        if room_file:
            (OUT / room_file).write_text("\n".join([self.lines[0].replace("Nodes", "Ops")] + self.rooms) + "\n")
            print(room_file, len([line for line in self.rooms if line.startswith("case")]))


def places(name, shape, dim, dtype="int64"):
    """Random indices from −dim to dim − 1."""
    return data(name, shape, dtype, low=-dim, high=dim)


def distinct(name, shape, axis, dim):
    """Indices without repetition along an axis, some counted from the end."""
    rng = np.random.default_rng(sum(map(ord, name)))
    order = rng.random(tuple(dim if d == axis % len(shape) else s for d, s in enumerate(shape))).argsort(axis=axis)
    taken = np.take(order, range(shape[axis]), axis=axis).astype(np.int64)
    return np.where(rng.random(taken.shape) < 0.3, taken - dim, taken)


def make_indexed():
    w = Writer("indexed.txt", "Nodes that choose, order and mark elements.")
    for k, (shape, index, axis, dtype) in enumerate([
            ((3, 4), (2, 4), 0, "float32"), ((3, 4), (3, 2), 1, "float32"), ((3, 4), (1, 3), -1, "int64"), ((5,), (3,), 0, "uint8"),
            ((2, 3, 4), (2, 2, 3), 1, "float16"), ((2, 3, 4), (1, 3, 2), -1, "float64"), ((2, 3), (0, 3), 0, "float32"),
            ((2, 3), (2, 0), -1, "int32"), ((3, 3), (3, 3), -2, "bool")]):
        name = f"scatter_{k}"
        w.case(name, "ScatterElements", [data(name, shape, dtype), distinct(name, index, axis, shape[axis]), data(name + "u", index, dtype)],
               axis=axis, opset=18, room=f"ScatterElements axis={axis}")
    for axis in (0, 1):
        w.case(f"scatter_before_11_{axis}", "Scatter", [data("so", (3, 3)), distinct("so", (2, 2), axis, 3) % 3, data("sou", (2, 2))], opset=9, axis=axis)
    for k, reduction in enumerate(["add", "mul", "min", "max"]):
        for dtype in ("float32", "int32", "float16", "int64"):
            if dtype == "float16" and reduction in ("mul",):
                continue
            name = f"scatter_{reduction}_{dtype}"
            index = places(name, (4, 3), 3)
            w.case(name, "ScatterElements", [data(name, (3, 5), dtype, low=-3, high=3), index.astype(np.int32 if k % 2 else np.int64),
                                             data(name + "u", (4, 3), dtype, low=-3, high=3)],
                   axis=0, reduction=reduction, opset=18, reference=True, room=f"ScatterElements axis=0 reduction={reduction}")
    for k, (shape, index, dtype) in enumerate([
            ((4, 3), (2, 1), "float32"), ((4, 3), (3, 2), "float32"), ((2, 3, 4), (2, 2, 2), "int64"), ((5,), (2, 1), "uint8"),
            ((2, 2, 3), (0, 1), "float32"), ((3, 4), (2, 3, 2), "float64"), ((4, 4), (1, 2), "bool"), ((2, 3, 4), (2, 1), "float16")]):
        name = f"scatter_nd_{k}"
        rng = np.random.default_rng(k)
        rows = int(np.prod(index[:-1]))
        flat = rng.choice(int(np.prod(shape[:index[-1]])), size=rows, replace=False)
        idx = np.stack(np.unravel_index(flat, shape[:index[-1]]), -1).reshape(index).astype(np.int64)
        if k % 2:
            idx = idx - np.array(shape[:index[-1]])
        w.case(name, "ScatterND", [data(name, shape, dtype), idx, data(name + "u", index[:-1] + shape[index[-1]:], dtype)], opset=18,
               room="ScatterND")
    for reduction in ("add", "mul", "min", "max"):
        name = f"scatter_nd_{reduction}"
        w.case(name, "ScatterND", [data(name, (4, 3), low=-3, high=3), places(name, (5, 1), 4), data(name + "u", (5, 3), low=-3, high=3)],
               reduction=reduction, opset=18, reference=True, room=f"ScatterND reduction={reduction}")
    for k, (shape, index, batch, dtype) in enumerate([
            ((3, 4), (2, 2), 0, "float32"), ((3, 4), (2, 1), 0, "float32"), ((2, 3, 4), (2, 2, 1), 1, "int32"), ((2, 3, 4), (2, 1), 1, "float32"),
            ((2, 3, 4), (2, 3, 1), 2, "float64"), ((2, 3, 4), (2, 0, 2), 0, "uint8"), ((5,), (1,), 0, "float32"), ((2, 0, 3), (2, 1), 0, "float32"),
            ((2, 3, 2, 2), (2, 4, 2), 1, "float16"), ((3, 4), (2, 3, 2), 0, "bool")]):
        name = f"gather_nd_{k}"
        rng = np.random.default_rng(k)
        dims = shape[batch:batch + index[-1]]
        idx = np.stack([rng.integers(-d, d, index[:-1]) for d in dims], -1).astype(np.int64) if 0 not in index else np.zeros(index, np.int64)
        w.case(name, "GatherND", [data(name, shape, dtype), idx], batch_dims=batch, opset=13, room=f"GatherND batch_dims={batch}")
    ties = np.array([[1, 3, 3, 2, 3, 1], [0, 0, 0, 0, 0, 0]], np.float32)
    for k, (x, count, axis, largest) in enumerate([
            (ties, 4, -1, 1), (ties, 4, -1, 0), (data("t2", (3, 4, 5)), 2, 1, 1), (data("t3", (3, 4, 5)), 3, 0, 0), (data("t4", (7,), "int64"), 7, 0, 1),
            (data("t5", (2, 6), "int32"), 1, -1, 0), (data("t6", (3, 4)), 0, 1, 1), (data("t7", (4, 1), "float64"), 1, -1, 1),
            (data("t8", (2, 30)), 11, 1, 1), (data("t9", (0, 4)), 2, 1, 1), (np.array([1, np.inf, -np.inf, 2, -0.0], np.float32), 5, 0, 0)]):
        w.case(f"top_k_{k}", "TopK", [x, Const(i64(count))], outputs=2, axis=axis, largest=largest, sorted=1, opset=11,
               room=f"TopK axis={axis} largest={largest}")
    w.case("top_k_places_only", "TopK", [f32(1, 5, 2, 5, -3), Const(i64(2))], outputs=[0, 1], opset=11, answers=[i64(1, 3)])
    w.case("top_k_values_only", "TopK", [f32(1, 5, 2, 5, -3), Const(i64(2))], opset=11, largest=0, answers=[f32(-3, 1)])
    w.case("top_k_before_10", "TopK", [data("tp", (2, 5))], outputs=2, opset=9, k=3, axis=-1)
    w.case("top_k_f16", "TopK", [data("tph", (2, 9), "float16"), Const(i64(4))], outputs=2, opset=11)
    for k, (shape, axis, exclusive, reverse, dtype) in enumerate([
            ((5,), 0, 0, 0, "float32"), ((5,), 0, 1, 0, "float32"), ((2, 3), 1, 0, 1, "float32"), ((2, 3), -2, 1, 1, "float64"), ((2, 3, 4), 1, 0, 0, "int32"),
            ((2, 0, 4), 2, 0, 0, "float32"), ((2, 3, 1), -1, 1, 0, "int64"), ((1, 4), -1, 0, 0, "float32")]):
        name = f"cum_sum_{k}"
        w.case(name, "CumSum", [data(name, shape, dtype), np.array(axis, np.int32 if k % 2 else np.int64)], exclusive=exclusive, reverse=reverse,
               opset=14, room=f"Cumulate exclusive={exclusive} reverse={reverse}")
        if 0 not in shape and k < 6:
            x = data(name, shape, dtype, low=-2, high=3)
            flip = lambda v: np.flip(v, axis) if reverse else v
            y = np.cumprod(flip(x), axis=axis, dtype=dtype)
            if exclusive:
                one = np.ones_like(np.take(y, [0], axis=axis))
                y = np.concatenate([one, np.delete(y, -1, axis=axis)], axis=axis)
            w.case(f"cum_prod_{k}", "CumProd", [x, np.array(axis, np.int64)], exclusive=exclusive, reverse=reverse, opset=26,
                   answers=[flip(y)], room=f"Cumulate product=1 exclusive={exclusive} reverse={reverse}", tolerance="1e-6")
    for k, (shape, lengths, batch, time, dtype) in enumerate([
            ((4, 4), (1, 2, 3, 4), 1, 0, "float32"), ((4, 4), (1, 2, 3, 4), 0, 1, "float32"), ((3, 2, 2), (3, 1), 1, 0, "float32"), ((2, 5), (5, 2), 0, 1, "float64"),
            ((2, 3, 2, 2), (2, 1), 0, 1, "int64"), ((1, 3), (1, 1, 1), 1, 0, "float32"), ((2, 3), (3, 3), 0, 1, "uint8"), ((3, 1, 2), (3,), 1, 0, "int32")]):
        name = f"reverse_sequence_{k}"
        w.case(name, "ReverseSequence", [data(name, shape, dtype), i64(*lengths)], batch_axis=batch, time_axis=time, opset=10,
               room=f"ReverseSequence batch_axis={batch} time_axis={time}")
    hot = lambda name, idx, depth, values, axis: w.case(name, "OneHot", [idx, Const(depth), values], axis=axis, opset=11, room=f"OneHot axis={axis}")
    hot("one_hot_last", i64(0, 2, 1, -1), np.array(3, np.int64), f32(0, 1), -1)
    hot("one_hot_first", i64(0, 2, 1, -3), np.array(3, np.int64), f32(0, 1), 0)
    hot("one_hot_outside", i64(0, 3, -4, 9), np.array(3, np.int64), f32(2, 5), -1)
    hot("one_hot_matrix", np.array([[1, 0], [2, 1]], np.int64), i64(4), f32(-1, 1), 1)
    hot("one_hot_negative_axis", np.array([[1, 0, 3], [2, 1, 0]], np.int64), np.array(4, np.int64), i64(5, 7), -2)
    hot("one_hot_float_indices", f32(0, 2, 1), np.array(3, np.float32), f32(0, 1), -1)
    hot("one_hot_nothing", np.zeros((0,), np.int64), np.array(3, np.int64), f32(0, 1), -1)
    hot("one_hot_f64_depth", np.array([2, -1], np.int32), np.array([4.0], np.float32), f32(0, 1), 0)
    for k, (shape, d, upper, dtype) in enumerate([
            ((3, 4), None, 1, "float32"), ((3, 4), 1, 1, "float32"), ((4, 3), -1, 1, "float32"), ((4, 3), -1, 0, "float32"), ((2, 3, 3), 2, 0, "int64"),
            ((3, 3), 7, 1, "float32"), ((3, 3), -9, 0, "float64"), ((2, 0, 3), 0, 1, "float32"), ((3, 3), -9, 1, "bool"), ((1, 5), 2, 0, "uint8")]):
        name = f"trilu_{k}"
        w.case(name, "Trilu", [data(name, shape, dtype)] + ([np.array(d, np.int64)] if d is not None else []), upper=upper, opset=14,
               room=f"Trilu upper={upper}", reference=dtype == "uint8")
    for k, (shape, d, dtype) in enumerate([((3, 3), 0, None), ((3, 4), 1, None), ((4, 2), -1, None), ((3, 3), 5, None), ((3, 3), 0, 7), ((2, 2), 0, 11), ((2, 3), -1, 6), ((1, 1), 0, 1)]):
        w.case(f"eye_like_{k}", "EyeLike", [data(f"eye{k}", shape, "int32")], k=d, opset=9, **({"dtype": dtype} if dtype else {}))
    for k, (shape, axis, opset) in enumerate([((3, 4), -1, 13), ((3, 4), 0, 13), ((2, 3, 4), 1, 13), ((2, 3, 4), 1, 11), ((2, 3, 4), 2, 11), ((2, 3, 2), 0, 11), ((5,), 0, 13), ((2, 1), -1, 13)]):
        w.case(f"hardmax_{k}", "Hardmax", [data(f"hardmax{k}", shape)], axis=axis, opset=opset)
    flags = lambda *v: Const(np.array(v, bool))
    for k, (shape, cond, axis) in enumerate([((3, 2), (0, 1, 1), 0), ((3, 2), (0, 1), 1), ((3, 2), (0, 1), 0), ((3, 2), (0, 1, 0, 0, 1), None), ((2, 3), (0, 0, 0), 1),
                                             ((2, 3, 2), (1, 0), -1), ((4,), (1, 1, 1, 1), 0), ((2, 3, 2), (1, 0, 1), -2)]):
        w.case(f"compress_{k}", "Compress", [data(f"compress{k}", shape), flags(*cond)], opset=11, **({} if axis is None else {"axis": axis}))
    for k, x in enumerate([data("nz", (3, 4), "bool"), data("nz2", (2, 3, 2), "int64", low=-1, high=2), np.zeros((2, 2), np.float32), np.ones((5,), np.float32),
                           np.zeros((0, 3), np.float32), data("nz3", (7,), "int32", low=-1, high=2), np.array([[0.5, 0, -0.0, np.nan]], np.float32), data("nz4", (1, 1, 4), "bool")]):
        w.case(f"non_zero_{k}", "NonZero", [Const(x)], opset=13)
    for k, (x, axis, sorted_) in enumerate([(f32(2, 1, 1, 3, 4, 3), None, 1), (f32(2, 1, 1, 3, 4, 3), None, 0), (np.array([[1, 0, 0], [1, 0, 0], [2, 3, 4]], np.float32), 0, 1),
                                            (np.array([[1, 0, 0], [1, 0, 0], [2, 3, 4]], np.float32), -1, 1), (data("uq", (3, 4), "int64", low=-2, high=3), None, 1), (data("uq2", (2, 6, 2), "int64", low=0, high=2), 1, 1),
                                            (np.zeros((0,), np.float32), None, 1), (np.array([[[1, 2], [1, 2]], [[3, 4], [3, 4]]], np.float32), 1, 0)]):
        w.case(f"unique_{k}", "Unique", [Const(x)], outputs=4, opset=11, sorted=sorted_, **({} if axis is None else {"axis": axis}))
    for k, (x, to) in enumerate([(f32(1, -2, 0.5), np.int32), (np.array([1, -1, 7], np.int32), np.float32), (f32(1, -2), np.uint32), (np.array([[1.5]], np.float64), np.int64),
                                 (np.array([-1, 5], np.int8), np.uint8), (np.array([-1, 5], np.int16), np.uint16), (np.array([1, 2], np.float16), np.int16), (np.zeros((0, 2), np.float32), np.int32)]):
        w.case(f"bit_cast_{k}", "BitCast", [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)), opset=26, answers=[x.view(to)])
    w.write("indexed.txt")


def make_sampling():
    w = Writer("sampling.txt", "Nodes that sample pictures and put windows together.")
    rng = np.random.default_rng(7)
    pads = ("zeros", "border", "reflection")
    for mode in ("linear", "nearest", "cubic"):
        for padding in pads:
            for align in (0, 1):
                x = data(f"{mode}{padding}{align}", (2, 2, 3, 4))
                grid = rng.uniform(-1.8, 1.8, (2, 3, 2, 2)).astype(np.float32)
                w.case(f"grid_sample_{mode}_{padding}_{align}", "GridSample", [x, grid], mode=mode, padding_mode=padding, align_corners=align, opset=20,
                       tolerance="1e-4", room=f"GridSample mode={mode} padding={padding} align_corners={align}")
    for mode in ("linear", "nearest"):
        for padding in pads:
            grid = rng.uniform(-1.6, 1.6, (1, 2, 3, 2, 3)).astype(np.float32)
            w.case(f"grid_sample_volume_{mode}_{padding}", "GridSample", [data(mode, (1, 2, 2, 3, 4)), grid], mode=mode, padding_mode=padding, align_corners=0,
                   opset=20, tolerance="1e-4", room=f"GridSample mode={mode} padding={padding}")
    w.case("grid_sample_16", "GridSample", [data("g16", (1, 1, 4, 4)), rng.uniform(-1, 1, (1, 5, 5, 2)).astype(np.float32)], mode="bilinear", opset=16, tolerance="1e-5")
    w.case("grid_sample_exact", "GridSample", [data("ge", (1, 1, 3, 3)), np.array([[[[-1, -1], [0, 0], [1, 1], [2, 0]]]], np.float32)], mode="nearest", align_corners=1,
           opset=20, room="GridSample mode=nearest align_corners=1")
    w.case("grid_sample_one_pixel", "GridSample", [data("g1", (1, 2, 1, 1)), np.array([[[[-0.5, 0.25], [3, 3]]]], np.float32)], padding_mode="border", opset=20, tolerance="1e-6",
           room="GridSample padding=border")
    w.case("grid_sample_nothing", "GridSample", [data("g0", (1, 2, 3, 3)), np.zeros((1, 0, 2, 2), np.float32)], opset=20, reference=False,
           answers=[np.zeros((1, 2, 0, 2), np.float32)], room="GridSample")
    theta2 = lambda n: rng.uniform(-1, 1, (n, 2, 3)).astype(np.float32)
    theta3 = lambda n: rng.uniform(-1, 1, (n, 3, 4)).astype(np.float32)
    for k, (theta, size, align) in enumerate([(theta2(1), (1, 3, 2, 4), 0), (theta2(1), (1, 3, 2, 4), 1), (theta2(3), (3, 1, 5, 2), 0), (theta2(2), (2, 1, 3, 3), 1),
                                              (theta3(1), (1, 1, 2, 3, 4), 0), (theta3(2), (2, 1, 3, 2, 2), 1), (theta2(1), (1, 1, 1, 3), 0), (theta3(1), (1, 2, 4, 1, 2), 0)]):
        w.case(f"affine_grid_{k}", "AffineGrid", [theta, Const(i64(*size))], align_corners=align, opset=20, tolerance="1e-5")
    boxes = f32(0, 0, 4, 3, 1.5, 1, 6, 7, 2, 2, 2.5, 9, 0, 0, 0.2, 0.1).reshape(4, 4)
    for k, (mode, h, wd, ratio, scale, coordinates, opset) in enumerate([
            ("avg", 2, 2, 2, 1.0, "half_pixel", 16), ("avg", 3, 2, 0, 0.5, "half_pixel", 16), ("avg", 2, 3, 0, 1.0, "output_half_pixel", 16), ("max", 2, 2, 2, 1.0, "half_pixel", 16),
            ("max", 1, 1, 0, 1.0, "output_half_pixel", 16), ("avg", 2, 2, 2, 1.0, None, 10), ("avg", 1, 1, 3, 0.25, "half_pixel", 16), ("max", 3, 3, 1, 0.75, "half_pixel", 16)]):
        x = data(f"roi{k}", (2, 2, 6, 7))
        attrs = dict(mode=mode, output_height=h, output_width=wd, sampling_ratio=ratio, spatial_scale=scale)
        half = 1 if coordinates == "half_pixel" else 0
        if coordinates:
            attrs["coordinate_transformation_mode"] = coordinates
        w.case(f"roi_align_{k}", "RoiAlign", [x, boxes, i64(0, 1, 1, 0)], opset=opset, tolerance="2e-5",
               room=f"RoiAlign max={int(mode == 'max')} half_pixel={half} height={h} width={wd} sampling_ratio={ratio} spatial_scale={scale}", **attrs)
    w.case("roi_align_no_boxes", "RoiAlign", [data("r0", (1, 2, 3, 3)), np.zeros((0, 4), np.float32), np.zeros((0,), np.int64)], output_height=2, output_width=2, opset=16,
           room="RoiAlign height=2 width=2")
    for k, (shape, kernel, strides, pads_, full) in enumerate([
            ((1, 1, 2, 2), (2, 2), (2, 2), None, None), ((1, 2, 2, 3), (2, 2), (2, 2), None, None), ((2, 1, 3), (2,), (2,), None, None), ((1, 1, 2, 2), (3, 3), (2, 2), (1, 1, 1, 1), None),
            ((1, 1, 2, 2), (2, 2), (2, 2), None, (1, 1, 5, 5)), ((1, 1, 2, 2, 2), (2, 2, 2), (2, 2, 2), None, None), ((1, 2, 2, 2), (2, 2), None, None, None), ((1, 1, 2, 2), (2, 2), (2, 2), None, (1, 1, 4, 6))]):
        s = strides or (1,) * len(kernel)
        p = pads_ or (0,) * (2 * len(kernel))
        out = [(n - 1) * a + b - p[i] - p[i + len(kernel)] for i, (n, a, b) in enumerate(zip(shape[2:], s, kernel))]
        total = int(np.prod(shape[:2])) * int(np.prod(out))
        idx = rng.choice(total, size=int(np.prod(shape)), replace=False).reshape(shape).astype(np.int64)
        attrs = {"kernel_shape": list(kernel)}
        fields = "kernel=[" + ",".join(map(str, kernel)) + "]"
        if strides:
            attrs["strides"] = list(strides)
            fields += " strides=[" + ",".join(map(str, strides)) + "]"
        if pads_:
            attrs["pads"] = list(pads_)
            fields += " pads=[" + ",".join(map(str, pads_)) + "]"
        x = data(f"unpool{k}", shape)
        y = np.zeros(total, np.float32)
        y[idx.ravel()] = x.ravel()
        y = y.reshape(*shape[:2], *out)
        if full:
            y = np.pad(y, [(0, b - a) for a, b in zip(y.shape, full)])
        w.case(f"max_unpool_{k}", "MaxUnpool", [x, idx] + ([Const(i64(*full))] if full else []), opset=11, answers=[y],
               room=None if full else f"MaxUnpool {fields}", **attrs)
    for k, (image, block, c, strides, pads_, dil) in enumerate([
            ((5, 5), (1, 5), 1, None, None, None), ((5, 5), (3, 3), 1, (2, 2), None, None), ((5, 5), (1, 5), 1, None, (0, 1, 0, 1), None), ((6, 6), (2, 2), 2, None, None, (1, 5)),
            ((4, 5), (2, 3), 3, (1, 2), (1, 0, 1, 2), None), ((7,), (3,), 2, (2,), (1, 1), None), ((3, 4, 5), (2, 2, 2), 1, None, None, None), ((4, 4), (4, 4), 1, None, None, None)]):
        n = len(image)
        s, p, d = strides or (1,) * n, pads_ or (0,) * (2 * n), dil or (1,) * n
        counts = [(a + p[i] + p[i + n] - (d[i] * (b - 1) + 1)) // s[i] + 1 for i, (a, b) in enumerate(zip(image, block))]
        attrs, fields = {}, []
        for key, value in (("strides", strides), ("pads", pads_), ("dilations", dil)):
            if value:
                attrs[key] = list(value)
                fields.append(f"{key}=[" + ",".join(map(str, value)) + "]")
        x = data(f"col{k}", (2, c * int(np.prod(block)), int(np.prod(counts))))
        w.case(f"col2im_{k}", "Col2Im", [x, Const(i64(*image)), Const(i64(*block))], opset=18, tolerance="1e-5", room=" ".join(["Col2Im"] + fields), **attrs)
    for k, (shape, to, axes) in enumerate([((5, 6), (3, 4), None), ((5, 6), (8, 9), None), ((5, 6), (4, 9), None), ((5, 6, 3), (4, 5), (0, 2)), ((5, 6, 3), (8,), (-1,)), ((4, 4), (4, 4), None),
                                           ((5, 6), (0, 3), None), ((2, 5, 7), (3, 3), (-1, -2))]):
        w.case(f"center_crop_pad_{k}", "CenterCropPad", [data(f"ccp{k}", shape), Const(i64(*to))], opset=18, reference=True, **({"axes": list(axes)} if axes else {}))
    w.write("sampling.txt")


def make_einsum():
    w = Writer("einsum.txt", "Einsum nodes.")
    for k, (equation, *shapes) in enumerate([
            ("ij->ji", (2, 3)), ("ij->i", (2, 3)), ("ij->", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)), ("iji->j", (2, 3, 2)), ("iii->i", (2, 2, 2)), ("...ii->...i", (4, 3, 3)),
            ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)), ("bihd,bjhd->bhij", (2, 3, 2, 4), (2, 5, 2, 4)),
            ("i,j->ij", (3,), (4,)), ("i,i->", (3,), (3,)), ("i,i->i", (3,), (3,)), ("ij,ij->ij", (2, 3), (2, 3)), ("ij,kl->ijkl", (2, 3), (2, 2)), ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
            ("bn,anm,bm->ba", (2, 3), (4, 3, 5), (2, 5)), ("abc,cd,de->abe", (2, 3, 4), (4, 2), (2, 3)), (" i j , j k -> i k ", (2, 3), (3, 2)), ("ij,ij,ij->", (2, 3), (2, 3), (2, 3)), ("abcd,abe->dce", (2, 3, 2, 4), (2, 3, 5)),
            ("ab...,b...->a...", (2, 3, 4), (3, 4)), ("ij,jk->ki", (2, 0), (0, 3)), ("Ab,bC->AC", (2, 3), (3, 2)), ("ijk,ijk->ik", (2, 3, 4), (2, 3, 4)), (",i->i", (), (3,)), ("b i d, d e -> b i e".replace(" ", ""), (2, 3, 4), (4, 5))]):
        w.case(f"einsum_{k}", "Einsum", [data(f"einsum{k}{j}", s, low=-2, high=2) for j, s in enumerate(shapes)], equation=equation, opset=12, tolerance="1e-5",
               reference=equation[0] in " ,A" or 0 in shapes[0] or "." in equation)
    w.case("einsum_f64", "Einsum", [data("e64", (2, 3), "float64"), data("e64b", (3, 2), "float64")], equation="ij,jk->ik", opset=12, tolerance="1e-12")
    w.case("einsum_s64", "Einsum", [data("es64", (2, 3), "int64"), data("es64b", (3, 2), "int64")], equation="ij,jk->ik", opset=12)
    w.case("einsum_one_sided", "Einsum", [data("eb", (2, 1)), data("ebb", (3, 4))], equation="ij,jk->ik", opset=12, tolerance="1e-5", reference=True)
    w.write()


def make_attention():
    w = Writer("attention.txt", "Nodes of transformers and losses.")
    low = dict(low=-2, high=2)
    q4, k4, v4 = data("q4", (2, 3, 4, 8), **low), data("k4", (2, 3, 6, 8), **low), data("v4", (2, 3, 6, 8), **low)
    mask = data("mask", (4, 6), **low)
    bools = data("maskb", (2, 1, 4, 6), "bool")
    bools[..., 0, :] = False
    some = dict(opset=23, tolerance="2e-5", reference=True)
    w.case("attention_4d", "Attention", [q4, k4, v4], **some)
    w.case("attention_scaled", "Attention", [q4, k4, v4], scale=0.05, **some)
    w.case("attention_causal", "Attention", [q4, k4, v4], is_causal=1, **some)
    w.case("attention_mask", "Attention", [q4, k4, v4, mask], **some)
    w.case("attention_mask_bool", "Attention", [q4, k4, v4, bools], **some)
    w.case("attention_mask_causal", "Attention", [q4, k4, v4, mask], is_causal=1, **some)
    w.case("attention_softcap", "Attention", [q4, k4, v4, mask], softcap=2.0, **some)
    w.case("attention_short_mask", "Attention", [q4, k4, v4, mask[:, :4]], **dict(some, opset=24))
    w.case("attention_3d", "Attention", [data("q3", (2, 4, 24), **low), data("k3", (2, 5, 24), **low), data("v3", (2, 5, 24), **low)], q_num_heads=3, kv_num_heads=3, **some)
    w.case("attention_gqa", "Attention", [data("qg", (1, 6, 3, 4), **low), data("kg", (1, 2, 5, 4), **low), data("vg", (1, 2, 5, 4), **low)], **some)
    w.case("attention_past", "Attention", [q4, k4, v4, None, data("pk", (2, 3, 2, 8), **low), data("pv", (2, 3, 2, 8), **low)], outputs=3, is_causal=1, **some)
    for mode in range(4):
        w.case(f"attention_scores_{mode}", "Attention", [q4, k4, v4, mask], outputs=[1, 0, 0, 1], qk_matmul_output_mode=mode, softcap=3.0, **some)
    w.case("attention_values_wider", "Attention", [q4, k4, data("v10", (2, 3, 6, 10), **low)], **some)
    w.case("attention_f16", "Attention", [q4.astype(np.float16), k4.astype(np.float16), v4.astype(np.float16)], **dict(some, tolerance="5e-3"))
    w.case("attention_lengths", "Attention", [q4, k4, v4, None, None, None, i64(3, 6)], **dict(some, opset=24))
    w.case("attention_lengths_causal", "Attention", [q4, k4, v4, None, None, None, i64(4, 6)], is_causal=1, **dict(some, opset=24))
    x4, x3 = data("r4", (2, 3, 4, 8), **low), data("r3", (2, 4, 24), **low)
    cos, sin = data("cos", (10, 4), **low), data("sin", (10, 4), **low)
    ids = np.array([[0, 3, 9, 1], [2, 2, 5, 7]], np.int64)
    rope = dict(opset=23, tolerance="2e-5", reference=True)
    w.case("rotary_4d", "RotaryEmbedding", [x4, cos, sin, ids], **rope)
    w.case("rotary_3d", "RotaryEmbedding", [x3, cos, sin, ids], num_heads=3, **rope)
    w.case("rotary_interleaved", "RotaryEmbedding", [x4, cos, sin, ids], interleaved=1, **rope)
    w.case("rotary_3d_interleaved", "RotaryEmbedding", [x3, cos, sin, ids], num_heads=3, interleaved=1, **rope)
    w.case("rotary_part", "RotaryEmbedding", [x4, cos[:, :2], sin[:, :2], ids], rotary_embedding_dim=4, **rope)
    w.case("rotary_part_interleaved", "RotaryEmbedding", [x4, cos[:, :3], sin[:, :3], ids], rotary_embedding_dim=6, interleaved=1, **rope)
    w.case("rotary_no_ids", "RotaryEmbedding", [x4, data("c3", (2, 4, 4), **low), data("s3", (2, 4, 4), **low)], **rope)
    w.case("rotary_one_head", "RotaryEmbedding", [data("r1", (1, 2, 8), **low), cos, sin, ids[:1, :2]], num_heads=1, **rope)
    for k, (shape, update, axis, mode, at) in enumerate([((2, 3, 6, 2), (2, 3, 2, 2), -2, "linear", (0, 4)), ((2, 3, 6, 2), (2, 3, 3, 2), 2, "circular", (5, 2)), ((2, 5, 2), (2, 1, 2), 1, "linear", (4, 0)),
                                                          ((2, 5, 2), (2, 1, 2), -2, "linear", None), ((1, 4, 3), (1, 4, 3), 1, "linear", (0,)), ((3, 4), (3, 2), 1, "circular", (3, 1, 0)), ((1, 2, 4, 1), (1, 2, 1, 1), 2, "linear", (3,)), ((2, 2, 2, 3), (2, 2, 2, 1), 3, "circular", (1, 2))]):
        w.case(f"tensor_scatter_{k}", "TensorScatter", [data(f"ts{k}", shape), data(f"tsu{k}", update)] + ([i64(*at)] if at else []), axis=axis, mode=mode, opset=24, reference=True)
    scores = data("scores", (3, 5, 2), **low)
    target = np.array([[0, 4], [2, 2], [1, 3]], np.int64)
    weight = f32(0.5, 1, 2, 0.25, 3)
    logp = np.log(np.exp(scores) / np.exp(scores).sum(1, keepdims=True)).astype(np.float32)
    for reduction in ("none", "sum", "mean"):
        for ignore in (None, 2):
            attrs = dict(reduction=reduction, **({} if ignore is None else {"ignore_index": ignore}))
            for weights in (None, weight):
                name = f"{reduction}_{ignore}_{int(weights is not None)}"
                extra = [] if weights is None else [weights]
                w.case(f"nll_{name}", "NegativeLogLikelihoodLoss", [logp, target] + extra, opset=13, tolerance="1e-5", reference=True, **attrs)
                w.case(f"cross_entropy_{name}", "SoftmaxCrossEntropyLoss", [scores, target] + extra, outputs=2, opset=13, tolerance="1e-5", reference=True, **attrs)
    w.case("nll_vector", "NegativeLogLikelihoodLoss", [logp[:, :, 0], target[:, 0].astype(np.int32)], opset=13, tolerance="1e-5", reference=True)
    w.write()


def make_microsoft():
    w = Writer("microsoft.txt", "Nodes of com.microsoft, and integer convolutions.")
    ms = dict(domain="com.microsoft", opset=17)
    low = dict(low=-2, high=2)
    x, skip = data("sx", (2, 3, 8), **low), data("ss", (2, 3, 8), **low)
    gamma, beta, bias = data("sg", (8,), **low), data("sb", (8,), **low), data("sbias", (8,), **low)
    w.case("skip_layer_norm", "SkipLayerNormalization", [x, skip, Const(gamma), Const(beta)], tolerance="1e-4", **ms)
    w.case("skip_layer_norm_bias", "SkipLayerNormalization", [x, skip, Const(gamma), Const(beta), Const(bias)], epsilon=1e-3, tolerance="1e-4", **ms)
    w.case("skip_layer_norm_no_shift", "SkipLayerNormalization", [x, skip, gamma, None, bias], tolerance="1e-4", **ms)
    w.case("skip_layer_norm_sum", "SkipLayerNormalization", [x, skip, gamma, beta], outputs=[1, 0, 0, 1], tolerance="1e-4", **ms)
    w.case("skip_layer_norm_broadcast", "SkipLayerNormalization", [x, skip[:1], gamma, beta], tolerance="1e-4", **ms)
    w.case("skip_layer_norm_one_row", "SkipLayerNormalization", [x[:1, :1], skip[:1, :1], gamma, beta], tolerance="1e-4", **ms)
    w.case("skip_rms_norm", "SkipSimplifiedLayerNormalization", [x, skip, gamma], tolerance="1e-4", epsilon=1e-5, **ms)
    w.case("skip_rms_norm_bias", "SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], outputs=[1, 0, 0, 1], tolerance="1e-4", epsilon=1e-5, **ms)
    ids = np.array([[1, 4, 0], [2, 2, 5]], np.int32)
    segments = np.array([[0, 0, 1], [1, 0, 1]], np.int32)
    tables = [Const(data("words", (6, 8), **low)), Const(data("places", (5, 8), **low)), Const(data("kinds", (2, 8), **low))]
    norm = [Const(gamma), Const(beta)]
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    embed = dict(tolerance="1e-4", **ms)
    w.case("embed", "EmbedLayerNormalization", [ids, segments] + tables + norm, outputs=2, **embed)
    w.case("embed_mask", "EmbedLayerNormalization", [ids, segments] + tables + norm + [mask], outputs=2, **embed)
    w.case("embed_no_segments", "EmbedLayerNormalization", [ids, None] + tables[:2] + [None] + norm, outputs=2, **embed)
    w.case("embed_positions", "EmbedLayerNormalization", [ids, segments] + tables + norm + [None, np.array([[2, 0, 4], [1, 1, 3]], np.int32)], outputs=2, **embed)
    w.case("embed_sum", "EmbedLayerNormalization", [ids, segments] + tables + norm, outputs=3, epsilon=1e-6, **embed)
    w.case("embed_one", "EmbedLayerNormalization", [ids[:1, :1], segments[:1, :1]] + tables + norm, outputs=2, **embed)
    w.case("embed_all_places", "EmbedLayerNormalization", [np.array([[0, 1, 2, 3, 4]], np.int32), np.zeros((1, 5), np.int32)] + tables + norm, outputs=2, **embed)
    w.case("embed_mask_no_segments", "EmbedLayerNormalization", [ids, None] + tables[:2] + [None] + norm + [mask], outputs=2, **embed)
    weights, wb = Const(data("aw", (8, 24), **low)), Const(data("awb", (24,), **low))
    att = dict(num_heads=2, tolerance="1e-4", **ms)
    w.case("attention", "Attention", [x, weights, wb], **att)
    w.case("attention_scale", "Attention", [x, weights, wb], scale=0.1, **att)
    w.case("attention_mask_2d", "Attention", [x, weights, wb, mask], **att)
    w.case("attention_mask_1d", "Attention", [x, weights, wb, np.array([2, 3], np.int32)], **att)
    w.case("attention_mask_3d", "Attention", [x, weights, wb, np.array([[[1, 0, 1], [1, 1, 0], [0, 1, 1]]] * 2, np.int32)], **att)
    w.case("attention_causal", "Attention", [x, weights, wb], unidirectional=1, **att)
    w.case("attention_causal_mask", "Attention", [x, weights, wb, mask], unidirectional=1, **att)
    w.case("attention_one_head", "Attention", [x, weights, wb], **dict(att, num_heads=1))
    w.case("attention_widths", "Attention", [x, Const(data("aw2", (8, 16), **low)), Const(data("awb2", (16,), **low))], qkv_hidden_sizes=[4, 4, 8], **att)
    q, k3, v3 = data("mq", (2, 3, 8), **low), data("mk", (2, 5, 8), **low), data("mv", (2, 5, 8), **low)
    mbias = data("mb", (24,), **low)
    multi = dict(num_heads=2, tolerance="1e-4", **ms)
    w.case("multi_head", "MultiHeadAttention", [q, k3, v3], **multi)
    w.case("multi_head_bias", "MultiHeadAttention", [q, k3, v3, mbias], **multi)
    w.case("multi_head_mask_2d", "MultiHeadAttention", [q, k3, v3, None, np.array([[1, 1, 0, 1, 0], [1, 1, 1, 1, 1]], np.int32)], **multi)
    w.case("multi_head_mask_1d", "MultiHeadAttention", [q, k3, v3, None, np.array([2, 5], np.int32)], **multi)
    w.case("multi_head_added", "MultiHeadAttention", [q, k3, v3, None, None, data("madd", (2, 2, 3, 5), **low)], **multi)
    w.case("multi_head_scale", "MultiHeadAttention", [q, k3, v3], scale=0.2, **multi)
    w.case("multi_head_causal", "MultiHeadAttention", [k3, k3, v3], unidirectional=1, **multi)
    w.case("multi_head_wide_values", "MultiHeadAttention", [q, k3, data("mv12", (2, 5, 12), **low)], **dict(multi, num_heads=4))
    for key, (a, b, bs, bz, add) in enumerate([((2, 3), (3, 4), 0.02, None, 0), ((2, 3), (3, 4), 0.02, 128, 1), ((2, 5, 6), (6, 2), 0.1, 7, 0), ((1, 7), (7, 1), 0.5, 0, 1),
                                               ((3, 4), (4, 3), [0.1, 0.2, 0.3], [1, 2, 3], 0), ((3, 4), (4, 3), [0.1, 0.2, 0.3], None, 1), ((1, 1), (1, 5), 0.1, 3, 0), ((4, 16), (16, 4), 0.01, 100, 1)]):
        extra = [Const(np.array(bs, np.float32)), None if bz is None else Const(np.array(bz, np.uint8)), Const(data("dqb", (b[1],))) if add else None]
        w.case(f"dynamic_quantize_matmul_{key}", "DynamicQuantizeMatMul", [data(f"dq{key}", a), Const(data(f"dqw{key}", b, "uint8", high=256))] + extra, tolerance="1e-4", **ms)
        w.case(f"matmul_integer_to_float_{key}", "MatMulIntegerToFloat", [data(f"mi{key}", a, "uint8", high=256), Const(data(f"dqw{key}", b, "uint8", high=256)), Const(np.array(0.03, np.float32)), extra[0],
                                                                          Const(np.array(11, np.uint8)), extra[1], extra[2]], tolerance="1e-4", **ms)
    sc, zp = (lambda v: Const(np.array(v, np.float32))), (lambda v: Const(np.array(v, np.uint8)))
    for key, (c, x_, y_) in enumerate([((2, 3), (2, 3), (2, 3)), ((1, 3), (2, 1), (2, 3)), ((3,), (1,), (1,)), ((2, 1, 2), (3, 1), (2,)), ((1,), (4,), (4,)), ((4,), (4,), (1,)), ((2, 2), (2, 2), (2, 2)), ((1, 1), (1, 1), (2, 3))]):
        w.case(f"qlinear_where_{key}", "QLinearWhere", [data(f"qwc{key}", c, "bool"), data(f"qwx{key}", x_, "uint8", high=256), sc(0.05), zp(10), data(f"qwy{key}", y_, "uint8", high=256), sc(0.04), zp(120), sc(0.0625), zp(99)], **ms)
    rng = np.random.default_rng(3)
    for k, (rows, cols, block, zero, bits) in enumerate([(32, 5, 32, False, 4), (64, 3, 32, True, 4), (40, 4, 16, True, 4), (48, 2, 16, False, 4), (128, 1, 64, True, 4), (20, 3, 16, True, 4), (32, 4, 16, False, 4), (96, 2, 32, True, 4)]):
        blocks = (rows + block - 1) // block
        packed = rng.integers(0, 256, (cols, blocks, block * bits // 8)).astype(np.uint8)
        scales = (rng.integers(1, 9, (cols * blocks,)) / 16).astype(np.float32)
        extra = [Const(rng.integers(0, 256, (cols * ((blocks * bits + 7) // 8),)).astype(np.uint8))] if zero else []
        w.case(f"matmul_nbits_{k}", "MatMulNBits", [data(f"nb{k}", (2, 3, rows), **low), Const(packed), Const(scales)] + extra, K=rows, N=cols, bits=bits, block_size=block, tolerance="1e-4", **ms)
    s, z = lambda v: Const(np.array(v, np.float32)), lambda v, t=np.uint8: Const(np.array(v, t))
    for k, (shape, axis, opset) in enumerate([((2, 5), -1, 13), ((2, 3, 4), 1, 13), ((2, 3, 4), 1, 12), ((2, 3, 4), -1, 12), ((3, 1), -1, 13), ((1, 9), 1, 13), ((2, 2, 2), 0, 13), ((7,), -1, 13)]):
        t = np.int8 if k % 2 else np.uint8
        w.case(f"qlinear_softmax_{k}", "QLinearSoftmax", [data(f"qs{k}", shape, np.dtype(t).name, low=-60, high=60), s(0.05), z(3, t), s(1 / 256), z(-128 if k % 2 else 0, t)],
               axis=axis, opset_=opset, tolerance="0.008", **ms)
    for k, (xs, ws, attrs, xz, wz) in enumerate([
            ((1, 1, 3, 3), (1, 1, 2, 2), {}, 1, None), ((1, 1, 3, 3), (1, 1, 2, 2), dict(pads=[1, 1, 1, 1]), 1, None), ((2, 3, 5, 4), (4, 3, 3, 3), dict(pads=[1, 0, 1, 2], strides=[2, 1]), 7, 3), ((1, 4, 4, 4), (4, 2, 2, 2), dict(group=2), 128, [1, 2, 3, 4]),
            ((1, 2, 6), (3, 2, 3), dict(dilations=[2]), 5, None), ((1, 1, 4, 4), (1, 1, 3, 3), dict(auto_pad="SAME_UPPER"), 9, 0), ((1, 2, 3, 3), (1, 2, 1, 1), {}, None, None), ((1, 64, 2, 2), (2, 64, 2, 2), {}, 255, 255)]):
        xq, wq = data(f"ci{k}", xs, "uint8", high=256), data(f"cw{k}", ws, "uint8", high=256)
        extra = [] if xz is None else [Const(np.array(xz, np.uint8))] + ([] if wz is None else [Const(np.array(wz, np.uint8))])
        w.case(f"conv_integer_{k}", "ConvInteger", [xq, wq] + extra, opset=10, reference=isinstance(wz, list), answers=conv_answers(xq, wq, xz, wz, attrs) if isinstance(wz, list) else None, **attrs)
    w.write()


def make_signal():
    w = Writer("signal.txt", "Nodes of signals.")
    some = dict(tolerance="2e-4", reference=True)
    scalar = lambda v: Const(np.array(v, np.int64))
    for k, (shape, axis, length, inverse, onesided) in enumerate([
            ((1, 8, 1), 1, None, 0, 0), ((2, 7, 1), 1, None, 0, 1), ((2, 6, 2), 1, None, 0, 0), ((1, 5, 3, 2), 1, None, 0, 0), ((1, 5, 3, 2), -2, None, 1, 0), ((2, 8, 1), 1, 5, 0, 0), ((2, 5, 1), 1, 8, 0, 1),
            ((2, 5, 2), 1, None, 1, 1), ((2, 4, 2), 1, 7, 1, 1), ((6, 2), 0, None, 1, 0)]):
        x = data(f"dft{k}", shape, low=-2, high=2)
        if inverse and onesided:  # the spectrum of a real signal
            x[:, 0, 1] = 0
            x[:, -1, 1] = 0
        w.case(f"dft_{k}", "DFT", [x, scalar(length) if length else None, scalar(axis)], inverse=inverse, onesided=onesided, opset=20, **some)
        if k < 5:
            w.case(f"dft_17_{k}", "DFT", [x], axis=axis % len(shape), inverse=inverse, onesided=onesided, opset=17, **some)
    x = data("stft", (2, 20, 1), low=-2, high=2)
    w.case("stft", "STFT", [x, scalar(4), Const(np.hanning(8).astype(np.float32)), scalar(8)], opset=17, tolerance="2e-4")
    w.case("stft_two_sided", "STFT", [x, scalar(3), Const(np.ones(6, np.float32)), scalar(6)], onesided=0, opset=17, tolerance="2e-4")
    w.case("stft_no_window", "STFT", [x, scalar(5), None, scalar(10)], opset=17, tolerance="2e-4")
    w.case("stft_one_frame", "STFT", [x, scalar(1), Const(np.ones(20, np.float32)), scalar(20)], opset=17, tolerance="2e-4")
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        for size, periodic in ((10, 1), (10, 0), (2, 1), (33, 0)):
            w.case(f"{op.lower()}_{size}_{periodic}", op, [scalar(size)], periodic=periodic, opset=17, tolerance="1e-6", reference=True)
    for k, (shape, taps, bias, past, activation) in enumerate([((1, 2, 5), 3, 0, 0, None), ((2, 3, 4), 4, 1, 0, None), ((2, 3, 4), 4, 1, 1, "silu"), ((1, 2, 1), 3, 0, 1, "swish"), ((1, 1, 6), 1, 0, 0, None),
                                                               ((2, 2, 3), 2, 0, 1, "none"), ((1, 4, 7), 5, 1, 1, "silu"), ((3, 1, 2), 6, 0, 0, "silu")]):
        name = f"causal_conv_{k}"
        inputs = [data(name, shape, low=-2, high=2), data(name + "w", (shape[1], 1, taps), low=-2, high=2), data(name + "b", (shape[1],)) if bias else None,
                  data(name + "p", (shape[0], shape[1], taps - 1)) if past else None]
        w.case(name, "CausalConvWithState", inputs, outputs=2, opset=27, tolerance="1e-5", reference=True, **({"activation": activation} if activation else {}))
    w.write()


def make_counted():
    w = Writer("counted.txt", "Nodes whose results are as long as the data says.")
    one = lambda v, t=np.float32: np.array([v], t)
    for k, (batches, classes, n, most, iou, score, centre) in enumerate([
            (1, 1, 6, 3, 0.5, None, 0), (1, 1, 6, 3, 0.5, 0.4, 1), (2, 3, 8, 100, 0.3, 0.2, 0), (2, 3, 8, 2, 0.3, 0.2, 1), (1, 4, 12, 5, 0.0, 0.1, 0), (1, 4, 12, 5, 1.0, 0.1, 0),
            (3, 1, 5, 0, 0.5, None, 0), (1, 2, 10, 4, 0.5, 2.0, 0), (1, 1, 1, 1, 0.5, 0.0, 0), (2, 2, 16, 16, 0.45, 0.3, 0), (1, 1, 20, 9, 0.2, None, 0), (1, 3, 7, 7, 0.6, 0.5, 1)]):
        # Corners in any order; coordinates on a grid, so that boxes touch, repeat and lie in each other.
        boxes = data(f"nb{k}", (batches, n, 4), low=0, high=6).round()
        if centre:
            boxes[..., 2:] = np.abs(boxes[..., 2:])
        scores = (data(f"ns{k}", (batches, classes, n), low=0, high=1) * 8).round() / 8  # many ties
        for name, kind in (("data", lambda v: v), ("const", Const)):
            inputs = [boxes, scores, kind(one(most, np.int64)), kind(one(iou))] + ([kind(one(score))] if score is not None else [])
            w.case(f"nms_{name}_{k}", "NonMaxSuppression", inputs, center_point_box=centre, opset=11)
    w.case("nms_no_limits", "NonMaxSuppression", [data("b", (1, 3, 4), low=0, high=6), data("s", (1, 1, 3))], opset=10)
    for k, (shape, dtype) in enumerate([((2, 3), "float32"), ((7,), "int64"), ((2, 2, 3), "bool"), ((1, 4, 1), "int32"), ((), "float32"), ((0, 3), "float32"), ((3, 4), "uint8")]):
        x = (data(f"nz{k}", shape, low=-2, high=2).round() if shape else np.array(1.0)).astype(dtype)
        w.case(f"nonzero_{k}", "NonZero", [x], opset=13)
    for k, (shape, axis, flags) in enumerate([((6,), None, [1, 0, 1, 1, 0, 1]), ((2, 3), None, [0, 1, 1]), ((3, 2), 0, [0, 1, 1]), ((3, 4), 1, [1, 0, 0, 1]), ((2, 3, 2), -2, [1, 0, 1]), ((3, 2), 0, [0, 0, 0]), ((3, 2), 0, [1]), ((2, 3, 2), 2, [0, 1])]):
        w.case(f"compress_{k}", "Compress", [data(f"co{k}", shape), np.array(flags, bool)], opset=11, **({} if axis is None else {"axis": axis}))
    for k, (shape, axis, ordered, dtype) in enumerate([((9,), None, 1, "float32"), ((9,), None, 0, "float32"), ((3, 4), None, 1, "int64"), ((6, 2), 0, 1, "float32"), ((6, 2), 0, 0, "float32"), ((2, 7), 1, 1, "int64"), ((2, 5, 2), 1, 0, "float32"), ((2, 5, 2), -2, 1, "float32"), ((1,), None, 1, "int8"), ((4, 3), 1, 0, "float64")]):
        x = data(f"un{k}", shape, low=0, high=2).round().astype(dtype)
        w.case(f"unique_{k}", "Unique", [x], outputs=4, sorted=ordered, opset=11, **({} if axis is None else {"axis": axis}))
    for k, (shape, axis, most) in enumerate([((7,), 0, 3), ((2, 5), -1, 5), ((4, 3), 0, 1), ((2, 3, 4), 1, 2), ((3, 3), 1, 0)]):
        w.case(f"topk_{k}", "TopK", [distinct(f"tk{k}", shape, axis, shape[axis]).astype(np.float32), np.array([most], np.int64)], axis=axis, outputs=2, opset=11)
    w.case("reshape_unknown", "Reshape", [data("re", (2, 6)), np.array([-1], np.int64)], opset=13)
    w.case("slice_unknown", "Slice", [data("sl", (4, 6)), np.array([1, -5], np.int64), np.array([3, 4], np.int64)], opset=13)
    w.write()


def conv_answers(x, w, xz, wz, attrs):
    wz = np.array(wz).reshape(-1, *([1] * (w.ndim - 1)))
    a, b = x.astype(np.float64) - xz, w.astype(np.float64) - wz
    node = helper.make_node("Conv", ["x", "w"], ["y"], **attrs)
    info = lambda n, v: helper.make_tensor_value_info(n, 1, list(v.shape))
    graph = helper.make_graph([node], "g", [info("x", a), info("w", b)], [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)])
    return [ReferenceEvaluator(model).run(None, {"x": a, "w": b})[0].round().astype(np.int32)]


if __name__ == "__main__":
    NODES.mkdir(exist_ok=True)
    for make in (make_indexed, make_sampling, make_einsum, make_attention, make_microsoft, make_signal, make_counted):
        make()
