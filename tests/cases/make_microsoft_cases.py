"""Writes tests/cases/nodes/{fused,quantized,cached_attention}.txt: nodes of com.microsoft that onnxruntime's optimiser, quantiser and
exporters write, with the answers of onnxruntime.

Run by hand when cases are added:  python tests/cases/make_microsoft_cases.py     (needs numpy, onnx and onnxruntime)
"""
import numpy as np
import onnx

from make_node_cases import Const, Writer, onnxruntime_answers
from make_ops_cases import data, f32, i64

MS = dict(domain="com.microsoft", opset=17)
LOW = dict(low=-2, high=2)


def contract(op, inputs):
    """docs/numerics.md for sums and products: multipliers rounded to float once, one fma, half to even."""
    a, sa, za, b, sb, zb, sy, zy = (x.array if isinstance(x, Const) else x for x in inputs)
    one = lambda v: np.float32(v).astype(np.float64)
    left, right = a.astype(np.float64) - float(za), b.astype(np.float64) - float(zb)
    sa, sb, sy = float(sa), float(sb), float(sy)
    if op == "QLinearAdd":
        real = np.float32(left * one(sa / sy) + np.float32(right * one(sb / sy)).astype(np.float64))
    else:
        real = np.float32(left * right * one(sa * sb / sy))
    info = np.iinfo(a.dtype)
    return np.clip(np.rint(real).astype(np.int64) + int(zy), info.min, info.max).astype(a.dtype)


def onnxruntime_answer(op, inputs):
    """Near a tie onnxruntime may be 1 off."""
    arrays = [x.array if isinstance(x, Const) else x for x in inputs]
    names = [f"i{k}" for k in range(len(arrays))]
    info = lambda n, x: onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), list(x.shape))
    graph = onnx.helper.make_graph([onnx.helper.make_node(op, names, ["y"], domain="com.microsoft")], "g", [info(n, x) for n, x in zip(names, arrays)],
                                   [onnx.helper.make_tensor_value_info("y", onnx.helper.np_dtype_to_tensor_dtype(arrays[0].dtype), None)])
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    return onnxruntime_answers(onnx.helper.make_model(graph, ir_version=10, opset_imports=opsets), dict(zip(names, arrays)))[0]


def writer(file, about):
    w = Writer(file, about)
    w.lines = [f"# {about} Made by make_microsoft_cases.py."]
    return w


def make_fused():
    w = writer("fused.txt", "Fused nodes of com.microsoft.")
    near = dict(tolerance="1e-4", **MS)
    for k, shape in enumerate([(2, 3, 4), (7,), (1, 5), (2, 1, 2, 3)]):
        x, bias = data(f"ge{k}", shape, **LOW), Const(data(f"geb{k}", shape[-1:], **LOW))
        w.case(f"gelu_{k}", "Gelu", [x], **near)
        w.case(f"fast_gelu_{k}", "FastGelu", [x], **near)
        w.case(f"fast_gelu_bias_{k}", "FastGelu", [x, bias], **near)
        w.case(f"bias_gelu_{k}", "BiasGelu", [x, bias], **near)
        w.case(f"quick_gelu_{k}", "QuickGelu", [x], **near, **({"alpha": 0.5 + k} if k else {}))
    for k, (a, b, attrs) in enumerate([((2, 3), (3, 4), {}), ((3, 2), (3, 4), dict(transA=1)), ((2, 3), (4, 3), dict(transB=1, alpha=0.5)), ((2, 5, 3), (2, 4, 3), dict(transB=1)), ((2, 3, 2, 5), (2, 3, 2, 4), dict(transA=1, alpha=2.0)),
                                       ((2, 3, 4), (4, 5), {}), ((3, 2, 4), (2, 4, 5), dict(transBatchA=1)), ((2, 3, 4), (4, 2, 5), dict(transBatchB=1)), ((3, 2, 4), (5, 2, 4), dict(transBatchA=1, transBatchB=1, transB=1)),
                                       ((5, 2, 3, 4), (2, 3, 4, 6), dict(transBatchA=1)), ((4,), (4, 3), {}), ((2, 0), (0, 3), {})]):
        w.case(f"fused_matmul_{k}", "FusedMatMul", [data(f"fm{k}", a, **LOW), data(f"fn{k}", b, **LOW)], **near, **attrs)
    w.case("transpose_matmul", "TransposeMatMul", [data("tm", (3, 2), **LOW), data("tn", (3, 4), **LOW)], transA=1, **near)
    for k, (activation, attrs) in enumerate([("Relu", {}), ("LeakyRelu", dict(activation_alpha=0.25)), ("Tanh", dict(transB=1, alpha=0.5, beta=2.0)), ("Sigmoid", {}), ("HardSigmoid", dict(activation_alpha=0.3, activation_beta=0.4)), ("Softsign", dict(beta=0.5))]):
        b = (4, 3) if attrs.get("transB") else (3, 4)
        bias = [data(f"fgc{k}", (4,) if k % 2 else (1, 4), **LOW)] if k != 3 else []
        w.case(f"fused_gemm_{k}", "FusedGemm", [data(f"fg{k}", (2, 3), **LOW), data(f"fgb{k}", b, **LOW)] + bias, **near, **({"activation": activation} if activation else {}), **attrs)
    for k, (activation, parameters, x, weights, residual, attrs) in enumerate([
            ("Relu", [], (1, 2, 4, 4), (3, 2, 3, 3), False, dict(pads=[1, 1, 1, 1])), ("Relu", [], (1, 2, 5, 5), (2, 2, 1, 1), True, {}), ("LeakyRelu", [0.125], (2, 2, 4, 5), (2, 2, 2, 2), False, dict(strides=[2, 1])),
            ("Clip", [-1.0, 2.0], (1, 4, 4, 4), (4, 1, 3, 3), False, dict(group=4)), ("HardSigmoid", [0.2, 0.5], (1, 2, 4, 4), (2, 2, 3, 3), False, dict(dilations=[1, 1])), ("Tanh", [], (1, 2, 6, 6), (3, 2, 3, 3), False, dict(dilations=[2, 2])),
            ("Sigmoid", [], (1, 1, 3, 3), (2, 1, 2, 2), False, dict(auto_pad="SAME_UPPER"))]):
        inputs = [data(f"fc{k}", x, **LOW), Const(data(f"fcw{k}", weights, **LOW)), Const(data(f"fcb{k}", weights[:1], **LOW))]
        if residual:
            inputs.append(data(f"fcz{k}", (x[0], weights[0]) + x[2:], **LOW))
        w.case(f"fused_conv_{k}", "FusedConv", inputs, **near, activation=activation, **({"activation_params": parameters} if parameters else {}), **attrs)
    rng = np.random.default_rng(5)
    for k, (rows, cols, block, bits, zero) in enumerate([(32, 4, 16, 8, "packed"), (48, 3, 16, 8, None), (32, 4, 32, 4, "real"), (64, 2, 16, 4, "packed"), (40, 3, 32, 4, None), (32, 2, 16, 2, "packed"), (64, 3, 32, 2, None), (100, 2, 128, 4, "packed")]):
        blocks = (rows + block - 1) // block
        scales = (rng.integers(1, 9, (cols * blocks,)) / 16).astype(np.float32)
        zeros = {"packed": lambda: rng.integers(0, 256, (cols * ((blocks * bits + 7) // 8),)).astype(np.uint8), "real": lambda: rng.integers(0, 16, (cols, blocks)).astype(np.float32)}
        inputs = [data(f"mn{k}", (2, rows) if k % 2 else (1, 2, rows), **LOW), Const(rng.integers(0, 256, (cols, blocks, block * bits // 8)).astype(np.uint8)), Const(scales), Const(zeros[zero]()) if zero else None]
        if k in (1, 3):
            inputs += [None, Const(data(f"mnb{k}", (cols,), **LOW))]
        w.case(f"matmul_nbits_{k}", "MatMulNBits", inputs, K=rows, N=cols, bits=bits, block_size=block, **near)
    w.write()


def make_quantized():
    w = writer("quantized.txt", "Quantised nodes of com.microsoft.")
    s, bytes_of = lambda v: Const(np.array(v, np.float32)), lambda name, shape, t: data(name, shape, np.dtype(t).name, low=-128 if t == np.int8 else 0, high=128 if t == np.int8 else 256)
    z = lambda v, t: Const(np.array(v - 128 if t == np.int8 else v, t))
    for k, (a, b) in enumerate([((2, 3), (2, 3)), ((2, 3, 4), (4,)), ((1, 3, 1), (2, 1, 4)), ((5,), (1,)), ((2, 2, 3, 3), (1, 2, 1, 1)), ((1, 40), (1, 40)), ((3, 0), (3, 0))]):
        t = np.int8 if k % 2 else np.uint8
        tail = [s(0.0457), z(120, t)]
        for op in ("QLinearAdd", "QLinearMul"):
            inputs = [bytes_of(f"qa{k}", a, t), s(0.0313), z(100 + k, t), bytes_of(f"qb{k}", b, t), s(0.0237), z(130 - 3 * k, t)] + tail
            theirs = w.case(f"{op.lower()}_{k}", op, inputs, answers=[contract(op, inputs)], **MS)[0]
            model_answers = onnxruntime_answer(op, inputs)
            assert theirs.size == 0 or np.abs(theirs.astype(int) - model_answers.astype(int)).max() <= 1, op
    for k, shape in enumerate([(2, 3, 4), (64,), (1, 1), (4, 17)]):
        t = np.int8 if k % 2 else np.uint8
        x = [bytes_of(f"qu{k}", shape, t), s(0.03125), z(128 + k, t)]
        w.case(f"qlinear_sigmoid_{k}", "QLinearSigmoid", x + [s(1 / 256), z(0, t)], **MS)
        w.case(f"qlinear_leaky_relu_{k}", "QLinearLeakyRelu", x + [s(0.03), z(60, t)], alpha=[0.1, 0.25, 0.01, 0.5][k], **MS)
    for k, (shape, attrs) in enumerate([((1, 2, 4, 4), dict(kernel_shape=[2, 2])), ((2, 3, 5, 6), dict(kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])), ((1, 2, 5, 5), dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)),
                                        ((1, 1, 7, 5), dict(kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)), ((2, 4, 4, 3), dict(kernel_shape=[2, 2], channels_last=1)), ((1, 3, 9), dict(kernel_shape=[3], strides=[2])),
                                        ((1, 2, 4, 4), dict(kernel_shape=[3, 3], auto_pad="SAME_LOWER"))]):
        t = np.int8 if k % 2 else np.uint8
        w.case(f"qlinear_average_pool_{k}", "QLinearAveragePool", [bytes_of(f"qp{k}", shape, t), s(0.04), z(110, t), s(0.035), z(128, t)], **MS, **attrs)
    for k, (shape, last) in enumerate([((1, 3, 4, 4), 0), ((2, 5, 3, 3), 0), ((2, 3, 4, 5), 1), ((1, 8, 1, 1), 0)]):
        t = np.int8 if k % 2 else np.uint8
        w.case(f"qlinear_global_average_pool_{k}", "QLinearGlobalAveragePool", [bytes_of(f"qg{k}", shape, t), s(0.04), z(110, t), s(0.015), z(128, t)], channels_last=last, **MS)
    for k, (shape, axes, keep) in enumerate([((2, 3, 4), [2], 1), ((2, 3, 4), [0, 1], 0), ((4, 5), [-1], 1)]):
        x = bytes_of(f"qr{k}", shape, np.uint8)  # onnxruntime has no such kernel
        mean = (x.astype(np.float64) - 110).mean(axis=tuple(axes), keepdims=bool(keep)) * (0.04 / 0.03)
        w.case(f"qlinear_reduce_mean_{k}", "QLinearReduceMean", [x, s(0.04), z(110, np.uint8), s(0.03), z(128, np.uint8)], axes=axes, keepdims=keep, answers=[np.clip(np.rint(mean) + 128, 0, 255).astype(np.uint8)], **MS)
    for k, (shapes, axis, scales) in enumerate([([(2, 3), (2, 2)], 1, [0.05, 0.04]), ([(1, 2, 3), (4, 2, 3), (2, 2, 3)], 0, [0.05, 0.05, 0.05]), ([(3, 4), (3, 1)], -1, [0.02, 0.07]), ([(2, 5)], 0, [0.03])]):
        t = np.int8 if k % 2 else np.uint8
        parts = [p for i, (shape, scale) in enumerate(zip(shapes, scales)) for p in (bytes_of(f"qc{k}{i}", shape, t), s(scale), z(120 + i, t))]
        w.case(f"qlinear_concat_{k}", "QLinearConcat", [s(0.05), z(120, t)] + parts, axis=axis, **MS)
    for k, (a, b, attrs, bias, wt, quantised) in enumerate([((2, 3), (3, 4), {}, None, np.uint8, True), ((2, 3), (3, 4), {}, (4,), np.int8, True), ((3, 2), (3, 4), dict(transA=1), (1, 4), np.int8, True), ((2, 6), (4, 6), dict(transB=1), (4,), np.int8, True),
                                                            ((2, 3), (3, 4), dict(alpha=0.5), (4,), np.int8, True), ((2, 5), (5, 3), {}, (2, 3), np.uint8, True), ((3, 4), (4, 2), {}, (2,), np.int8, False), ((2, 4), (4, 3), {}, (3,), "channels", True)]):
        channels = wt == "channels"
        t = np.int8 if channels else wt
        scale = s([0.02, 0.03, 0.015]) if channels else s(0.02)
        zero = Const(np.zeros(3, np.int8)) if channels else z(128, t)
        inputs = [bytes_of(f"qm{k}", a, np.uint8), s(0.04), z(120, np.uint8), Const(bytes_of(f"qn{k}", b, t)), scale, zero, Const(data(f"qmc{k}", bias, "int32", low=-900, high=900)) if bias else None]
        if quantised:
            inputs += [s(0.25), z(128, np.uint8)]
        w.case(f"qgemm_{k}", "QGemm", inputs, **MS, **({} if quantised else {"tolerance": "1e-5"}), **attrs)
    for k, (shape, t, axis) in enumerate([((2, 3), np.uint8, None), ((2, 3), np.int8, None), ((2, 3), np.uint16, None), ((3, 2, 2), np.int8, 0), ((2, 4), np.int16, None)]):
        info = np.iinfo(t)
        scale = [0.1, 0.2, 0.05] if axis == 0 else 0.125
        zero = [0, 1, -1] if axis == 0 else 3
        attrs = {} if axis is None else dict(axis=axis)
        x = data(f"ql{k}", shape, low=-20, high=20)
        w.case(f"quantize_{k}", "QuantizeLinear", [x, s(scale), Const(np.array(zero, t))], **MS, **attrs)
        w.case(f"dequantize_{k}", "DequantizeLinear", [data(f"dq{k}", shape, np.dtype(t).name, low=max(info.min, -300), high=min(info.max, 300)), s(scale), Const(np.array(zero, t))], tolerance="1e-6", **MS, **attrs)
    x, weights = bytes_of("qat", (2, 3, 8), np.uint8), bytes_of("qaw", (8, 24), np.int8)
    att = dict(num_heads=2, tolerance="1e-4", **MS)
    tail = lambda mask=None, past=None: [Const(data("qab", (24,), **LOW)), s(0.01), s(0.01), mask, z(128, np.uint8), z(128, np.int8), past]
    w.case("qattention", "QAttention", [x, Const(weights)] + tail(), **att)
    w.case("qattention_mask", "QAttention", [x, Const(weights)] + tail(np.array([2, 3], np.int32)), **att)
    w.case("qattention_causal", "QAttention", [x, Const(weights)] + tail(), unidirectional=1, **att)
    w.case("qattention_past", "QAttention", [x, Const(weights)] + tail(None, data("qap", (2, 2, 2, 2, 4), **LOW)), outputs=2, unidirectional=1, **att)
    ids, segments = np.array([[1, 4, 0], [2, 2, 5]], np.int32), np.array([[0, 0, 1], [1, 0, 1]], np.int32)
    tables = [Const(bytes_of(f"qe{i}", shape, np.uint8)) for i, shape in enumerate([(6, 8), (5, 8), (2, 8), (8,), (8,)])]
    scales, zeros = [s(0.01 + 0.002 * i) for i in range(5)], [z(120 + i, np.uint8) for i in range(5)]
    for name, mask in (("", None), ("_mask", np.array([[1, 1, 0], [1, 1, 1]], np.int32))):
        w.case(f"qembed{name}", "QEmbedLayerNormalization", [ids, segments] + tables + [mask] + scales + zeros, outputs=2, tolerance="1e-4", epsilon=1e-12, **MS)
    w.write()


def make_cached_attention():
    w = writer("cached_attention.txt", "Attention nodes of com.microsoft with caches, rotations and shared heads.")
    near = dict(tolerance="1e-4", **MS)
    weights, bias = Const(data("caw", (8, 24), **LOW)), Const(data("cab", (24,), **LOW))
    x, past = data("cax", (2, 3, 8), **LOW), data("cap", (2, 2, 2, 4, 4), **LOW)
    att = dict(num_heads=2, outputs=2, **near)
    w.case("attention_present", "Attention", [x, weights, bias], **att)
    w.case("attention_past", "Attention", [x, weights, bias, None, past], unidirectional=1, **att)
    w.case("attention_past_both_ways", "Attention", [x, weights, bias, None, past], **att)
    w.case("attention_past_mask", "Attention", [x, weights, bias, np.array([[0, 1, 1, 1, 1, 1, 1], [1] * 7], np.int32), past], unidirectional=1, **att)
    w.case("attention_past_mask_3d", "Attention", [x, weights, bias, data("cam", (2, 3, 7), "int32", low=0, high=2) | np.eye(3, 7, 4, dtype=np.int32), past], **att)
    w.case("attention_added", "Attention", [x, weights, bias, None, None, data("caa", (2, 2, 3, 3), **LOW)], **att)
    w.case("attention_one_step", "Attention", [x[:, :1], weights, bias, None, past], unidirectional=1, scale=0.3, **att)
    w.case("attention_ends_and_starts", "Attention", [x, weights, bias, np.array([3, 2, 1, 0], np.int32)], num_heads=2, **near)
    w.case("attention_no_bias", "Attention", [x, weights], num_heads=2, **near)
    square = np.tril(np.ones((2, 5, 5), np.int32))  # onnxruntime's CPU kernel takes no square over all places
    cut = w.case("attention_mask_cut", "Attention", [x, weights, bias, np.ascontiguousarray(square[:, :3, :3])], num_heads=2, **near)
    w.case("attention_mask_4d", "Attention", [x, weights, bias, square[:, None]], num_heads=2, answers=cut, **near)
    q, k, v = (data(f"cm{n}", (2, 3, 8), **LOW) for n in "qkv")
    pk, pv = data("cmpk", (2, 2, 4, 4), **LOW), data("cmpv", (2, 2, 4, 4), **LOW)
    multi = dict(num_heads=2, **near)
    w.case("multi_head_past", "MultiHeadAttention", [q, k, v, None, None, None, pk, pv], outputs=3, **multi)
    w.case("multi_head_past_causal", "MultiHeadAttention", [q, k, v, Const(data("cmb", (24,), **LOW)), None, None, pk, pv], outputs=3, unidirectional=1, **multi)
    w.case("multi_head_past_mask", "MultiHeadAttention", [q, k, v, None, np.array([[0, 1, 1, 1, 1, 1, 1], [1] * 7], np.int32), None, pk, pv], outputs=3, **multi)
    w.case("multi_head_cross", "MultiHeadAttention", [q, pk, pv], **multi)
    w.case("multi_head_mask_3d", "MultiHeadAttention", [q, k, v, None, data("cmm", (2, 3, 3), "int32", low=0, high=2) | np.eye(3, dtype=np.int32)], **multi)
    cosine, sine = (Const(f(np.outer(np.arange(16), 1 / 10 ** np.arange(2)).astype(np.float32)).astype(np.float32)) for f in (np.cos, np.sin))
    place = np.array([[0, 1, 2], [5, 6, 7]], np.int64)
    x4 = data("crx4", (2, 2, 3, 4), **LOW)
    w.case("rotary", "RotaryEmbedding", [x, place, cosine, sine], **near)
    w.case("rotary_interleaved", "RotaryEmbedding", [x, place, cosine, sine], interleaved=1, **near)
    w.case("rotary_from", "RotaryEmbedding", [x, np.array([4], np.int64), cosine, sine], **near)
    w.case("rotary_4d", "RotaryEmbedding", [x4, place, cosine, sine], **near)
    w.case("rotary_part", "RotaryEmbedding", [data("crp", (2, 3, 12), **LOW), place, cosine, sine], num_heads=2, rotary_embedding_dim=4, **near)
    w.case("rotary_part_interleaved", "RotaryEmbedding", [data("crp", (2, 3, 12), **LOW), np.array([2], np.int64), cosine, sine], num_heads=2, rotary_embedding_dim=4, interleaved=1, **near)

    def group(name, batch, steps, q_heads, heads, size, before=None, lengths=None, packed=False, rotary=0, total=None, more=(), known=True, only_y=False, **attrs):
        low = lambda tag, shape: data(name + tag, shape, low=-2, high=2)
        lengths = lengths or [(before or 0) + steps] * batch
        qkv = [low("p", (batch, steps, (q_heads + 2 * heads) * size)), None, None] if packed else [low("q", (batch, steps, q_heads * size)), low("k", (batch, steps, heads * size)), low("v", (batch, steps, heads * size))]
        cache = [None, None] if before is None else [low("pk", (batch, heads, before, size)), low("pv", (batch, heads, before, size))]
        longest = np.array([total or max(lengths)], np.int32)
        tables = [Const(f(np.outer(np.arange(24), 1 / 10 ** np.arange(rotary // 2)).astype(np.float32)).astype(np.float32)) for f in (np.cos, np.sin)] if rotary else [None, None]
        inputs = qkv + cache + [np.array(lengths, np.int32) - 1, Const(longest) if known else longest] + tables + list(more)
        attrs.update(num_heads=q_heads, kv_num_heads=heads, **({"do_rotary": 1} if rotary else {}), **near)
        if not only_y:
            return w.case(name, "GroupQueryAttention", inputs, outputs=3, **attrs)
        # What a cache holds behind its last key is not specified; onnxruntime computes the result only where it gives the caches.
        answers = writer("", "").case(name, "GroupQueryAttention", inputs, outputs=3, **attrs)
        return w.case(name, "GroupQueryAttention", inputs, outputs=[1, 0, 0], answers=answers[:1], **attrs)

    group("group_prompt", 2, 3, 4, 2, 8)
    group("group_prompt_packed", 1, 4, 4, 2, 8, packed=True)
    group("group_prompt_rotary", 2, 3, 4, 2, 16, rotary=16)
    group("group_prompt_rotary_interleaved", 1, 3, 2, 1, 16, rotary=16, rotary_interleaved=1)
    group("group_step", 2, 1, 4, 2, 8, before=5)
    group("group_step_rotary", 2, 1, 4, 2, 16, before=5, rotary=16)
    group("group_step_packed_rotary", 1, 1, 4, 1, 16, before=3, rotary=16, packed=True)
    group("group_step_length_of_the_run", 1, 1, 4, 2, 8, before=5, known=False)
    group("group_steps", 1, 3, 4, 2, 8, before=4)
    group("group_empty_past", 1, 3, 4, 2, 8, before=0)
    group("group_shared_buffer", 2, 1, 4, 2, 8, before=8, lengths=[6, 4], only_y=True)
    group("group_lengths_differ", 2, 1, 2, 1, 16, before=5, lengths=[6, 3], rotary=16, only_y=True)
    group("group_window_prompt", 1, 6, 2, 1, 8, local_window_size=3)
    group("group_window_step", 2, 1, 2, 1, 8, before=7, local_window_size=4)
    group("group_window_rotary", 1, 2, 2, 2, 16, before=5, local_window_size=2, rotary=16)
    group("group_softcap", 1, 3, 4, 2, 8, softcap=2.0)
    group("group_scale", 1, 3, 2, 2, 8, scale=0.125)
    group("group_smooth", 1, 3, 2, 2, 8, smooth_softmax=1)
    group("group_sink", 1, 2, 4, 2, 8, before=3, more=[None, None, Const(f32(0.5, -1, 2, 0))])
    group("group_places", 1, 2, 2, 1, 16, before=3, rotary=16, more=[np.array([[3, 4]], np.int64)])
    group("group_added", 1, 3, 2, 1, 8, more=[None, data("cgadd", (1, 2, 3, 3), **LOW)])
    # onnxruntime's CPU kernel has no norms inside: the same with them outside
    norms = [data("cgqn", (16,), **LOW), data("cgkn", (16,), **LOW)]
    q, k, v = (data(f"cgn{n}", (1, 3, heads * 16), **LOW) for n, heads in (("q", 4), ("k", 2), ("v", 2)))
    rms = lambda x, weight: (x.reshape(1, 3, -1, 16) / np.sqrt((x.reshape(1, 3, -1, 16).astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6) * weight).astype(np.float32).reshape(x.shape)
    tables = [Const(f(np.outer(np.arange(24), 1 / 10 ** np.arange(8)).astype(np.float32)).astype(np.float32)) for f in (np.cos, np.sin)]
    rest = [None, None, np.array([2], np.int32), Const(np.array([3], np.int32))] + tables
    attrs = dict(outputs=3, num_heads=4, kv_num_heads=2, do_rotary=1, **near)
    outside = w.case("group_norms_outside", "GroupQueryAttention", [rms(q, norms[0]), rms(k, norms[1]), v] + rest, **attrs)
    w.case("group_norms", "GroupQueryAttention", [q, k, v] + rest + [None] * 5 + [Const(n) for n in norms], answers=outside, **attrs)
    w.write()


if __name__ == "__main__":
    for make in (make_fused, make_quantized, make_cached_attention):
        make()
