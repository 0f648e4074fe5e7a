"""Graphs as PyTorch's exporter writes them, and engines of them beside onnxruntime: what tests of whole models share."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

BIN = Path(sys.argv[1]).resolve()
F, I, U8 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8
rng = np.random.default_rng(11)


class Net:
    """A graph as PyTorch's exporter writes it, node by node."""

    def __init__(self):
        self.nodes, self.held, self.count = [], [], 0

    def add(self, op, *inputs, outputs=1, **attributes):
        names = [f"t{self.count + i}" for i in range(outputs)]
        self.count += outputs
        self.nodes.append(helper.make_node(op, [x if isinstance(x, str) else self.hold(x) for x in inputs], names, name=f"{op}_{self.count}", **attributes))
        return names[0] if outputs == 1 else names

    def output(self, value, name):
        self.nodes.append(helper.make_node("Identity", [value], [name]))

    def hold(self, value):
        self.held.append(numpy_helper.from_array(np.asarray(value), f"c{len(self.held)}"))
        return self.held[-1].name

    def weights(self, *shape):
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    def linear(self, x, inputs, outputs):
        return self.add("Add", self.weights(outputs), self.add("MatMul", x, self.weights(inputs, outputs)))

    def layer_norm(self, x, width, op):
        scale, bias = 1 + self.weights(width) / 8, self.weights(width) / 8
        if op:
            return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-12)
        centred = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        variance = self.add("ReduceMean", self.add("Pow", centred, np.float32(2)), axes=[-1])
        norm = self.add("Div", centred, self.add("Sqrt", self.add("Add", variance, np.float32(1e-12))))
        return self.add("Add", self.add("Mul", norm, scale), bias)

    def gelu(self, x):
        half = self.add("Add", self.add("Erf", self.add("Div", x, np.float32(np.sqrt(2)))), np.float32(1))
        return self.add("Mul", self.add("Mul", x, half), np.float32(0.5))

    def gelu_tanh(self, x):
        inner = self.add("Add", x, self.add("Mul", self.add("Pow", x, np.float32(3)), np.float32(0.044715)))
        factor = self.add("Add", self.add("Tanh", self.add("Mul", inner, np.float32(np.sqrt(2 / np.pi)))), np.float32(1))
        return self.add("Mul", self.add("Mul", x, np.float32(0.5)), factor)

    def model(self, inputs, outputs, opset=17):
        info = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
        graph = helper.make_graph(self.nodes, "torch-jit-export", [info(*x) for x in inputs], [info(*x) for x in outputs], self.held)
        made = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)], producer_name="pytorch", producer_version="2.1")
        onnx.checker.check_model(made)
        return made


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace", timeout=600)


def session(path, level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL, out=None):
    options = ort.SessionOptions()
    options.graph_optimization_level, options.log_severity_level, options.intra_op_num_threads = level, 3, 2
    if out:
        options.optimized_model_filepath = str(out)
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def compare(engine, feeds, answers, folder, tolerance):
    for feed, wanted in zip(feeds, answers):
        files = []
        for name, array in feed.items():
            files.append(folder / f"in_{len(files)}.pb")
            files[-1].write_bytes(numpy_helper.from_array(array, name).SerializeToString())
        done = run(BIN / "engine-run", engine, "--inputs", ",".join(map(str, files)), "--outputs-dir", folder / "out")
        if done.returncode:
            return f"run: {done.stderr.strip()}"
        for i, want in enumerate(wanted):
            tensor = onnx.TensorProto()
            tensor.ParseFromString((folder / f"out/out_{i}.pb").read_bytes())
            got = numpy_helper.to_array(tensor)
            if got.shape != want.shape:
                return f"output {i}: got {got.shape}, need {want.shape}"
            most = float(np.abs(got - want).max(initial=0)) / max(1.0, float(np.abs(want).max(initial=0)))
            if not most <= tolerance:
                return f"output {i} differs by {most:.2g} of its largest"
    return None
