#!/usr/bin/env python3
"""Makes the cases of tests/cases/tables/*.txt and of random_lines.py, with the answers of onnxruntime without its optimisation.

    write_table_cases.py FOLDER [SEED LINES]     FOLDER/<table>/<case>/... and FOLDER/index.tsv as write_onnx_cases.py has them,
                                                 the line last; SEED and LINES of each random table

Written beside FOLDER and renamed when complete; left alone when tables, programs and packages are those that made it.
"""
import collections
import copy
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import random_lines
import table_line

HERE = pathlib.Path(__file__).parent
TABLES = HERE.parent / "cases" / "tables"
RTOL, ATOL = 1e-3, 1e-7  # of onnx's own runner
PLAIN = {"f32", "f64", "f16", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "bool"}  # those numpy itself has
WIDE = {"bf16": "f32", "s4": "s8", "u4": "u8", "f8e4m3fn": "f32", "f8e4m3fnuz": "f32", "f8e5m2": "f32", "f8e5m2fnuz": "f32"}


def output_types(case):
    """Names of the element types of the outputs that are not left out; the first input's where onnx infers none."""
    inferred = onnx.shape_inference.infer_shapes(table_line.model_of(case))
    names = {code: name for name, code in table_line.TYPES.items()}
    first = next(x.type for x in case.inputs if x is not None)
    return [names.get(info.type.tensor_type.elem_type, first) for info in inferred.graph.output]


def onnxruntime_answers(case, types):
    """types: of the outputs. Types that numpy lacks go in as initialisers and come out through a Cast to a wider one."""
    case = copy.deepcopy(case)
    for x in case.inputs:
        if x is not None and x.type not in PLAIN:
            x.constant = True
    model = table_line.model_of(case)
    for info, kind in zip(list(model.graph.output), types):
        info.CopyFrom(helper.make_tensor_value_info(info.name, table_line.TYPES[kind], None))
        if kind in PLAIN:
            continue
        model.graph.node.append(helper.make_node("Cast", [info.name], [info.name + "_wide"], to=table_line.TYPES[WIDE[kind]]))
        info.CopyFrom(helper.make_tensor_value_info(info.name + "_wide", table_line.TYPES[WIDE[kind]], None))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.use_deterministic_compute = True
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {f"x{k}": x.array for k, x in enumerate(case.inputs) if x is not None and not x.constant}
    return [np.asarray(y).astype(table_line.np_type(kind)) for y, kind in zip(session.run(None, feed), types)]


def as_other_type(case, other):
    """The same case on tensors of another type in place of the first input's."""
    first = next(x.type for x in case.inputs if x is not None)
    changed = copy.deepcopy(case)
    for x in changed.inputs:
        if x is not None and x.type == first:
            x.array, x.type = x.array.astype(table_line.np_type(other)), other
    return onnxruntime_answers(changed, output_types(changed))


def answers_of(case):
    if case.oracle == "given":
        return [y.array for y in case.outputs if y is not None]
    # The oracle makes all outputs: it refuses to leave out some that we do not.
    whole = dataclasses.replace(case, outputs=[y or True for y in case.outputs])
    return [answer for answer, y in zip(oracle_answers(whole), case.outputs) if y is not None]


def oracle_answers(case):
    if case.oracle == "reference":
        feed = {f"x{k}": x.array for k, x in enumerate(case.inputs) if x is not None and not x.constant}
        types = output_types(case)
        return [np.asarray(y).astype(table_line.np_type(t)) for y, t in zip(ReferenceEvaluator(table_line.model_of(case)).run(None, feed), types)]
    types = [y.type for y in case.outputs] if case.domain else output_types(case)
    if case.oracle.startswith("as "):
        return [y.astype(table_line.np_type(t)) for y, t in zip(as_other_type(case, case.oracle[3:]), types)]
    if case.oracle.startswith("at "):
        return onnxruntime_answers(dataclasses.replace(case, opset=int(case.oracle[3:])), types)
    if case.oracle.startswith("with "):
        others = [table_line.attribute(case.op, case.domain, case.opset, word, None) for word in case.oracle.split()[1:]]
        names = {a.name for a in others}
        return onnxruntime_answers(dataclasses.replace(case, attributes=[a for a in case.attributes if a.name not in names] + others), types)
    if case.oracle != "onnxruntime":
        raise ValueError(f"no oracle: '{case.oracle}'")
    return onnxruntime_answers(case, types)


def write_case(folder, case, answers):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(table_line.model_of(case, answers).SerializeToString())
    fed = [x.array for x in case.inputs if x is not None and not x.constant]
    for kind, arrays in (("input", fed), ("output", answers)):
        for k, array in enumerate(arrays):
            (data / f"{kind}_{k}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


def since(case):
    try:
        return onnx.defs.get_schema(case.op, case.opset, case.domain).since_version
    except onnx.defs.SchemaError:
        return case.opset


def make_table(name_of_table, lines, beside, say):
    """Writes the cases of one table; says "at", then "row" or "problem", of each."""
    numbers = collections.Counter()
    for case in table_line.read_lines(lines):
        numbers[case.op] += 1
        name = f"{case.op}_{numbers[case.op]}"
        where = f"{name_of_table}, line {case.line}: {case.text}"
        say("at", case.line, where)
        try:
            write_case(beside / name_of_table / name, case, answers_of(case))
        except Exception as error:
            say("problem", case.line, f"{where}\n    {' '.join(str(error).split())[-300:]}")
            continue
        domain = case.domain + "." if case.domain else ""
        say("row", case.line, f"{name_of_table}\t{name}\t{RTOL:g}\t{ATOL:g}\t{domain}{case.op}\t{since(case)}\t{case.text}\n")


def in_child(table, lines, beside, problems, rows):
    """One table in a process of its own, since onnxruntime may crash; problems: the first of each line."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        with os.fdopen(write_end, "w") as out:
            try:
                make_table(table, lines, beside, lambda *said: print(json.dumps(said), file=out, flush=True))
            except BaseException as error:
                print(json.dumps(("problem", 0, f"{table}: {error}")), file=out)
        os._exit(0)
    os.close(write_end)
    last = table
    with os.fdopen(read_end) as said:
        for kind, number, text in map(json.loads, said):
            if kind == "at":
                last = text
            elif kind == "row":
                rows.append(text)
            else:
                problems.setdefault((table, number), text)
    if status := os.waitpid(child, 0)[1]:
        problems[table, -1] = f"{last}\n    onnxruntime crashed: status {status}"


def main():
    folder = pathlib.Path(sys.argv[1])
    sources = sorted(TABLES.glob("*.txt"))
    seed, count = (sys.argv[2:] + ["1", "100"][len(sys.argv) - 2:])
    made_of = [HERE / "table_line.py", HERE / "random_lines.py", HERE / "write_table_cases.py", *sources]
    digest = hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in made_of)).hexdigest()
    stamp = f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}, tables {digest}, seed {seed}, {count} lines\n"
    stamp_path = folder / "made_by.txt"
    if stamp_path.exists() and stamp_path.read_text() == stamp:
        print(f"write_table_cases: all cases are there: {folder}")
        return
    beside = pathlib.Path(f"{folder}.{os.getpid()}")
    rows, problems = [], {}
    for source in sources:
        in_child(source.stem, source.read_text().split("\n"), beside, problems, rows)
    for family in random_lines.FAMILIES:  # those that onnxruntime refuses are left out
        refused = {}
        in_child(f"random_{family}", random_lines.random_lines(family, seed, int(count)), beside, refused, rows)
        problems.update({key: text for key, text in refused.items() if key[1] <= 0})
    if problems:
        shutil.rmtree(beside, ignore_errors=True)
        sys.exit("\n".join([*problems.values(), f"write_table_cases: the oracle gives no answer to {len(problems)} lines: name another one there"]))
    (beside / "index.tsv").write_text("".join(rows))
    (beside / "made_by.txt").write_text(stamp)
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(beside, folder)
    print(f"write_table_cases: {len(rows)} cases in {folder}")


main()
