#!/usr/bin/env python3
"""Writes every case of the onnx package's backend tests as files: the generated node cases and the four sets it carries.

    write_onnx_cases.py FOLDER     FOLDER/<group>/<case>/model.onnx, test_data_set_<N>/{input,output}_<K>.pb, and
                                   FOLDER/index.tsv: group, case, rtol, atol, operator, version of the operator

Written beside FOLDER and renamed when complete; a FOLDER made by the same package version is left alone.
"""
import json
import os
import re
import shutil
import sys

import ml_dtypes
import numpy as np
import onnx
import onnx.backend.test
from onnx import numpy_helper
from onnx.backend.test.loader import load_node_model_tests

FORMAT = "1"  # raised when what is written changes
DATA = os.path.join(os.path.dirname(onnx.backend.test.__file__), "data")
RTOL, ATOL = 1e-3, 1e-7  # of onnx's own runner, where a case names none
CARRIED = ["pytorch-converted", "pytorch-operator", "simple"]


def serialised(value):
    if hasattr(value, "SerializeToString"):
        return value.SerializeToString()
    if value is None or isinstance(value, (list, tuple)) and any(item is None for item in value):
        return numpy_helper.from_optional(None).SerializeToString()
    if isinstance(value, (list, tuple)):
        return numpy_helper.from_list([np.asarray(item) for item in value]).SerializeToString()
    return numpy_helper.from_array(np.asarray(value)).SerializeToString()


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def operator_of(model):
    """The operator a case is about: the only one, or the rarest kind that is no constant; with the opset its meaning dates from."""
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    nodes = [node for node in model.graph.node if node.op_type != "Constant"] or list(model.graph.node)
    if len({(node.domain, node.op_type) for node in nodes}) != 1:
        return "", 0
    node = nodes[0]
    version = opsets.get(node.domain, 1)
    try:
        version = onnx.defs.get_schema(node.op_type, version, node.domain).since_version
    except onnx.defs.SchemaError:
        pass
    return (node.domain + "." if node.domain not in ("", "ai.onnx") else "") + node.op_type, version


def node_cases(folder):
    cases = load_node_model_tests()
    operators = {case.name: operator_of(case.model) for case in cases}
    for case in sorted(cases, key=lambda case: case.name):
        target = os.path.join(folder, "node", case.name)
        write(os.path.join(target, "model.onnx"), case.model.SerializeToString())
        for n, (inputs, outputs) in enumerate(case.data_sets):
            for kind, values in (("input", inputs), ("output", outputs)):
                for k, value in enumerate(values):
                    write(os.path.join(target, f"test_data_set_{n}", f"{kind}_{k}.pb"), serialised(value))
        # The body of a function operator, spelled out, is a case of that operator.
        whole = re.sub(r"_expanded(_ver\d+)?$", "", case.name)
        yield "node", case.name, case.rtol, case.atol, *operators.get(whole, operators[case.name])


def carried_cases(folder, group):
    for name in sorted(os.listdir(os.path.join(DATA, group))):
        source = os.path.join(DATA, group, name)
        if not os.path.isdir(source):
            continue
        shutil.copytree(source, os.path.join(folder, group, name))
        tolerance = {}
        if os.path.exists(os.path.join(source, "data.json")):
            with open(os.path.join(source, "data.json")) as file:
                tolerance = json.load(file)
        yield group, name, tolerance.get("rtol", RTOL), tolerance.get("atol", ATOL), *operator_of(onnx.load(os.path.join(source, "model.onnx")))


def light_cases(folder):
    """Network shapes whose weights are made by nodes; the input counts up from 0 to 1, as onnx's runner has it."""
    for name in sorted(os.listdir(os.path.join(DATA, "real"))):
        source = os.path.join(DATA, "real", name, "data.json")
        if not os.path.exists(source):
            continue
        with open(source) as file:
            data = json.load(file)
        path = os.path.join(DATA, "light", os.path.basename(data["url"]))
        model = onnx.load(path)
        target = os.path.join(folder, "light", name)
        write(os.path.join(target, "model.onnx"), model.SerializeToString())
        made = {tensor.name for tensor in model.graph.initializer}
        inputs = [info for info in model.graph.input if info.name not in made]
        for k, info in enumerate(inputs):
            shape = [dim.dim_value if dim.HasField("dim_value") else 1 for dim in info.type.tensor_type.shape.dim]
            count = int(np.prod(shape))
            value = (np.arange(count).reshape(shape) / count).astype(np.float32)
            write(os.path.join(target, "test_data_set_0", f"input_{k}.pb"), serialised(value))
        for k in range(len(model.graph.output)):
            os.makedirs(os.path.join(target, "test_data_set_0"), exist_ok=True)
            shutil.copy(f"{os.path.splitext(path)[0]}_output_{k}.pb", os.path.join(target, "test_data_set_0", f"output_{k}.pb"))
        yield "light", name, data.get("rtol", RTOL), data.get("atol", ATOL), "", 0


def main():
    folder = sys.argv[1]
    stamp = f"onnx {onnx.__version__}, ml_dtypes {ml_dtypes.__version__}, format {FORMAT}\n"
    stamp_path = os.path.join(folder, "made_by.txt")
    if os.path.exists(stamp_path) and open(stamp_path).read() == stamp:
        print(f"write_onnx_cases: all cases are there: {folder}")
        return
    beside = f"{folder}.{os.getpid()}"
    rows = list(node_cases(beside))
    for group in CARRIED:
        rows += carried_cases(beside, group)
    rows += light_cases(beside)
    index = "".join(f"{group}\t{name}\t{rtol:g}\t{atol:g}\t{op or '-'}\t{version}\n" for group, name, rtol, atol, op, version in rows)
    write(os.path.join(beside, "index.tsv"), index.encode())
    write(os.path.join(beside, "made_by.txt"), stamp.encode())
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(beside, folder)
    print(f"write_onnx_cases: {len(rows)} cases in {folder}")


main()
