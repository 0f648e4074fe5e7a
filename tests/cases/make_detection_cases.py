"""Writes tests/cases/detection.onnx, the end of a detector (boxes decoded from anchors, NonMaxSuppression, the chosen boxes, scores
and classes gathered, the best few kept), and detection.txt, what onnxruntime makes of some inputs to it: from no box to many.

Run by hand when cases are added:  python tests/cases/make_detection_cases.py     (needs numpy, onnx and onnxruntime)
tests/e2e/detection_test.cpp reads both.
"""
import pathlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from make_ops_cases import tensor_text

FOLDER = pathlib.Path(__file__).parent
ANCHORS, CLASSES = 24, 3


def constant(name, values, dtype):
    return numpy_helper.from_array(np.array(values, dtype), name)


def make_model():
    rng = np.random.default_rng(5)
    centres = np.stack(np.meshgrid(np.arange(6), np.arange(4), indexing="ij"), -1).reshape(ANCHORS, 2) * 8 + 4
    sizes = rng.choice([8, 12, 16], (ANCHORS, 2))
    weights = [
        constant("centres", centres, np.float32), constant("sizes", sizes, np.float32), constant("mix", rng.normal(size=(CLASSES, CLASSES)) * 0.1 + np.eye(CLASSES), np.float32),
        constant("half", 0.5, np.float32), constant("most", [5], np.int64), constant("iou", [0.5], np.float32), constant("least_score", [0.25], np.float32),
        constant("s0", [0], np.int64), constant("s1", [1], np.int64), constant("s2", [2], np.int64), constant("s4", [4], np.int64),
        constant("batch_and_box", [0, 2], np.int64), constant("all", [0, 1, 2], np.int64), constant("class", [1], np.int64), constant("flat", [-1], np.int64),
        constant("keep", [8], np.int64), constant("one_row", [-1, 1], np.int64), constant("scale4", [48, 32, 48, 32], np.float32),
    ]
    n = helper.make_node
    nodes = [
        # deltas [b, anchors, 4] → corners y1 x1 y2 x2
        n("Slice", ["deltas", "s0", "s2", "s2"], ["shift"]), n("Slice", ["deltas", "s2", "s4", "s2"], ["stretch"]),
        n("Mul", ["shift", "sizes"], ["moved"]), n("Add", ["moved", "centres"], ["middle"]),
        n("Exp", ["stretch"], ["factor"]), n("Mul", ["factor", "sizes"], ["extent"]), n("Mul", ["extent", "half"], ["radius"]),
        n("Sub", ["middle", "radius"], ["low"]), n("Add", ["middle", "radius"], ["high"]), n("Concat", ["low", "high"], ["boxes"], axis=2),
        # logits [b, anchors, classes] → scores [b, classes, anchors]
        n("MatMul", ["logits", "mix"], ["mixed"]), n("Sigmoid", ["mixed"], ["probable"]), n("Transpose", ["probable"], ["scores"], perm=[0, 2, 1]),
        n("NonMaxSuppression", ["boxes", "scores", "most", "iou", "least_score"], ["chosen"]),
        n("Gather", ["chosen", "batch_and_box"], ["places"], axis=1), n("GatherND", ["boxes", "places"], ["found"]),
        n("GatherND", ["scores", "chosen"], ["score"]), n("Gather", ["chosen", "class"], ["labels2"], axis=1), n("Reshape", ["labels2", "flat"], ["labels"]),
        # the best of them, at most 8: k depends on how many there are
        n("Shape", ["score"], ["count"]), n("Concat", ["count", "keep"], ["candidates"], axis=0), n("ReduceMin", ["candidates"], ["k"], axes=[0], keepdims=1),
        n("TopK", ["score", "k"], ["best_score", "order"], axis=0), n("Gather", ["found", "order"], ["ordered"], axis=0), n("Div", ["ordered", "scale4"], ["best_boxes"]),
        n("Gather", ["labels", "order"], ["best_labels"], axis=0),
        # a row for each: box, score; and some arithmetic over all that were found
        n("Reshape", ["best_score", "one_row"], ["score_column"]), n("Concat", ["best_boxes", "score_column"], ["detections"], axis=1),
        n("ReduceSum", ["score", "s0"], ["total"], keepdims=1),
        n("Shape", ["found"], ["found_dims"]), n("ConstantOfShape", ["found_dims"], ["zeros"]), n("Add", ["zeros", "found"], ["copied"]),
    ]
    info = helper.make_tensor_value_info
    outputs = [info("detections", TensorProto.FLOAT, ["n", 5]), info("best_labels", TensorProto.INT64, ["n"]), info("chosen", TensorProto.INT64, ["m", 3]),
               info("total", TensorProto.FLOAT, [1]), info("copied", TensorProto.FLOAT, ["m", 4])]
    graph = helper.make_graph(nodes, "detector", [info("deltas", TensorProto.FLOAT, ["batch", ANCHORS, 4]), info("logits", TensorProto.FLOAT, ["batch", ANCHORS, CLASSES])], outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def main():
    model = make_model()
    onnx.checker.check_model(model, full_check=True)
    (FOLDER / "detection.onnx").write_bytes(model.SerializeToString())
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options)
    rng = np.random.default_rng(11)
    lines = ["# Inputs deltas and logits, then the five outputs. Made by make_detection_cases.py."]
    counts = []
    for number, (batch, bias) in enumerate([(1, -9), (1, -3), (1, 0), (2, -2), (3, 1), (1, 4), (2, -9), (3, -2.5), (1, -2)]):
        deltas = (rng.normal(size=(batch, ANCHORS, 4)) * 0.3).round(2).astype(np.float32)
        logits = (rng.normal(size=(batch, ANCHORS, CLASSES)) + bias).round(2).astype(np.float32)
        answers = session.run(None, {"deltas": deltas, "logits": logits})
        counts.append(len(answers[2]))
        lines.append(f"\ncase detect_{number}_found_{counts[-1]}")
        lines += ["in " + tensor_text(deltas), "in " + tensor_text(logits)]
        lines += ["out " + tensor_text(answer) for answer in answers]
    assert 0 in counts and len(set(counts)) > 4, counts
    (FOLDER / "detection.txt").write_text("\n".join(lines) + "\n")
    print(counts)


if __name__ == "__main__":
    main()
