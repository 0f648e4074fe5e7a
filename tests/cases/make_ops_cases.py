"""Writes tests/cases/ops/*.txt: small op calls with the answers of onnxruntime (or, where it lacks one, onnx.reference).

Run by hand when cases are added:  python tests/cases/make_ops_cases.py     (needs numpy, onnx and onnxruntime)
The files are read by tests/ops/op_cases_test.cpp, which also explains their lines.
"""
import pathlib
import zlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

OUT = pathlib.Path(__file__).parent / "ops"
TYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "int8": "s8", "uint8": "u8", "int16": "s16",
         "uint16": "u16", "int32": "s32", "uint32": "u32", "int64": "s64", "uint64": "u64", "bool": "bool"}
ort.set_default_logger_severity(4)


def data(name, shape, dtype="float32", low=-8, high=8):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if np.dtype(dtype).kind == "f":
        return np.asarray(rng.integers(low * 4, high * 4, size=shape) / 4).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, size=shape).astype(bool)
    return rng.integers(low if np.dtype(dtype).kind == "i" else 0, high, size=shape).astype(dtype)


def i64(*values):
    return np.array(values, dtype=np.int64)


def f32(*values):
    return np.array(values, dtype=np.float32)


def tensor_text(array):
    array = np.asarray(array)
    shape = "x".join(map(str, array.shape)) or "scalar"
    kind = array.dtype.kind
    words = [("%.9g" if array.dtype.itemsize < 8 else "%.17g") % float(v) if kind == "f" else str(int(v))
             for v in array.ravel()]
    return " ".join([TYPES[array.dtype.name], shape, ":"] + words)


class Writer:
    def __init__(self, file, about):
        self.path, self.lines, self.count = OUT / file, [f"# {about} Made by make_ops_cases.py."], 0

    def case(self, name, op, onnx_op, inputs, fields="", attrs=None, outputs=1, opset=19, tolerance=None, reference=False):
        names = [f"i{k}" if x is not None else "" for k, x in enumerate(inputs)]
        while names and names[-1] == "":
            names.pop()
        given = [(n, x) for n, x in zip(names, inputs) if x is not None]
        node = helper.make_node(onnx_op, names, [f"o{k}" for k in range(outputs)], **(attrs or {}))
        values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), list(x.shape)) for n, x in given]
        results = [onnx.ValueInfoProto(name=f"o{k}") for k in range(outputs)]
        model = helper.make_model(helper.make_graph([node], "g", values, results), ir_version=9,
                                  opset_imports=[helper.make_opsetid("", opset)])
        feed = dict(given)
        if reference:
            answers = ReferenceEvaluator(model).run(None, feed)
        else:
            inferred = onnx.shape_inference.infer_shapes(model)
            for k, value in enumerate(inferred.graph.output):
                model.graph.output[k].CopyFrom(value)
            options = ort.SessionOptions()
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            answers = ort.InferenceSession(model.SerializeToString(), options).run(None, feed)
        self.lines += ["", f"case {name}", f"op {op} {fields}".rstrip()]
        self.lines += [f"in {tensor_text(x)}" if x is not None else "in absent" for x in inputs[:len(names)]]
        self.lines += [f"out {tensor_text(a)}" for a in answers]
        if tolerance:
            self.lines.append(f"tol {tolerance}")
        self.count += 1

    def write(self):
        self.path.write_text("\n".join(self.lines) + "\n")
        print(self.path.name, self.count)


MODES = {"nearest": 0, "linear": 1, "cubic": 2}
COORDINATES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
               "tf_half_pixel_for_nn", "tf_crop_and_resize"]
NEAREST = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
ASPECT = ["stretch", "not_larger", "not_smaller"]


def resize(w, name, shape, mode, scales=None, sizes=None, roi=None, coordinates="half_pixel", nearest=None, aspect=None,
           a=None, exclude=0, antialias=0, axes=None, extrapolation=None, dtype="float32", opset=19, reference=False,
           x=None, low=-8):
    attrs = {"mode": mode, "coordinate_transformation_mode": coordinates}
    fields = [f"mode={MODES[mode]}", f"coordinates={COORDINATES.index(coordinates)}"]
    if nearest:
        attrs["nearest_mode"] = nearest
        fields.append(f"nearest={NEAREST.index(nearest)}")
    if aspect:
        attrs["keep_aspect_ratio_policy"] = aspect
        fields.append(f"aspect={ASPECT.index(aspect)}")
    if a is not None:
        attrs["cubic_coeff_a"] = a
        fields.append(f"cubic_coefficient={a}")
    if extrapolation is not None:
        attrs["extrapolation_value"] = float(extrapolation)
        fields.append(f"extrapolation_value={float(extrapolation)}")
    for key, value in (("exclude_outside", exclude), ("antialias", antialias)):
        if value:
            attrs[key] = 1
            fields.append(f"{key}=1")
    if axes:
        attrs["axes"] = axes
        fields.append("axes=[" + ",".join(map(str, axes)) + "]")
    x = data(name, shape, dtype, low=low) if x is None else x
    w.case(name, "Resize", "Resize",
           [x, f32(*roi) if roi else None, f32(*scales) if scales else None, i64(*sizes) if sizes else None],
           " ".join(fields), attrs, opset=opset, reference=reference,
           tolerance=None if mode == "nearest" else "2e-5" if dtype != "float16" else "2e-3")


def make_resize():
    w = Writer("resize.txt", "Resize.")
    s = (1, 1, 3, 4)
    for c in COORDINATES[:5]:
        resize(w, f"nearest_up_{c}", s, "nearest", sizes=(1, 1, 7, 9), coordinates=c)
        resize(w, f"linear_up_{c}", s, "linear", sizes=(1, 1, 5, 7), coordinates=c)
        resize(w, f"cubic_up_{c}", s, "cubic", sizes=(1, 1, 5, 7), coordinates=c)
    for n in NEAREST:
        resize(w, f"nearest_{n}_down", (1, 1, 7, 8), "nearest", scales=(1, 1, 0.5, 0.6), nearest=n)
        resize(w, f"nearest_{n}_ties", (1, 1, 4, 4), "nearest", scales=(1, 1, 2, 4), coordinates="asymmetric", nearest=n)
    resize(w, "nearest_tf_half_pixel_for_nn", s, "nearest", scales=(1, 1, 2, 1.5), coordinates="tf_half_pixel_for_nn",
           nearest="floor", opset=11, roi=(0, 0, 0, 0, 1, 1, 1, 1))
    resize(w, "nearest_yolo_times_2", (1, 2, 2, 3), "nearest", scales=(1, 1, 2, 2), coordinates="asymmetric", nearest="floor")
    resize(w, "nearest_u8", (1, 2, 2, 3), "nearest", scales=(1, 1, 2, 2), coordinates="asymmetric", nearest="floor",
           dtype="uint8")
    resize(w, "nearest_s32_1d", (5,), "nearest", scales=(2.6,), dtype="int32")
    resize(w, "nearest_channels_too", (1, 2, 2, 2), "nearest", scales=(1, 2, 1, 2))
    resize(w, "linear_down_scales", (1, 1, 5, 7), "linear", scales=(1, 1, 0.6, 0.5))
    resize(w, "linear_batch_channels", (2, 2, 2, 3), "linear", sizes=(2, 2, 3, 4), coordinates="align_corners")
    resize(w, "linear_align_corners_to_1", s, "linear", sizes=(1, 1, 1, 1), coordinates="align_corners")
    resize(w, "linear_pytorch_to_1", s, "linear", sizes=(1, 1, 1, 2), coordinates="pytorch_half_pixel")
    resize(w, "linear_1d", (1, 1, 5), "linear", scales=(1, 1, 1.7), reference=True)
    resize(w, "linear_3d", (1, 1, 2, 3, 2), "linear", scales=(1, 1, 2, 1.5, 2))
    resize(w, "linear_rank_2", (3, 4), "linear", sizes=(5, 3))
    resize(w, "linear_f16", s, "linear", scales=(1, 1, 2, 2), dtype="float16", reference=True)
    resize(w, "linear_f64", s, "linear", scales=(1, 1, 2, 1.5), dtype="float64", reference=True)
    resize(w, "linear_axes", (2, 3, 4, 1), "linear", sizes=(5, 2), axes=[1, 2], reference=True)
    resize(w, "linear_axes_order", (1, 1, 3, 4), "linear", scales=(2, 1.5), axes=[3, 2])
    resize(w, "nearest_axes_negative", (1, 1, 3, 4), "nearest", sizes=(6, 2), axes=[-2, -1])
    resize(w, "cubic_down", (1, 1, 6, 6), "cubic", scales=(1, 1, 0.6, 0.8))
    resize(w, "cubic_a_half", s, "cubic", scales=(1, 1, 2, 2), a=-0.5)
    resize(w, "cubic_exclude_outside", s, "cubic", scales=(1, 1, 2, 2), a=-0.5, exclude=1)
    resize(w, "cubic_exclude_outside_down", (1, 1, 5, 5), "cubic", scales=(1, 1, 0.7, 0.7), exclude=1)
    resize(w, "cubic_f16", s, "cubic", scales=(1, 1, 2, 1), dtype="float16", reference=True)
    resize(w, "antialias_linear", (1, 1, 6, 7), "linear", sizes=(1, 1, 3, 4), antialias=1)
    resize(w, "antialias_linear_scales", (1, 1, 8, 8), "linear", scales=(1, 1, 0.6, 0.6), antialias=1)
    resize(w, "antialias_linear_up", s, "linear", scales=(1, 1, 2, 2), antialias=1)
    resize(w, "antialias_cubic", (1, 1, 8, 9), "cubic", sizes=(1, 1, 3, 4), antialias=1, reference=True)
    resize(w, "antialias_cubic_exclude", (1, 1, 8, 9), "cubic", sizes=(1, 1, 3, 4), antialias=1, exclude=1)
    resize(w, "antialias_linear_strong", (1, 1, 20, 24), "linear", sizes=(1, 1, 1, 2), antialias=1)
    for mode in MODES:
        resize(w, f"crop_{mode}", (1, 1, 4, 5), mode, sizes=(1, 1, 3, 4), coordinates="tf_crop_and_resize",
               roi=(0, 0, 0.25, 0.2, 1, 1, 0.75, 0.9))
        resize(w, f"crop_outside_{mode}", (1, 1, 4, 4), mode, sizes=(1, 1, 3, 4), coordinates="tf_crop_and_resize",
               roi=(0, 0, -0.3, 0.6, 1, 1, 1, 1.4), extrapolation=10, reference=True)  # ort skips a dim of scale 1
    resize(w, "crop_to_1", (1, 1, 4, 5), "linear", sizes=(1, 1, 1, 1), coordinates="tf_crop_and_resize",
           roi=(0, 0, 0.2, 0.2, 1, 1, 0.7, 0.9))
    resize(w, "crop_axes", (1, 1, 4, 5), "nearest", sizes=(3, 4), axes=[2, 3], coordinates="tf_crop_and_resize",
           roi=(0.25, 0.2, 0.75, 0.9), reference=True)
    for policy in ASPECT[1:]:
        resize(w, f"aspect_{policy}_up", (1, 1, 2, 4), "nearest", sizes=(7, 8), axes=[2, 3], aspect=policy)
        resize(w, f"aspect_{policy}_down", (1, 1, 4, 6), "linear", sizes=(2, 4), axes=[2, 3], aspect=policy, reference=True)
    w.write()


def make_slice():
    w = Writer("slice.txt", "Slice.")
    low, high = -2**63, 2**63 - 1

    def one(name, shape, starts, ends, axes=None, steps=None, dtype="float32"):
        w.case(name, "Slice", "Slice", [data(name, shape, dtype), i64(*starts), i64(*ends),
                                        i64(*axes) if axes else None, i64(*steps) if steps else None], opset=13)

    one("plain", (4, 5), (1, 0), (3, 4))
    one("ends_clamp", (4, 5), (1, 2), (1000, 1000))
    one("starts_clamp", (4, 5), (-100, 0), (2, 5))
    one("start_behind_the_end", (4, 5), (0, 9), (4, 10))
    one("start_after_end", (4, 5), (3,), (1,))
    one("first_axis_only", (4, 5), (1,), (3,))
    one("one_axis", (4, 5, 2), (1,), (3,), (1,))
    one("negative_axis", (4, 5, 2), (1,), (3,), (-2,))
    one("axes_out_of_order", (4, 5, 3), (1, 0), (2, 3), (2, 0))
    one("negative_bounds", (4, 5), (-3, -4), (-1, -2))
    one("step_2", (4, 5), (0, 1), (4, 5), (0, 1), (2, 3))
    one("step_beyond_the_dim", (4, 5), (1,), (5,), (1,), (100,))
    one("step_max", (4, 5), (1,), (5,), (1,), (high,))
    one("reverse", (6,), (-1,), (low,), (0,), (-1,))
    one("reverse_minus_2", (7,), (5,), (0,), (0,), (-2,))
    one("reverse_clamps_start", (6,), (100,), (-100,), (0,), (-1,))
    one("reverse_end_minus_1_is_last", (6,), (3,), (-1,), (0,), (-1,))
    one("reverse_step_min", (6,), (4,), (low,), (0,), (low,))
    one("reverse_both", (3, 4), (2, 3), (low, low), (0, 1), (-1, -2))
    one("int64_bounds", (3, 4), (low, low), (high, high), (0, 1), (1, 1))
    one("max_start", (3, 4), (high,), (high,), (0,))
    one("zero_size_dim", (0, 4), (0, 1), (3, 3))
    one("zero_size_reverse", (3, 0), (-1,), (low,), (1,), (-1,))
    one("bytes", (3, 4), (0, 3), (3, 0), (0, 1), (2, -1), "uint8")
    one("halves", (3, 4), (0, 1), (3, 3), (0, 1), (2, 1), "float16")
    one("doubles", (3, 4), (1, 1), (3, 4), (0, 1), (1, 2), "float64")
    one("rank_5", (2, 3, 2, 3, 2), (1, 0, 1), (2, 3, 3), (0, 1, 3), (1, 2, 1))
    one("roll_half", (1, 4, 4, 1), (2,), (high,), (1,), (1,))
    w.case("s32_bounds", "Slice", "Slice", [data("s32", (4, 5)), np.array([-2**31], np.int32),
                                            np.array([2**31 - 1], np.int32), np.array([1], np.int32),
                                            np.array([3], np.int32)], opset=13)
    w.write()


def make_pad():
    w = Writer("pad.txt", "Pad.")
    modes = ["constant", "reflect", "edge", "wrap"]

    def one(name, mode, shape, pads, value=None, axes=None, dtype="float32", reference=False):
        x = data(name, shape, dtype)
        w.case(name, "Pad", "Pad", [x, i64(*pads), np.array(value, dtype=dtype) if value is not None else None,
                                    i64(*axes) if axes else None], f"mode={modes.index(mode)}", {"mode": mode},
               reference=reference)

    one("constant", "constant", (2, 3), (1, 0, 2, 1), 1.5)
    one("constant_no_value", "constant", (2, 3), (0, 2, 0, 1))
    one("constant_crop", "constant", (4, 5), (-1, 0, 0, -2), 3.0)
    one("constant_crop_and_pad", "constant", (4, 5), (-1, 2, 1, -3), 3.0)
    one("constant_axes", "constant", (2, 3, 2), (1, 2), 9.0, (1,))
    one("constant_negative_axes", "constant", (2, 3, 2), (1, 0, 2, 1), 9.0, (-1, 0))
    one("constant_u8", "constant", (2, 3), (1, 1, 1, 1), 7, dtype="uint8")
    one("constant_s64", "constant", (3,), (2, 0), -5, dtype="int64")
    one("constant_bool", "constant", (3,), (1, 1), True, dtype="bool")
    one("constant_f16", "constant", (3,), (1, 2), 0.5, dtype="float16")
    one("constant_empty", "constant", (0, 2), (1, 0, 1, 1), 4.0)
    one("constant_none", "constant", (2, 2), (0, 0, 0, 0), 4.0)
    one("constant_crop_all", "constant", (3, 2), (-2, 0, -1, 0), 4.0)
    one("reflect", "reflect", (3, 4), (1, 2, 2, 3))
    one("reflect_4d", "reflect", (1, 1, 3, 3), (0, 0, 1, 2, 0, 0, 2, 1))
    one("reflect_up_to_the_dim", "reflect", (4,), (3, 3))
    one("reflect_beyond_the_dim", "reflect", (3,), (5, 7), reference=True)
    one("reflect_dim_2", "reflect", (2,), (4, 3), reference=True)
    one("reflect_s32", "reflect", (2, 3), (0, 2, 1, 1), dtype="int32")
    one("reflect_axes", "reflect", (2, 3), (1, 2), None, (1,))
    one("edge", "edge", (3, 2), (2, 1, 1, 3))
    one("edge_beyond_the_dim", "edge", (2,), (4, 5))
    one("edge_crop", "edge", (4, 3), (-1, 1, 2, -1))
    one("edge_f64", "edge", (1, 2, 2), (0, 1, 0, 1, 0, 2), dtype="float64")
    one("wrap", "wrap", (3, 4), (2, 1, 1, 3))
    one("wrap_beyond_the_dim", "wrap", (3,), (5, 7), reference=True)
    one("wrap_axes", "wrap", (2, 3), (2, 2), None, (-1,))
    one("wrap_s8", "wrap", (4,), (1, 2), dtype="int8")
    w.write()


REDUCE = {"ReduceSum": 0, "ReduceMean": 1, "ReduceMax": 2, "ReduceMin": 3, "ReduceProd": 4, "ReduceL1": 5, "ReduceL2": 6,
          "ReduceLogSum": 7, "ReduceLogSumExp": 8, "ReduceSumSquare": 9}


def make_reduce():
    w = Writer("reduce.txt", "Reduce and ArgReduce.")

    def one(name, op, shape, axes=None, keepdims=1, noop=0, dtype="float32", reference=False, low=-8, high=8, x=None,
            opset=18):
        attrs, fields = {"keepdims": keepdims}, [f"function={list(NAMES)[REDUCE[op]]}", f"keepdims={keepdims}"]
        if noop:
            attrs["noop_with_empty_axes"] = 1
            fields.append("noop_with_empty_axes=1")
        x = data(name, shape, dtype, low, high) if x is None else x
        w.case(name, "Reduce", op, [x, i64(*axes) if axes is not None else None], " ".join(fields), attrs, opset=opset,
               tolerance=None if np.dtype(dtype).kind != "f" else "2e-3" if dtype == "float16" else "2e-6",
               reference=reference)

    for op in REDUCE:
        positive = op == "ReduceLogSum"
        one(f"{op}_last", op, (2, 3, 4), (-1,), low=1 if positive else -4, high=4)
        one(f"{op}_all", op, (2, 3), low=1 if positive else -4, high=4, keepdims=0)
        one(f"{op}_outer_inner", op, (2, 3, 2, 2), (0, 2), keepdims=0, low=1 if positive else -4, high=4)
    one("global_average", "ReduceMean", (2, 3, 2, 2), (2, 3))
    one("mean_f16", "ReduceMean", (2, 5), (1,), dtype="float16")
    one("mean_f64", "ReduceMean", (2, 5), (1,), dtype="float64")
    one("sum_s32", "ReduceSum", (2, 5), (1,), dtype="int32")
    one("sum_s64", "ReduceSum", (2, 5), (0,), dtype="int64", keepdims=0)
    one("mean_s32_positive", "ReduceMean", (2, 5), (1,), dtype="int32", low=0)
    one("max_u8", "ReduceMax", (3, 4), (0,), dtype="uint8")
    one("min_s8", "ReduceMin", (3, 4), (0,), dtype="int8")
    one("max_s64", "ReduceMax", (3, 4), (1,), dtype="int64")
    one("max_bool", "ReduceMax", (3, 4), (1,), dtype="bool", opset=20)
    one("min_bool", "ReduceMin", (3, 4), (1,), dtype="bool", opset=20)
    one("prod_s64", "ReduceProd", (2, 4), (1,), dtype="int64")
    one("noop", "ReduceSum", (2, 3), noop=1)
    one("noop_empty_axes", "ReduceSum", (2, 3), (), noop=1)
    one("noop_sum_square", "ReduceSumSquare", (2, 3), noop=1, reference=True)
    one("empty_axes_reduce_all", "ReduceSum", (2, 3), ())
    one("scalar", "ReduceMean", ())
    one("scalar_l2", "ReduceL2", (), low=-4, high=-1)
    one("empty_set_sum", "ReduceSum", (2, 0, 3), (1,))
    one("empty_set_prod", "ReduceProd", (2, 0, 3), (1,), keepdims=0)
    one("empty_set_max", "ReduceMax", (2, 0), (1,), reference=True)
    one("empty_set_min", "ReduceMin", (2, 0), (1,), reference=True)
    one("empty_set_log_sum_exp", "ReduceLogSumExp", (2, 0), (1,), reference=True)
    one("empty_result", "ReduceSum", (0, 3), (1,))
    one("log_sum_exp_large", "ReduceLogSumExp", (1, 3), (1,), x=f32(1000, 1001, 999).reshape(1, 3))
    for name, op, attrs, shape, dtype in (
            ("argmax", "ArgMax", {"axis": 1}, (2, 5), "float32"),
            ("argmax_axis_0", "ArgMax", {"axis": 0, "keepdims": 0}, (4, 3), "float32"),
            ("argmax_last_of_equals", "ArgMax", {"axis": 1, "select_last_index": 1}, (3, 8), "int32"),
            ("argmax_first_of_equals", "ArgMax", {"axis": 1}, (3, 8), "int32"),
            ("argmin", "ArgMin", {"axis": -1, "keepdims": 0}, (2, 2, 5), "float32"),
            ("argmin_u8", "ArgMin", {"axis": 0}, (5, 2), "uint8"),
            ("argmax_f16", "ArgMax", {"axis": 1}, (2, 5), "float16")):
        fields = " ".join([f"largest={int(op == 'ArgMax')}"] + [f"{k}={v}" for k, v in attrs.items()])
        x = data(name, shape, dtype, low=-2, high=3) if "equals" in name else data(name, shape, dtype)
        w.case(name, "ArgReduce", op, [x], fields, attrs, opset=13)
    w.write()


NAMES = ("sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square")


def make_movement():
    w = Writer("data_movement.txt", "Ops that move elements.")

    def one(name, op, inputs, fields="", attrs=None, onnx_op=None, **more):
        w.case(name, op, onnx_op or op, inputs, fields, attrs, **more)

    x = lambda name, *shape, dtype="float32": data(name, shape, dtype)
    one("identity_scalar", "Identity", [x("a")])
    one("reshape_copy_and_infer", "Reshape", [x("a", 2, 3, 4), i64(0, -1)])
    one("reshape_to_scalar", "Reshape", [x("a", 1, 1), np.zeros(0, np.int64)])
    one("reshape_from_scalar", "Reshape", [x("a"), i64(1, 1, 1)])
    one("reshape_zero_kept", "Reshape", [x("a", 0, 3), i64(3, 0)], "allowzero=1", {"allowzero": 1})
    one("reshape_zero_copied", "Reshape", [x("a", 0, 3), i64(0, 3, 1)])
    for axis in (-4, -1, 0, 1, 3, 4):
        one(f"flatten_{axis}", "Flatten", [x("a", 2, 3, 1, 2)], f"axis={axis}", {"axis": axis})
    one("flatten_scalar", "Flatten", [x("a")], "axis=0", {"axis": 0})
    one("squeeze_all", "Squeeze", [x("a", 1, 3, 1)])
    one("squeeze_axes", "Squeeze", [x("a", 1, 3, 1, 1), i64(-1, 0)])
    one("unsqueeze", "Unsqueeze", [x("a", 3, 2), i64(0, -1, 2)])
    one("unsqueeze_scalar", "Unsqueeze", [x("a"), i64(0)])
    one("transpose_default", "Transpose", [x("a", 2, 3, 2)])
    for perm in ((0, 2, 3, 1), (3, 1, 0, 2), (0, 1, 3, 2)):
        text = ",".join(map(str, perm))
        one(f"transpose_{''.join(map(str, perm))}", "Transpose", [x("a", 1, 2, 3, 2)], f"perm=[{text}]", {"perm": perm})
    one("transpose_bytes", "Transpose", [x("a", 3, 4, dtype="uint8")])
    one("transpose_halves", "Transpose", [x("a", 3, 2, dtype="float16")])
    one("transpose_doubles", "Transpose", [x("a", 3, 2, dtype="float64")])
    one("transpose_empty", "Transpose", [x("a", 3, 0, 2)])
    one("transpose_scalar", "Transpose", [x("a")])
    one("transpose_rank_8", "Transpose", [x("a", 1, 2, 1, 2, 2, 1, 2, 1)])
    one("concat_0", "Concat", [x("a", 1, 3), x("b", 2, 3)], "axis=0", {"axis": 0})
    one("concat_last", "Concat", [x("a", 2, 2), x("b", 2, 1), x("c", 2, 3)], "axis=-1", {"axis": -1})
    one("concat_middle_u8", "Concat", [x("a", 2, 1, 2, dtype="uint8"), x("b", 2, 2, 2, dtype="uint8")], "axis=1", {"axis": 1})
    one("concat_empty_part", "Concat", [x("a", 2, 0), x("b", 2, 3)], "axis=1", {"axis": 1})
    one("concat_one", "Concat", [x("a", 2, 2)], "axis=0", {"axis": 0})
    one("split_even", "Split", [x("a", 2, 6)], "axis=1", {"axis": 1, "num_outputs": 3}, outputs=3)
    one("split_last_smaller", "Split", [x("a", 7, 2)], "axis=0", {"axis": 0, "num_outputs": 3}, outputs=3)
    one("split_sizes", "Split", [x("a", 2, 6), i64(1, 3, 2)], "axis=-1", {"axis": -1}, outputs=3)
    one("split_zero_size", "Split", [x("a", 3), i64(0, 3)], "axis=0", {"axis": 0}, outputs=2)
    one("expand_two_way", "Expand", [x("a", 3, 1), i64(2, 1, 4)])
    one("expand_smaller_shape", "Expand", [x("a", 2, 3), i64(1)])
    one("expand_scalar", "Expand", [x("a"), i64(2, 2)])
    one("expand_to_empty", "Expand", [x("a", 1, 3), i64(0, 3)])
    one("expand_s64", "Expand", [x("a", 1, 2, dtype="int64"), i64(3, 2)])
    one("tile", "Tile", [x("a", 2, 3), i64(2, 2)])
    one("tile_u8", "Tile", [x("a", 2, 1, 2, dtype="uint8"), i64(1, 3, 2)])
    one("tile_zero", "Tile", [x("a", 2, 3), i64(0, 2)])
    one("depth_to_space_dcr", "DepthToSpace", [x("a", 1, 8, 2, 3)], "block=2", {"blocksize": 2})
    one("depth_to_space_crd", "DepthToSpace", [x("a", 2, 8, 1, 2)], "block=2 crd=1", {"blocksize": 2, "mode": "CRD"})
    one("depth_to_space_3", "DepthToSpace", [x("a", 1, 9, 1, 2)], "block=3", {"blocksize": 3})
    one("space_to_depth", "SpaceToDepth", [x("a", 2, 2, 4, 2)], "block=2", {"blocksize": 2})
    one("shape", "Shape", [x("a", 2, 0, 4)])
    one("shape_slice", "Shape", [x("a", 2, 3, 4)], "start=-2 end=-1", {"start": -2, "end": -1})
    one("shape_clamped", "Shape", [x("a", 2, 3, 4)], "start=-9 end=99", {"start": -9, "end": 99})
    one("shape_backwards", "Shape", [x("a", 2, 3, 4)], "start=2 end=1", {"start": 2, "end": 1})
    one("shape_scalar", "Shape", [x("a")])
    fill = lambda kind, value: {"value": helper.make_tensor("v", kind, [1], [value])}
    one("constant_default", "ConstantOfShape", [i64(2, 2)])
    one("constant_s64", "ConstantOfShape", [i64(3)], "dtype=10 integer_value=-7", fill(TensorProto.INT64, -7))
    one("constant_u8", "ConstantOfShape", [i64(1, 3)], "dtype=5 integer_value=200", fill(TensorProto.UINT8, 200))
    one("constant_bool", "ConstantOfShape", [i64(2)], "dtype=12 integer_value=1", fill(TensorProto.BOOL, True))
    one("constant_f16", "ConstantOfShape", [i64(2)], "dtype=1 value=0.1", fill(TensorProto.FLOAT16, 0.1))
    one("constant_scalar", "ConstantOfShape", [np.zeros(0, np.int64)], "value=2.5", fill(TensorProto.FLOAT, 2.5))
    one("constant_empty", "ConstantOfShape", [i64(2, 0)])
    scalars = lambda dtype, *v: [np.array(k, dtype=dtype) for k in v]
    one("range_s64", "Range", scalars("int64", 2, 11, 3))
    one("range_exact_end", "Range", scalars("int64", 2, 11, 9))
    one("range_down", "Range", scalars("int32", 10, 4, -2))
    one("range_empty", "Range", scalars("int32", 10, 4, 2))
    one("range_f32", "Range", scalars("float32", 0.5, 2.25, 0.5))
    one("range_f32_down", "Range", scalars("float32", 1, -1, -0.75))
    one("range_f64", "Range", scalars("float64", 0, 1, 0.25))
    one("range_s16", "Range", scalars("int16", -3, 3, 2))
    one("gather_rows", "Gather", [x("a", 4, 3), i64(2, 0, -1)], "axis=0", {"axis": 0})
    one("gather_columns", "Gather", [x("a", 3, 4), i64(1, -4, 3)], "axis=1", {"axis": 1})
    one("gather_scalar_index", "Gather", [x("a", 3, 4), np.array(1, np.int64)], "axis=-1", {"axis": -1})
    one("gather_matrix_index", "Gather", [x("a", 2, 3, 2), np.array([[0, 2], [1, 1]], np.int32)], "axis=1", {"axis": 1})
    one("gather_embedding_f16", "Gather", [x("a", 5, 2, dtype="float16"), i64(4, 0, 4)], "axis=0", {"axis": 0})
    one("gather_nothing", "Gather", [x("a", 3, 2), np.zeros((0,), np.int64)], "axis=0", {"axis": 0})
    one("gather_from_empty", "Gather", [x("a", 3, 0), i64(0, 2)], "axis=0", {"axis": 0})
    one("gather_elements_0", "GatherElements", [x("a", 3, 3), np.array([[1, 2, 0], [2, 0, -1]])], "axis=0", {"axis": 0})
    one("gather_elements_1", "GatherElements", [x("a", 2, 2), np.array([[0, 0, 1], [-1, 0, 0]], np.int32)], "axis=1", {"axis": 1})
    one("gather_elements_smaller", "GatherElements", [x("a", 3, 2, 4), np.array([[[3, 1]], [[0, -4]]])], "axis=-1", {"axis": -1})
    one("gather_elements_u8", "GatherElements", [x("a", 4, dtype="uint8"), i64(3, 3, 0, 1, 2)], "axis=0", {"axis": 0})
    w.write()


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for make in (make_resize, make_slice, make_pad, make_reduce, make_movement):
        make()
