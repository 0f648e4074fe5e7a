"""Writes an ONNX graph node by node: names are made here, arrays become initializers, equal constants are shared."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class GraphWriter:
    def __init__(self, name):
        self.name = name
        self.nodes, self.inputs, self.outputs, self.initializers = [], [], [], []
        self.known = {}

    def input(self, name, dims, elem_type=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, elem_type, dims))
        return name

    def output(self, value, name, dims, elem_type=TensorProto.FLOAT):
        """Makes `value` an output of the graph and gives it its final name."""
        for node in self.nodes:
            for names in (node.input, node.output):
                names[:] = [name if n == value else n for n in names]
        self.outputs.append(helper.make_tensor_value_info(name, elem_type, dims))
        return name

    def weight(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def constant(self, value, dtype):
        array = np.asarray(value, dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.known:
            self.known[key] = self.weight(f"constant_{len(self.known)}", array)
        return self.known[key]

    def ints(self, *values):
        return self.constant(values, np.int64)

    def scalar(self, value):
        return self.constant(value, np.float32)

    def node(self, op, *inputs, name=None, **attributes):
        name = name or f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name + "_y"], name=name, **attributes))
        return name + "_y"

    def conv(self, x, name, w, b=None, stride=1, pads=(0, 0, 0, 0), group=1):
        inputs = [x, self.weight(name + ".weight", w)]
        if b is not None:
            inputs.append(self.weight(name + ".bias", b))
        return self.node("Conv", *inputs, name=name, kernel_shape=w.shape[2:], strides=[stride, stride],
                         pads=list(pads), group=group)

    def batch_norm(self, x, name, scale, shift, mean, variance, epsilon):
        parts = dict(scale=scale, shift=shift, mean=mean, variance=variance)
        inputs = [self.weight(f"{name}.{part}", array) for part, array in parts.items()]
        return self.node("BatchNormalization", x, *inputs, name=name, epsilon=epsilon)

    def relu6(self, x):
        return self.node("Clip", x, self.scalar(0), self.scalar(6))

    def linear(self, x, name, w, b):
        """y = x w + b with w of shape [in, out]."""
        y = self.node("MatMul", x, self.weight(name + ".weight", w), name=name)
        return self.node("Add", y, self.weight(name + ".bias", b), name=name + "_add")

    def layer_norm(self, x, name, scale, shift, epsilon):
        return self.node("LayerNormalization", x, self.weight(name + ".scale", scale),
                         self.weight(name + ".shift", shift), name=name, axis=-1, epsilon=epsilon)

    def gelu(self, x):
        erf = self.node("Erf", self.node("Div", x, self.scalar(np.sqrt(2.0))))
        return self.node("Mul", self.node("Mul", x, self.node("Add", erf, self.scalar(1))), self.scalar(0.5))

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers)
        model = helper.make_model(graph, producer_name="ingot-zoo", ir_version=8,
                                  opset_imports=[helper.make_opsetid("", OPSET)])
        onnx.checker.check_model(model)
        return onnx.shape_inference.infer_shapes(model)
