"""One line of tests/cases/tables/*.txt, and the model and tensors it stands for. A line is

    Operator@opset attribute=value ... : input ... [-> output ...] [! oracle]

com.microsoft.Operator@1 is of that domain. {a|b} anywhere stands for one case with a and one with b (two pairs: all four).
attribute   12, 0.5, word, [1,2], [Tanh,Relu], or a tensor as below; its ONNX type is the operator's own
input       type[dims]      random: floats are multiples of 1/8 from -4 to 4, small integers anything, s32 and wider -100 to 99
            type[dims]~a..b random from a to b, both included (floats in steps of 1/8)
            type[dims]~distinct(n,axis)   indices below n (some from the end) that do not repeat along axis
            type[dims]=v,v  these values (inf, nan, min, max are words); one value fills, a~ before it spreads it: a~b is a, a+1 .. b
            * before it: an initialiser; - : absent
output      1 each, or - for one left out; or type[dims]=values where the oracle is the line itself. Default: one output
oracle      onnxruntime unless named: `reference` is onnx's evaluator, `as f32` (`as s64` ...) is onnxruntime on tensors of the
            named type in place of the first input's, `at 12` is onnxruntime with that opset, `with a=b ...` onnxruntime with
            other attributes, `given` is the line's own outputs; the words after a comma and a space say why
"""
import itertools
import re
import zlib
from dataclasses import dataclass, field, replace

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16,
         "s8": TensorProto.INT8, "u8": TensorProto.UINT8, "s16": TensorProto.INT16, "u16": TensorProto.UINT16, "s32": TensorProto.INT32,
         "u32": TensorProto.UINT32, "s64": TensorProto.INT64, "u64": TensorProto.UINT64, "bool": TensorProto.BOOL,
         "s4": TensorProto.INT4, "u4": TensorProto.UINT4, "f8e4m3fn": TensorProto.FLOAT8E4M3FN, "f8e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
         "f8e5m2": TensorProto.FLOAT8E5M2, "f8e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ}
FLOATS = {"f32", "f64", "f16", "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"}
NARROW = {"s4": (-8, 7), "u4": (0, 15), "s8": (-128, 127), "u8": (0, 255), "s16": (-32768, 32767), "u16": (0, 65535), "bool": (0, 1)}
DEFAULTS = {**NARROW, "s32": (-100, 99), "s64": (-100, 99), "u32": (0, 199), "u64": (0, 199)}
TENSOR = re.compile(r"(\*?)(\w+)\[([\d,]*)\](?:~(-?[\d.]+)\.\.(-?[\d.]+)|~distinct\((\d+),(-?\d+)\)|=(.*))?$")


def np_type(name):
    return helper.tensor_dtype_to_np_dtype(TYPES[name])


@dataclass
class Input:
    array: np.ndarray
    type: str
    constant: bool


@dataclass
class Case:
    text: str
    op: str
    domain: str
    opset: int
    attributes: list = field(default_factory=list)
    inputs: list = field(default_factory=list)   # Input, or None where absent
    outputs: list = field(default_factory=list)  # Input, True, or None where left out
    oracle: str = "onnxruntime"
    line: int = 0


def number(word, kind):
    extremes = np.iinfo(np_type(kind)) if kind not in FLOATS and kind not in ("s4", "u4", "bool") else None
    if extremes and word in ("min", "max"):
        return getattr(extremes, word)
    return float(word) if kind in FLOATS else int(word)


def values(text, kind):
    result = []
    for word in text.split(",") if text else []:
        first, tilde, last = word.partition("~")
        result += list(range(int(first), int(last) + 1)) if tilde else [number(word, kind)]
    return result


def tensor(text, rng):
    match = TENSOR.match(text)
    if not match or match[2] not in TYPES:
        raise ValueError(f"no tensor: '{text}'")
    star, kind, dims, low, high, below, axis, given = match.groups()
    shape = tuple(int(d) for d in dims.split(",")) if dims else ()
    if given is not None:
        listed = values(given, kind)
        if len(listed) not in (1, int(np.prod(shape))):
            raise ValueError(f"'{text}': {len(listed)} values")
        array = np.full(shape, listed[0]) if len(listed) == 1 else np.array(listed, dtype=object if kind == "u64" else None).reshape(shape)
    elif below:
        axis = int(axis) % len(shape)
        order = rng.random(tuple(int(below) if d == axis else s for d, s in enumerate(shape))).argsort(axis=axis)
        array = np.take(order, range(shape[axis]), axis=axis)
        array = np.where(rng.random(shape) < 0.5, array - int(below), array)
    elif kind in FLOATS:
        low, high = float(low or -4), float(high or 4)
        array = rng.integers(round(low * 8), round(high * 8) + 1, shape) / 8
    else:
        default = DEFAULTS[kind]
        array = rng.integers(int(low or default[0]), int(high or default[1]) + 1, shape)
    return Input(np.asarray(array).astype(np_type(kind)), kind, bool(star))


def attribute(op, domain, opset, text, rng):
    name, _, value = text.partition("=")
    try:
        kind = onnx.defs.get_schema(op, opset, domain).attributes[name].type
    except (onnx.defs.SchemaError, KeyError):
        kind = None
    kinds = onnx.defs.OpSchema.AttrType
    if kind == kinds.TENSOR:
        made = tensor(value, rng)
        return helper.make_attribute(name, numpy_helper.from_array(made.array, ""))
    if kind == kinds.STRING:
        return helper.make_attribute(name, value)
    items = [item for item in value.strip("[]").split(",") if item]
    if kind is None:  # com.microsoft: by the look of it
        is_int = all(re.fullmatch(r"-?\d+", item) for item in items)
        is_float = all(re.fullmatch(r"-?[\d.e-]+", item) for item in items)
        kind = (kinds.INTS if is_int else kinds.FLOATS if is_float else kinds.STRINGS) if value.startswith("[") else (
            kinds.INT if is_int else kinds.FLOAT if is_float else kinds.STRING)
    convert = {kinds.INT: int, kinds.INTS: int, kinds.FLOAT: float, kinds.FLOATS: float, kinds.STRING: str, kinds.STRINGS: str}[kind]
    converted = [convert(TYPES[item]) if item in TYPES and convert is int else convert(item) for item in items]
    one = kind in (kinds.INT, kinds.FLOAT, kinds.STRING)
    types = {kinds.INT: onnx.AttributeProto.INT, kinds.INTS: onnx.AttributeProto.INTS, kinds.FLOAT: onnx.AttributeProto.FLOAT,
             kinds.FLOATS: onnx.AttributeProto.FLOATS, kinds.STRING: onnx.AttributeProto.STRING, kinds.STRINGS: onnx.AttributeProto.STRINGS}
    return helper.make_attribute(name, converted[0] if one else converted, attr_type=types[kind])


def expand(text):
    parts = re.split(r"\{([^{}]*)\}", text)
    choices = [part.split("|") if k % 2 else [part] for k, part in enumerate(parts)]
    return ["".join(words) for words in itertools.product(*choices)]


def parse(text):
    rng = np.random.default_rng(zlib.crc32(text.encode()))
    body, _, oracle = text.partition(" ! ")
    body, _, outputs = body.partition(" -> ")
    head, _, inputs = body.partition(" : ")
    words = head.split()
    op, _, opset = words[0].partition("@")
    domain, _, op = op.rpartition(".")
    case = Case(text, op, domain, int(opset))
    case.attributes = [attribute(op, domain, case.opset, word, rng) for word in words[1:]]
    case.inputs = [None if word == "-" else tensor(word, rng) for word in inputs.split()]
    made = {"-": lambda: None, "1": lambda: True}
    case.outputs = [made[word]() if word in made else tensor(word, rng) for word in outputs.split() or ["1"]]
    case.oracle = oracle.split(", ")[0].strip() or "onnxruntime"
    return case


def read_lines(lines):
    """The cases of a table's lines, in order."""
    cases = []
    for count, line in enumerate(lines, 1):
        line = line.split("#")[0].strip()
        try:
            cases += [replace(parse(text), line=count) for text in expand(line)] if line else []
        except Exception as error:
            raise ValueError(f"line {count}: {error}") from error
    return cases


def newest_opset():
    return onnx.defs.onnx_opset_version()


def model_of(case, answers=None):
    """The case's model; with answers, the outputs carry their types and shapes."""
    names = [f"x{k}" if x is not None else "" for k, x in enumerate(case.inputs)]
    results = [f"y{k}" if y is not None else "" for k, y in enumerate(case.outputs)]
    node = helper.make_node(case.op, names, results, domain=case.domain)
    node.attribute.extend(case.attributes)
    given = [(name, x) for name, x in zip(names, case.inputs) if x is not None]
    inputs = [helper.make_tensor_value_info(name, TYPES[x.type], list(x.array.shape)) for name, x in given if not x.constant]
    weights = [numpy_helper.from_array(x.array, name) for name, x in given if x.constant]
    outputs = [onnx.ValueInfoProto(name=name) for name in results if name]
    if answers is not None:
        outputs = [helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(y.dtype), list(y.shape)) for info, y in zip(outputs, answers)]
    opsets = [helper.make_opsetid("", 21 if case.domain else case.opset)] + ([helper.make_opsetid(case.domain, case.opset)] if case.domain else [])
    graph = helper.make_graph([node], "case", inputs, outputs, initializer=weights)
    return helper.make_model(graph, ir_version=10 if opsets[0].version < 23 else 11, opset_imports=opsets)
