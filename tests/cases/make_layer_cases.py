"""Writes tests/cases/ops/layers.txt: convolutions, pools, normalisations, element-wise ops with the answers of onnxruntime.

Run by hand when cases are added:  python tests/cases/make_layer_cases.py   (needs what make_ops_cases.py needs)
The file is read by tests/ops/layer_cases_test.cpp.
"""
import numpy as np

from make_ops_cases import Writer, data, f32

AUTO = {"NOTSET": 0, "SAME_UPPER": 1, "SAME_LOWER": 2, "VALID": 3}
w = Writer("layers.txt", "Layers.")


def fields(**attributes):
    def text(v):
        return "[" + ",".join(map(str, v)) + "]" if isinstance(v, list) else str(v)
    return " ".join(f"{k}={text(v)}" for k, v in attributes.items())


def window(op, name, inputs, outputs=1, opset=22, ours=None, tolerance="1e-5", **attrs):
    names = {"kernel_shape": "kernel", "group": "groups"}
    mapped = {names.get(k, k): v for k, v in attrs.items() if k != "auto_pad"}
    if op in ("Conv", "ConvTranspose"):
        mapped.pop("kernel", None)
    if "auto_pad" in attrs:
        mapped["auto_pad"] = AUTO[attrs["auto_pad"]]
    mapped.update(ours or {})
    w.case(name, {"Conv": "Conv", "ConvTranspose": "ConvTranspose"}.get(op, "Pool"), op, inputs, fields(**mapped), attrs, outputs, opset, tolerance)


window("Conv", "conv_2d", [data("a", (2, 3, 5, 6)), data("b", (4, 3, 3, 2)), data("c", (4,))], strides=[2, 1], pads=[1, 0, 1, 1])
window("Conv", "conv_groups_dilated", [data("d", (1, 4, 7, 7)), data("e", (6, 2, 3, 3))], group=2, dilations=[2, 1], pads=[2, 1, 2, 1])
window("Conv", "conv_1d", [data("f", (1, 2, 9)), data("g", (3, 2, 4))], strides=[3], pads=[1, 2])
window("Conv", "conv_3d", [data("h", (1, 2, 3, 4, 3)), data("i", (2, 2, 2, 2, 2))], strides=[1, 2, 1], pads=[0, 1, 0, 1, 0, 1])
for auto in ("SAME_UPPER", "SAME_LOWER", "VALID"):
    window("Conv", f"conv_{auto.lower()}", [data("j", (1, 1, 6, 5)), data("k", (1, 1, 3, 2))], auto_pad=auto, strides=[2, 2])
window("ConvTranspose", "transpose_2d", [data("l", (1, 3, 3, 4)), data("m", (3, 2, 3, 3)), data("n", (2,))], strides=[2, 3], pads=[1, 0, 1, 2], output_padding=[1, 2])
window("ConvTranspose", "transpose_groups_dilated", [data("o", (2, 4, 3, 3)), data("p", (4, 2, 2, 2))], group=2, dilations=[2, 2])
window("ConvTranspose", "transpose_output_shape", [data("q", (1, 1, 3, 3)), data("r", (1, 2, 3, 3))], strides=[3, 2], output_shape=[8, 6])
window("ConvTranspose", "transpose_same_upper", [data("s", (1, 1, 3, 3)), data("t", (1, 1, 4, 3))], strides=[2, 2], auto_pad="SAME_UPPER")
window("ConvTranspose", "transpose_same_lower", [data("u", (1, 1, 3, 3)), data("v", (1, 1, 3, 3))], strides=[2, 2], auto_pad="SAME_LOWER")
window("ConvTranspose", "transpose_1d", [data("w", (1, 2, 4)), data("x", (2, 1, 3))], strides=[2], pads=[0, 1])

MAX, AVERAGE, LP = {"function": "max"}, {"function": "average"}, {"function": "lp"}
for ceil in (0, 1):
    for pads in ([0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]):
        tag = f"{ceil}_{''.join(map(str, pads))}"
        x = data("pool" + tag, (1, 2, 6, 7))
        for kernel, strides in (([2, 3], [2, 2]), ([3, 3], [3, 2])):
            name = f"{tag}_{kernel[0]}{strides[0]}"
            window("MaxPool", f"max_pool_{name}", [x], 2, ours=MAX, kernel_shape=kernel, strides=strides, pads=pads, ceil_mode=ceil, tolerance=None)
            for include in (0, 1):
                window("AveragePool", f"average_pool_{name}_{include}", [x], ours=AVERAGE, kernel_shape=kernel, strides=strides, pads=pads, ceil_mode=ceil, count_include_pad=include)
for auto in ("SAME_UPPER", "SAME_LOWER", "VALID"):
    window("MaxPool", f"max_pool_{auto.lower()}", [data("y", (1, 1, 5, 6))], ours=MAX, kernel_shape=[3, 2], strides=[2, 2], auto_pad=auto)
    window("AveragePool", f"average_pool_{auto.lower()}", [data("y", (1, 1, 5, 6))], ours=AVERAGE, kernel_shape=[3, 2], strides=[2, 2], auto_pad=auto)
window("MaxPool", "max_pool_dilated", [data("z", (1, 1, 7, 7))], 2, ours=MAX, kernel_shape=[2, 3], dilations=[3, 2], tolerance=None)
window("MaxPool", "max_pool_column_major", [data("aa", (2, 2, 4, 5))], 2, ours=MAX, kernel_shape=[2, 2], strides=[2, 2], storage_order=1, tolerance=None)
window("MaxPool", "max_pool_1d_u8", [data("ab", (1, 2, 7), "uint8", 0, 200)], ours=MAX, kernel_shape=[3], strides=[2], tolerance=None)
window("MaxPool", "max_pool_3d", [data("ac", (1, 1, 4, 4, 4))], 2, ours=MAX, kernel_shape=[2, 2, 3], tolerance=None)
window("AveragePool", "average_pool_dilated", [data("ad", (1, 1, 7, 7))], ours=AVERAGE, kernel_shape=[2, 3], dilations=[3, 2], pads=[1, 1, 1, 1])
window("LpPool", "lp_pool", [data("ae", (1, 2, 5, 5))], ours=LP, kernel_shape=[2, 2], strides=[2, 2], p=3)
window("GlobalAveragePool", "global_average", [data("af", (2, 3, 4, 5))], ours={**AVERAGE, "global": 1})
window("GlobalMaxPool", "global_max", [data("af", (2, 3, 4, 5))], ours={**MAX, "global": 1})

x = data("ag", (2, 4, 3, 3))
c = [data(f"ah{k}", (4,)) for k in range(4)]
w.case("batch_norm", "BatchNorm", "BatchNormalization", [x, c[0], c[1], c[2], np.abs(c[3]) + 1], "epsilon=0.01", {"epsilon": 0.01}, tolerance="1e-5")
w.case("instance_norm", "InstanceNorm", "InstanceNormalization", [x, c[0], c[1]], "epsilon=0.01", {"epsilon": 0.01}, tolerance="1e-5")
w.case("group_norm", "InstanceNorm", "GroupNormalization", [x, c[0], c[1]], "epsilon=0.01 groups=2", {"epsilon": 0.01, "num_groups": 2}, opset=21, tolerance="1e-5")
w.case("layer_norm", "LayerNorm", "LayerNormalization", [data("ai", (2, 3, 5)), data("aj", (3, 5)), data("ak", (3, 5))], "axis=1", {"axis": 1}, outputs=3, tolerance="1e-5")
for name, op in (("softmax", "Softmax"), ("log_softmax", "LogSoftmax")):
    log = " log=1" if op == "LogSoftmax" else ""
    for axis in (0, 1, -1):
        w.case(f"{name}_{axis}", "Softmax", op, [data("al", (2, 3, 4))], f"axis={axis}{log}", {"axis": axis}, tolerance="1e-5")
        if axis >= 0:
            w.case(f"{name}_11_{axis}", "Softmax", op, [data("al", (2, 3, 4))], f"axis={axis} flatten=1{log}", {"axis": axis}, opset=11, tolerance="1e-5")

for a, b in (((3, 4), (4, 2)), ((2, 1, 3, 4), (3, 4, 2)), ((4,), (4, 3)), ((2, 3, 4), (4,)), ((4,), (4,))):
    w.case(f"matmul_{len(a)}_{len(b)}", "MatMul", "MatMul", [data(f"am{a}", a), data(f"an{b}", b)], tolerance="1e-5")
w.case("matmul_s64", "MatMul", "MatMul", [data("ao", (2, 3), "int64"), data("ap", (3, 2), "int64")])

x = np.array([-20, -4, -1.5, -0.75, -0.1, 0, 0.1, 0.75, 1.5, 4, 20], np.float32)
for name, attrs, ours in (
        ("Relu", {}, ""), ("LeakyRelu", {"alpha": 0.2}, "alpha=0.2"), ("Sigmoid", {}, ""), ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}, "alpha=0.3 beta=0.4"),
        ("HardSwish", {}, ""), ("Tanh", {}, ""), ("Gelu", {}, ""), ("Elu", {"alpha": 1.5}, "alpha=1.5"), ("Selu", {"alpha": 1.6, "gamma": 1.1}, "alpha=1.6 beta=1.1"),
        ("Celu", {"alpha": 1.5}, "alpha=1.5"), ("Softplus", {}, ""), ("Softsign", {}, ""), ("Mish", {}, ""), ("ThresholdedRelu", {"alpha": 0.75}, "alpha=0.75"),
        ("Abs", {}, ""), ("Neg", {}, ""), ("Exp", {}, ""), ("Reciprocal", {}, ""), ("Erf", {}, ""), ("Floor", {}, ""), ("Ceil", {}, ""), ("Round", {}, ""), ("Sign", {}, ""),
        ("Sin", {}, ""), ("Cos", {}, ""), ("Atan", {}, ""), ("Asinh", {}, "")):
    function = "".join("_" + ch.lower() if ch.isupper() and k else ch.lower() for k, ch in enumerate(name))
    w.case(f"unary_{function}", "Unary", name, [x if name != "Reciprocal" else x[x != 0]], f"function={function} {ours}", attrs, opset=20, tolerance="2e-6")
w.case("unary_gelu_tanh", "Unary", "Gelu", [x], "function=gelu_tanh", {"approximate": "tanh"}, opset=20, tolerance="2e-6")
w.case("unary_log", "Unary", "Log", [np.abs(x) + f32(0.5)], "function=log", tolerance="2e-6")

row, column = data("aq", (2, 1, 3)), data("ar", (4, 1))
for name in ("Add", "Sub", "Mul", "Div", "Less", "GreaterOrEqual", "Equal"):
    function = {"GreaterOrEqual": "greater_or_equal"}.get(name, name.lower())
    w.case(f"binary_{function}", "Binary", name, [row, column + (column == 0)], f"function={function}", tolerance="1e-6")
whole = np.array([7, -7, 7, -7, 0, 9], np.int32), np.array([3, 3, -3, -3, 5, -4], np.int32)
w.case("binary_mod", "Binary", "Mod", list(whole), "function=mod")
w.case("binary_fmod", "Binary", "Mod", list(whole), "function=fmod", {"fmod": 1})
w.case("binary_div_s32", "Binary", "Div", list(whole), "function=div")
w.case("binary_pow_mixed", "Binary", "Pow", [data("as", (5,)), np.array([0, 1, 2, 3, 2], np.int64)], "function=pow", tolerance="1e-6")
w.case("binary_prelu", "Binary", "PRelu", [data("at", (2, 3, 2)), data("au", (3, 1))], "function=prelu", tolerance="1e-6")
w.case("where", "Where", "Where", [data("av", (2, 1), "bool"), data("aw", (3,)), data("ax", (1,))])

y = np.array([-3.6, -1, -0.4, 0.5, 1.5, 2.5, 200, 300], np.float32)
for zero in (np.uint8(3), np.int8(-2)):
    w.case(f"quantize_{zero.dtype}", "QuantizeLinear", "QuantizeLinear", [y, np.array(0.5, np.float32), np.asarray(zero)], "", {})
w.case("quantize_per_axis", "QuantizeLinear", "QuantizeLinear", [data("ay", (2, 3, 2)), f32(0.5, 0.3, 2), np.array([0, 9, 200], np.uint8)], "axis=1", {"axis": 1})
w.case("dequantize_per_axis", "DequantizeLinear", "DequantizeLinear", [data("az", (2, 3), "int8"), f32(0.5, 0.3, 2), np.array([0, 9, -4], np.int8)], "axis=-1", {"axis": -1})
w.case("dequantize_s32", "DequantizeLinear", "DequantizeLinear", [data("ba", (4,), "int32", -1000, 1000), np.array(0.013, np.float32)])
w.write()
