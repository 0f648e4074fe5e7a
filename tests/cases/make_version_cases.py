"""Writes tests/cases/nodes/versions.txt and tests/cases/onnx_versions.txt: every operator of ONNX at every version since opset 6.

ONNX's own node cases are written for the newest version of an operator. Here each is set back to every older one: the model gets that
opset, inputs that were attributes then become attributes again, and what the older version has not is left out where it says the default.
The answers are those of onnxruntime with its optimisation off, of onnx.reference where it lacks the operator or its type.

onnx_versions.txt lists all pairs of operator and version, with the number of cases or the reason why there are none:
tests/builder/onnx_versions_test.cpp holds both the list and the importer to it.

Run by hand when onnx is renewed:  python tests/cases/make_version_cases.py     (needs numpy, onnx and onnxruntime)
"""
import collections
import pathlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import AttributeProto, helper, numpy_helper
from onnx.backend.test.loader import load_node_model_tests
from onnx.reference import ReferenceEvaluator

from make_ops_cases import TYPES, tensor_text

HERE = pathlib.Path(__file__).parent
OLDEST, NEWEST = 6, onnx.defs.onnx_opset_version()
MOST_CASES, SMALL_ELEMENTS, MOST_ELEMENTS, LARGE_ELEMENTS = 2, 120, 400, 4000
REFUSED = {
    "random numbers": ["Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"],
    "strings": ["RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"],
    "images": ["ImageDecoder"],
}
ELSEWHERE = {  # reason → operators whose tests are of another kind
    "shapes that depend on data: import tests": ["NonMaxSuppression", "NonZero", "Unique", "Compress"],
    "sub-graphs: import tests": ["If", "Loop", "Scan", "SequenceMap"],
    "sequences: import tests": ["ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase",
                                "SequenceInsert", "SequenceLength", "SplitToSequence"],
}
THEIRS_DIFFER = {"MaxUnpool"}  # onnxruntime counts places otherwise than ONNX's own cases, at every version
SHAPE_GIVING = {"Range", "ConstantOfShape", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"}


def schemas():
    """Operator → versions in force from OLDEST on, in order."""
    versions = collections.defaultdict(set)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions[schema.name].add(schema.since_version)
    return {op: sorted(v for v in found if v >= max([w for w in found if w <= OLDEST], default=0)) for op, found in sorted(versions.items())}


def as_attribute(name, array, kind):
    value = array.tolist()
    if kind in (AttributeProto.INTS, AttributeProto.FLOATS):
        value = [value] if array.ndim == 0 else value
    elif array.ndim == 1:
        value = value[0]
    return helper.make_attribute(name, value, attr_type=int(kind.value if hasattr(kind, "value") else kind))


def set_back(case, op, version):
    """The case's node, with the inputs it then has, as the version has it; None where it cannot say the same."""
    node = case.model.graph.node[0]
    old, new = onnx.defs.get_schema(op, version, ""), onnx.defs.get_schema(op, NEWEST, "")
    inputs = {info.name: np.asarray(array) if isinstance(array, (np.ndarray, np.generic)) else array for info, array in zip(case.model.graph.input, case.data_sets[0][0])}
    if any(not isinstance(array, np.ndarray) for array in inputs.values()):
        return None
    made = onnx.NodeProto()
    made.op_type = op
    old_types = {name: set(i.types) for i in old.inputs for name in [i.name]}
    variadic = bool(old.inputs) and old.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    attributes = {a.name: a for a in node.attribute}
    for i, name in enumerate(node.input):
        formal = new.inputs[min(i, len(new.inputs) - 1)].name
        if i < len(old.inputs) or variadic:
            made.input.append(name)
            continue
        kind = old.attributes.get(formal)
        if not name:
            continue
        if kind is None:
            return None
        attributes[formal] = as_attribute(formal, inputs.pop(name), kind.type)
    for name, attribute in attributes.items():
        if name in old.attributes:
            made.attribute.append(attribute)
        elif name in new.attributes and new.attributes[name].default_value.SerializeToString() != onnx.AttributeProto().SerializeToString():
            default = new.attributes[name].default_value
            if (default.i, default.f, default.s, list(default.ints)) != (attribute.i, attribute.f, attribute.s, list(attribute.ints)):
                return None
        else:
            return None
    made.output.extend(node.output[:len(old.outputs)] if old.outputs and old.outputs[-1].option != onnx.defs.OpSchema.FormalParameterOption.Variadic else node.output)
    inputs = {name: array for name, array in inputs.items() if name in made.input}
    if "broadcast" in old.attributes and "broadcast" not in new.attributes and len({array.shape for array in inputs.values()}) > 1:
        return None
    if any(array.dtype.name not in TYPES for array in inputs.values()):
        return None
    return made, inputs


def is_constant(op, index, array):
    return (index > 0 or op in SHAPE_GIVING) and array.ndim <= 1 and array.size <= 64 and (array.dtype.kind in "iub" or op in ("Resize", "Upsample", "Range", "MelWeightMatrix", "OneHot"))


def answers_of(node, inputs, version, answers):
    info = lambda n, x: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), list(x.shape))
    outputs = [name for name in node.output if name]
    constants = {name for i, name in enumerate(node.input) if name in inputs and is_constant(node.op_type, i, inputs[name])}
    graph = helper.make_graph([node], "g", [info(n, x) for n, x in inputs.items() if n not in constants], [onnx.ValueInfoProto(name=n) for n in outputs],
                              initializer=[numpy_helper.from_array(inputs[n], n) for n in constants])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", version)])
    feed = {n: x for n, x in inputs.items() if n not in constants}
    if answers is not None:
        return dict(zip(outputs, answers)), constants
    typed = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    if all(value.type.tensor_type.HasField("shape") for value in typed.graph.output):
        del model.graph.output[:]
        model.graph.output.extend(typed.graph.output)
        onnx.checker.check_model(model)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        results = ort.InferenceSession(model.SerializeToString(), options).run(None, feed)
    except Exception:
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(model).run(None, feed)
    if any(not isinstance(y, np.ndarray) or y.dtype.name not in TYPES for y in results):
        raise ValueError("an output of another type")
    return dict(zip(outputs, results)), constants


def attribute_text(a):
    if a.type == AttributeProto.TENSOR:
        return f"attr {a.name} tensor {tensor_text(numpy_helper.to_array(a.t))}"
    kinds = {AttributeProto.INT: "int", AttributeProto.FLOAT: "float", AttributeProto.STRING: "string", AttributeProto.INTS: "ints", AttributeProto.FLOATS: "floats"}
    value = helper.get_attribute_value(a)
    words = value.decode() if isinstance(value, bytes) else " ".join(map(repr, value)) if isinstance(value, (list, tuple)) else repr(value)
    return f"attr {a.name} {kinds[a.type]} {words}"


def case_text(name, node, inputs, version, tolerance, answers=None):
    results, constants = answers_of(node, inputs, version, answers)
    total = sum(x.size for x in inputs.values()) + sum(y.size for y in results.values())
    lines = ["", f"case {name}", f"node {node.op_type} opset={version}"] + [attribute_text(a) for a in node.attribute]
    lines += ["in absent" if not n else ("const " if n in constants else "in ") + tensor_text(inputs[n]) for n in node.input]
    lines += ["out " + tensor_text(results[n]) if n else "out absent" for n in node.output]
    floats = any(y.dtype.kind == "f" for y in results.values())
    return lines + ([f"tol {tolerance}"] if floats else []), total


def by_hand():
    """(operator, version) → node and inputs that no newer case gives."""
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4) / 4 - 2
    node = helper.make_node
    scales = np.array([1, 1, 2, 1.5], np.float32)
    vector = np.array([1, 2], np.float32)
    statistics = {n: np.array(v, np.float32) for n, v in (("s", [1, 2]), ("b", [0, 1]), ("m", [0.5, -1]), ("v", [1, 4]))}
    norm = lambda **attrs: node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], **attrs)
    yield "Upsample", 1, node("Upsample", ["x"], ["y"], height_scale=2.0, width_scale=3.0), {"x": x}, x.repeat(2, 2).repeat(3, 3)
    yield "Upsample", 7, node("Upsample", ["x"], ["y"], scales=[1.0, 1.0, 2.0, 1.5]), {"x": x}
    yield "Upsample", 7, node("Upsample", ["x"], ["y"], scales=[1.0, 1.0, 2.0, 3.0], mode="linear"), {"x": x}
    yield "Upsample", 10, node("Upsample", ["x", "scales"], ["y"]), {"x": x, "scales": np.array([1, 1, 2, 3], np.float32)}, x.repeat(2, 2).repeat(3, 3)
    for version in (18, 22):
        yield "Mish", version, node("Mish", ["x"], ["y"]), {"x": x}, x * np.tanh(np.log1p(np.exp(x)))
    steps, weights, back = x.reshape(3, 2, 4), (x.reshape(4, 6)[:3, :4] / 4)[None], (x.reshape(4, 6)[:3, 3:] / 4)[None]
    states = [np.zeros((2, 3), np.float32)]
    for step in steps:
        states.append(np.tanh(step @ weights[0].T + states[-1] @ back[0].T))
    yield "RNN", 1, node("RNN", ["x", "w", "r"], ["y", "h"], hidden_size=3), {"x": steps, "w": weights, "r": back}, np.stack(states[1:])[:, None], states[-1][None]
    for version in (9,):
        yield "Upsample", version, node("Upsample", ["x", "scales"], ["y"]), {"x": x, "scales": scales}
        yield "Upsample", version, node("Upsample", ["x", "scales"], ["y"], mode="linear"), {"x": x, "scales": np.array([1, 1, 2, 2], np.float32)}
    for attrs in ({}, dict(mode="linear", coordinate_transformation_mode="align_corners"), dict(mode="linear", coordinate_transformation_mode="tf_half_pixel_for_nn"), dict(mode="cubic"),
                  dict(coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="floor")):
        yield "Resize", 11, node("Resize", ["x", "roi", "scales"], ["y"], **attrs), {"x": x, "roi": np.zeros(0, np.float32), "scales": np.array([1, 1, 2, 1.5], np.float32)}
    yield "Resize", 11, node("Resize", ["x", "roi", "none", "sizes"], ["y"]), {"x": x, "roi": np.zeros(0, np.float32), "none": np.zeros(0, np.float32), "sizes": np.array([1, 2, 5, 2], np.int64)}
    yield "Resize", 10, node("Resize", ["x", "scales"], ["y"]), {"x": x, "scales": np.array([1, 1, 1, 0.5], np.float32)}
    yield "Resize", 10, node("Resize", ["x", "scales"], ["y"], mode="linear"), {"x": x, "scales": np.array([1, 1, 2, 2], np.float32)}
    for version in (6, 7, 9):
        yield "BatchNormalization", version, norm(**({"is_test": 1} if version == 6 else {})), {"x": x, **statistics}
    for op in ("Add", "Sub", "Mul", "Div"):
        yield op, 6, node(op, ["x", "c"], ["y"], broadcast=1, axis=1), {"x": x, "c": vector}
        yield op, 6, node(op, ["x", "c"], ["y"], broadcast=1), {"x": x, "c": np.array([1, 2, 4, 8], np.float32)}
        yield op, 6, node(op, ["x", "x"], ["y"]), {"x": x + 9}
    for op in ("And", "Or", "Xor"):
        yield op, 1, node(op, ["p", "q"], ["y"], broadcast=1), {"p": x > 0, "q": np.array([True, False, True, True])}
    for op in ("Equal", "Greater", "Less"):
        kind = np.int32 if op == "Equal" else np.float32
        yield op, 1, node(op, ["p", "q"], ["y"], broadcast=1), {"p": x.astype(kind), "q": np.array([0, 1, 2, -1], kind)}
    yield "Pow", 1, node("Pow", ["x", "c"], ["y"], broadcast=1), {"x": np.abs(x), "c": np.array([2, 1, 3, 0.5], np.float32)}
    yield "PRelu", 6, node("PRelu", ["x", "c"], ["y"]), {"x": x, "c": np.array([0.5], np.float32)}
    for version in (6, 7, 9):
        matrices = {"a": x.reshape(4, 6)[:2], "b": x.reshape(6, 4), "c": np.array([1, 2, 3, 4], np.float32)}
        yield "Gemm", version, node("Gemm", ["a", "b", "c"], ["y"], alpha=0.5, beta=2.0, **({"broadcast": 1} if version == 6 else {})), matrices
    for op in ("Max", "Mean", "Min", "Sum"):
        yield op, 6, node(op, ["x", "z"], ["y"]), {"x": x, "z": x[..., ::-1].copy()}
    yield "Dropout", 6, node("Dropout", ["x"], ["y"], ratio=0.5, is_test=1), {"x": x}, x
    for version in (7, 10):
        yield "Dropout", version, node("Dropout", ["x"], ["y"], ratio=0.5), {"x": x}
    rows = {"x": x.reshape(2, 3, 4)}
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for version in (1, 11):
            for axis in (1, 2):
                yield op, version, node(op, ["x"], ["y"], axis=axis), rows
    for version in (2, 11):
        yield "Pad", 2 if version == 2 else 11, node("Pad", ["x"] + (["p"] if version == 11 else []), ["y"], **({"pads": [0, 0, 1, 0, 0, 0, 0, 2], "value": 1.5} if version == 2 else {})), (
            {"x": x} if version == 2 else {"x": x, "p": np.array([0, 0, 1, 0, 0, 0, 0, 2], np.int64)})
    yield "GroupNormalization", 18, node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2), {"x": np.concatenate([x, x + 1], 1), "s": vector, "b": -vector}
    yield "Scatter", 9, node("Scatter", ["x", "i", "u"], ["y"], axis=1), {"x": x.reshape(4, 6), "i": np.array([[1, 4], [0, 5]], np.int64), "u": np.array([[9, 8], [7, 6]], np.float32)}
    yield "GroupNormalization", 21, node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=1), {"x": x, "s": vector, "b": -vector}
    for version in (1, 10, 11, 13):
        cut = {"s": [0, 1], "e": [2, 2147483647], "a": [1, 3]}
        if version == 1:
            yield "Slice", version, node("Slice", ["x"], ["y"], starts=cut["s"], ends=cut["e"], axes=cut["a"]), {"x": x}
        else:
            yield "Slice", version, node("Slice", ["x", "s", "e", "a", "t"], ["y"]), {"x": x, "t": np.array([1, -1 if version > 10 else 2], np.int64),
                                                                              **{n: np.array(v if n != "e" or version < 11 else [2, -9223372036854775808], np.int64) for n, v in cut.items()}}
    for version in (9, 11, 28):
        yield "OneHot", version, node("OneHot", ["i", "d", "v"], ["y"]), {"i": np.array([0, 2, -1], np.int64), "d": np.array([3], np.int64), "v": np.array([0, 1], np.float32)}
    for version in (11, 14):
        yield "CumSum", version, node("CumSum", ["x", "a"], ["y"]), {"x": x, "a": np.array(3, np.int64)}
    for version in (9, 13):
        yield "Erf", version, node("Erf", ["x"], ["y"]), {"x": x}
        yield "MeanVarianceNormalization", version, node("MeanVarianceNormalization", ["x"], ["y"]), {"x": x}, ((x - x.mean((0, 2, 3), keepdims=True)) / x.std((0, 2, 3), keepdims=True)).astype(np.float32)
    yield "DFT", 17, node("DFT", ["x"], ["y"], axis=1), {"x": x.reshape(2, 12, 1)}
    yield "Clip", 6, node("Clip", ["x"], ["y"], min=-1.0, max=2.0), {"x": x}
    for version in (2, 22):
        yield "GlobalLpPool", version, node("GlobalLpPool", ["x"], ["y"], p=2), {"x": x}, np.sqrt((x.astype(np.float64) ** 2).sum((2, 3), keepdims=True)).astype(np.float32)
        yield "GlobalLpPool", version, node("GlobalLpPool", ["x"], ["y"], p=3), {"x": x}, np.cbrt((np.abs(x.astype(np.float64)) ** 3).sum((2, 3), keepdims=True)).astype(np.float32)
    updated = x.reshape(4, 6).copy()
    np.put_along_axis(updated[:2], np.array([[1, 4], [0, 5]]), np.array([[9, 8], [7, 6]], np.float32), 1)
    yield "Scatter", 11, node("Scatter", ["x", "i", "u"], ["y"], axis=1), {"x": x.reshape(4, 6), "i": np.array([[1, 4], [0, 5]], np.int64), "u": np.array([[9, 8], [7, 6]], np.float32)}, updated
    yield "MaxRoiPool", 22, node("MaxRoiPool", ["x", "r"], ["y"], pooled_shape=[1, 2]), {"x": x, "r": np.array([[0, 0, 0, 3, 2]], np.float32)}, np.stack([x[..., :2].max((2, 3)), x[..., 2:].max((2, 3))], -1)[:, :, None]
    yield "MaxRoiPool", 1, node("MaxRoiPool", ["x", "r"], ["y"], pooled_shape=[2, 2]), {"x": x, "r": np.array([[0, 0, 0, 3, 2]], np.float32)}
    yield "Constant", 1, node("Constant", [], ["y"], value=numpy_helper.from_array(vector)), {}
    for version in (9, 11, 12, 13, 19, 21, 23, 24, 25):
        yield "Constant", version, node("Constant", [], ["y"], value=numpy_helper.from_array(vector)), {}
        if version >= 12:
            yield "Constant", version, node("Constant", [], ["y"], value_ints=[1, -2, 3]), {}
    yield "ConstantOfShape", 9, node("ConstantOfShape", ["x"], ["y"], value=numpy_helper.from_array(vector[:1])), {"x": np.array([2, 1], np.int64)}
    signal = {"x": x.reshape(24, 1)[None].copy(), "n": np.array(4, np.int64), "l": np.array(6, np.int64)}
    yield "STFT", 17, node("STFT", ["x", "n", "", "l"], ["y"]), signal
    kernels = {"x": x, "w": (x[:, :, :2, :2] / 4).copy()}
    for version in (1, 11):
        yield "ConvTranspose", version, node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 1]), {"x": x, "w": x.reshape(2, 3, 2, 2) / 4}
        yield "Conv", version, node("Conv", ["x", "w"], ["y"], pads=[1, 0, 0, 1]), kernels
    yield "LpPool", 2, node("LpPool", ["x"], ["y"], kernel_shape=[2, 2], p=2), {"x": x}
    for version in (1, 8):
        yield "MaxPool", version, node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[1, 2]), {"x": x}
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), np.pad(np.ones_like(x), ((0, 0), (0, 0), (1, 1), (1, 1)))
    total, count = (sum(p[:, :, i:4 + i, j:5 + j] for i in (0, 1) for j in (0, 1)) for p in padded)
    for version in (1, 7):  # onnx.reference counts the padding of version 1, which onnx's version converter does not
        yield "AveragePool", version, node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], pads=[1, 1, 1, 1]), {"x": x}, total / count
    yield "LRN", 1, node("LRN", ["x"], ["y"], size=3), {"x": np.concatenate([x, x / 2], 1)}
    for version in (6, 9, 13, 19, 21, 23, 24, 25, 28):
        for to in (6, 9, 10, 11):
            yield "Cast", version, node("Cast", ["x"], ["y"], to=to), {"x": x}
        if version >= 19:
            yield "CastLike", version, node("CastLike", ["x", "l"], ["y"]), {"x": x, "l": np.array([1], np.int32)}, x.astype(np.int32)
    yield "CastLike", 15, node("CastLike", ["x", "l"], ["y"]), {"x": x, "l": np.array([1], np.float16)}, x.astype(np.float16)
    yield "TopK", 1, node("TopK", ["x"], ["v", "i"], k=2), {"x": x}
    yield "TopK", 10, node("TopK", ["x", "k"], ["v", "i"]), {"x": x, "k": np.array([3], np.int64)}


def tolerance_of(op, rtol):
    return "1e-2" if op in ("DFT", "STFT") else f"{max(rtol, 1e-4):g}"


def main():
    pairs, text = {}, ["# Nodes at every version since opset 6. Made by make_version_cases.py."]
    by_operator = collections.defaultdict(list)
    for case in load_node_model_tests():
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].domain in ("", "ai.onnx") and not any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in nodes[0].attribute):
            by_operator[nodes[0].op_type].append(case)
    mine = collections.defaultdict(list)
    for op, version, node, inputs, *answers in by_hand():
        mine[op, version].append((node, inputs, answers or None))
    reasons = {op: "refused: " + why for why, ops in REFUSED.items() for op in ops} | {op: why for why, ops in ELSEWHERE.items() for op in ops}
    for op, versions in schemas().items():
        for version in versions:
            if op in reasons:
                pairs[op, version] = reasons[op]
                continue
            schema = onnx.defs.get_schema(op, version, "")
            opset = max(version, OLDEST)
            found, failures = [], []
            def attempt(name, node, inputs, tolerance, most, answers=None):
                try:
                    if node is None:
                        raise ValueError("cannot be said")
                    lines, total = case_text(name, node, inputs, opset, tolerance, answers)
                    if total <= most:
                        found.append(lines)
                    else:
                        failures.append("too large")
                except Exception as error:
                    failures.append(str(error).strip().split("\n")[0][:100])
            for k, (node, inputs, answers) in enumerate(mine[op, version]):
                attempt(f"{op}_{version}_own_{k}", node, inputs, tolerance_of(op, 1e-4), 10 ** 6, answers)
            certain = any(answers for _, _, answers in mine[op, version])
            for most in () if certain else (SMALL_ELEMENTS, MOST_ELEMENTS, LARGE_ELEMENTS):
                for case in by_operator[op]:
                    if len(found) >= MOST_CASES or len(found) and most > SMALL_ELEMENTS:
                        break
                    back = set_back(case, op, version)
                    official = [np.asarray(y) for y in case.data_sets[0][1]] if (version == versions[-1] or op in THEIRS_DIFFER) and back and len(back[0].output) == len(case.data_sets[0][1]) else None
                    if official and any(y.dtype.name not in TYPES for y in official):
                        continue
                    attempt(f"{op}_{version}_{case.name.removeprefix('test_')}", *(back or (None, None)), tolerance_of(op, case.rtol), most, official)
            for lines in found:
                text += lines
            pairs[op, version] = f"cases {len(found)}"
            if not found:
                print(op, version, "deprecated" if schema.deprecated else "", len(by_operator[op]), failures[:1])
    (HERE / "nodes" / "versions.txt").write_text("\n".join(text) + "\n")
    lines = ["# operator, version: cases of nodes/versions.txt, or why there are none. Made by make_version_cases.py."]
    lines += [f"{op} {version} {what}" for (op, version), what in pairs.items()]
    (HERE / "onnx_versions.txt").write_text("\n".join(lines) + "\n")
    print(len(pairs), "pairs,", sum(line.startswith("case ") for line in text), "cases")


if __name__ == "__main__":
    main()
