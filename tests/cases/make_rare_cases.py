"""Writes tests/cases/nodes/rare.txt and tests/cases/ops/rare.txt: operators that few models have, with the answers of onnxruntime or,
where it lacks one, of onnx.reference; deformable convolutions of 1 and 3 dims by a formula of their own here.

Run by hand when cases are added:  python tests/cases/make_rare_cases.py     (needs numpy, onnx and onnxruntime)
"""
import itertools

import numpy as np

from make_node_cases import Const, Writer
from make_ops_cases import data, f32, i64


def deform_conv(x, w, offset, bias=None, mask=None, strides=None, pads=None, dilations=None, group=1, offset_group=1, **_):
    """Any number of spatial dims: the sum over taps of the weighted, linearly interpolated picture."""
    n = x.ndim - 2
    strides, dilations, pads = strides or [1] * n, dilations or [1] * n, pads or [0] * (2 * n)
    kernel, out = w.shape[2:], offset.shape[2:]
    taps = list(itertools.product(*map(range, kernel)))
    offset = offset.reshape(x.shape[0], offset_group, len(taps), n, *out)
    mask = np.ones((x.shape[0], offset_group, len(taps), *out)) if mask is None else mask.reshape(x.shape[0], offset_group, len(taps), *out)
    y = np.zeros((x.shape[0], w.shape[0], *out))
    for b, m in itertools.product(range(x.shape[0]), range(w.shape[0])):
        for c in range(w.shape[1]):
            channel = m // (w.shape[0] // group) * w.shape[1] + c
            g = channel // (x.shape[1] // offset_group)
            for place in itertools.product(*map(range, out)):
                for t, tap in enumerate(taps):
                    at = [place[i] * strides[i] + tap[i] * dilations[i] - pads[i] + float(offset[(b, g, t, i, *place)]) for i in range(n)]
                    value = 0.0
                    for corner in itertools.product((0, 1), repeat=n):
                        pixel = [int(np.floor(a)) + k for a, k in zip(at, corner)]
                        if all(0 <= p < s for p, s in zip(pixel, x.shape[2:])):
                            weight = np.prod([a - np.floor(a) if k else 1 - (a - np.floor(a)) for a, k in zip(at, corner)])
                            value += weight * float(x[(b, channel, *pixel)])
                    y[(b, m, *place)] += value * float(w[(m, c, *tap)]) * float(mask[(b, g, t, *place)])
    if bias is not None:
        y += bias.reshape(1, -1, *[1] * n)
    return [y.astype(x.dtype)]


def make_deform_conv(w):
    def case(k, shape, weights, dtype="float32", bias=False, mask=False, far=1.0, tolerance="1e-5", **attrs):
        name = f"deform_conv_{k}"
        n = len(shape) - 2
        strides, dilations, pads = attrs.get("strides", [1] * n), attrs.get("dilations", [1] * n), attrs.get("pads", [0] * 2 * n)
        out = [(shape[i + 2] + pads[i] + pads[i + n] - (weights[i + 2] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(n)]
        taps = attrs.get("offset_group", 1) * int(np.prod(weights[2:]))
        rng = np.random.default_rng(k)
        offset = (rng.integers(-8, 9, (shape[0], taps * n, *out)) / 8 * far).astype(dtype)
        inputs = [data(name, shape, dtype, low=-2, high=2), data(name + "w", weights, dtype, low=-1, high=1), offset,
                  data(name + "b", weights[:1], dtype) if bias else None, (rng.integers(0, 9, (shape[0], taps, *out)) / 8).astype(dtype) if mask else None]
        room = " ".join(f"{ {'group': 'groups', 'offset_group': 'offset_groups'}.get(key, key)}={str(v).replace(' ', '')}" for key, v in attrs.items() if key != "kernel_shape")
        answers = deform_conv(*inputs, **attrs)
        w.case(name, "DeformConv", inputs, opset=22, tolerance=tolerance, answers=answers, room=f"DeformConv {room}", **attrs)

    case(0, (1, 1, 4, 4), (1, 1, 2, 2))
    case(1, (2, 2, 5, 4), (3, 2, 3, 3), bias=True, pads=[1, 1, 1, 1])
    case(2, (1, 4, 5, 5), (4, 2, 2, 3), mask=True, group=2, offset_group=2, strides=[2, 1])
    case(3, (1, 4, 6, 7), (2, 4, 2, 2), bias=True, mask=True, dilations=[2, 3], pads=[0, 1, 2, 1], offset_group=4)
    case(4, (1, 2, 3, 3), (2, 2, 1, 1), far=4.0)
    case(5, (1, 2, 4, 4), (2, 2, 3, 3), dtype="float64", mask=True, pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    case(6, (1, 2, 4, 4), (2, 1, 2, 2), dtype="float16", group=2, bias=True, tolerance="2e-3")
    case(7, (2, 3, 6), (2, 3, 3), bias=True, mask=True, strides=[2], pads=[1, 1])
    case(8, (1, 2, 3, 4, 3), (2, 1, 2, 2, 2), group=2, offset_group=2, mask=True)
    case(9, (1, 1, 1, 5), (1, 1, 1, 2), far=2.0)
    case(10, (0, 2, 4, 4), (2, 2, 2, 2))


def make_linear_attention(w):
    def case(k, rule, b, t, q_heads, heads, key, value, past=None, decay=None, rate=None, dtype="float32", scale=None, tolerance="1e-5"):
        name = f"linear_attention_{k}"
        low = dict(low=-1, high=1)
        inputs = [data(name + "q", (b, t, q_heads * key), dtype, **low), data(name + "k", (b, t, heads * key), dtype, **low),
                  data(name + "v", (b, t, heads * value), dtype, **low), data(name + "p", (b, heads, key, value), past, **low) if past else None,
                  -np.abs(data(name + "d", (b, t, decay), dtype, **low)) if decay else None, np.abs(data(name + "r", (b, t, rate), dtype, **low)) if rate else None]
        gated, delta = "gated" in rule, "delta" in rule
        factor = scale or float(np.float64(1) / np.sqrt(key))
        w.case(name, "LinearAttention", inputs, outputs=2, opset=27, reference=True, tolerance=tolerance, update_rule=rule, q_num_heads=q_heads, kv_num_heads=heads,
               room=f"LinearAttention q_heads={q_heads} heads={heads} scale={factor!r} gated={int(gated)} delta={int(delta)}", **({"scale": scale} if scale else {}))

    case(0, "linear", 2, 3, 2, 2, 4, 3)
    case(1, "linear", 1, 1, 4, 2, 2, 5, past="float32", scale=0.5)
    case(2, "gated", 2, 4, 2, 2, 3, 3, decay=2)
    case(3, "gated", 1, 3, 6, 2, 3, 2, decay=6, past="float32")
    case(4, "delta", 2, 5, 2, 1, 4, 4, rate=1)
    case(5, "delta", 1, 4, 3, 3, 2, 3, rate=3, past="float32")
    case(6, "gated_delta", 2, 4, 4, 2, 3, 4, decay=6, rate=2, past="float32")
    case(7, "gated_delta", 1, 6, 2, 2, 4, 1, decay=2, rate=1, scale=0.25)
    case(8, "gated_delta", 1, 3, 2, 2, 4, 2, decay=2, rate=2, past="float32", dtype="float16", tolerance="3e-3")
    case(9, "gated_delta", 1, 2, 2, 2, 4, 2, decay=2, rate=2, dtype="float16", tolerance="3e-3")


def make_others(w):
    for k, (shape, dtype) in enumerate([((3, 3), "float32"), ((2, 2), "float32"), ((4, 1, 1), "float64"), ((2, 3, 4, 4), "float32"), ((5, 5), "float64"), ((0, 2, 2), "float32"), ((6, 6), "float32")]):
        w.case(f"det_{k}", "Det", [data(f"det{k}", shape, dtype)], opset=22, tolerance="1e-4", room="Determinant", reference=dtype != "float32" or 0 in shape)
    w.case("det_singular", "Det", [f32(1, 2, 2, 4).reshape(2, 2)], opset=22, room="Determinant", answers=[np.array(0, np.float32)])
    w.case("det_needs_a_pivot", "Det", [f32(0, 2, 3, 0).reshape(2, 2)], opset=22, room="Determinant", answers=[np.array(-6, np.float32)])
    boxes = lambda *rows: np.array(rows, np.float32)
    for k, (shape, rois, size, scale) in enumerate([
            ((1, 2, 6, 6), boxes((0, 0, 0, 5, 5)), [2, 2], 1.0), ((2, 1, 5, 7), boxes((1, 1, 2, 4, 4), (0, 0, 0, 6, 4)), [3, 2], 1.0), ((1, 1, 8, 8), boxes((0, 2, 2, 14, 9)), [2, 3], 0.5),
            ((1, 1, 4, 4), boxes((0, 6, 6, 9, 9), (0, -4, -4, -2, -2)), [2, 2], 1.0), ((1, 2, 5, 5), boxes((0, 3, 3, 1, 1)), [3, 3], 1.0), ((1, 1, 3, 3), boxes((0, 0, 0, 2, 2)), [5, 4], 1.0),
            ((1, 1, 6, 6), boxes((0, 1, 1, 4, 4)), [1, 1], 0.7), ((1, 1, 4, 4), np.zeros((0, 5), np.float32), [2, 2], 1.0)]):
        w.case(f"max_roi_pool_{k}", "MaxRoiPool", [data(f"mrp{k}", shape), rois], opset=11, pooled_shape=size, spatial_scale=scale,
               room=f"RoiPool height={size[0]} width={size[1]} spatial_scale={scale}", answers=[np.zeros((0, 1, 2, 2), np.float32)] if rois.size == 0 else None)
    whole = lambda v: Const(np.array(v, np.int64))
    real = lambda v: Const(np.array(v, np.float32))
    for k, (filters, length, rate, low, high, dtype) in enumerate([(8, 16, 8192, 0.0, 4096.0, None), (4, 32, 16000, 20.0, 7600.0, None), (1, 8, 8000, 0.0, 4000.0, 1), (10, 64, 22050, 300.0, 11025.0, 11), (20, 16, 8000, 0.0, 4000.0, None)]):
        w.case(f"mel_{k}", "MelWeightMatrix", [whole(filters), whole(length), whole(rate), real(low), real(high)], opset=17, tolerance="1e-5", **({"output_datatype": dtype} if dtype else {}))
    rows = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], np.int64)
    pool = dict(ngram_counts=[0, 4], ngram_indexes=[0, 1, 2, 3, 4, 5, 6], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7])
    grams = [("only_pairs", rows, dict(pool, min_gram_length=2, max_gram_length=2, max_skip_count=0)), ("pairs_apart", rows.astype(np.int32), dict(pool, min_gram_length=2, max_gram_length=2, max_skip_count=5)),
             ("both", rows, dict(pool, min_gram_length=1, max_gram_length=2, max_skip_count=3)), ("one_row", rows[1], dict(pool, min_gram_length=1, max_gram_length=2, max_skip_count=1)),
             ("order", rows, dict(pool, min_gram_length=1, max_gram_length=2, max_skip_count=0, ngram_indexes=[6, 5, 4, 3, 2, 1, 0])),
             ("short_row", np.array([6], np.int64), dict(pool, min_gram_length=1, max_gram_length=2, max_skip_count=2)),
             ("single", rows, dict(min_gram_length=1, max_gram_length=1, max_skip_count=4, ngram_counts=[0], ngram_indexes=[0, 2], pool_int64s=[3, 7])),
             ("triples", np.array([[1, 2, 3, 1, 2, 3, 1]], np.int64), dict(min_gram_length=2, max_gram_length=3, max_skip_count=1, ngram_counts=[0, 1, 3], ngram_indexes=[0, 1, 2, 3], pool_int64s=[9, 1, 2, 1, 2, 3, 2, 1, 3]))]
    for name, x, attrs in grams:
        for mode in ("TF", "IDF", "TFIDF"):
            weights = {} if mode == "TF" or name == "single" else {"weights": [0.5 + 0.25 * i for i in range(len(attrs["ngram_indexes"]))]}
            w.case(f"tf_idf_{name}_{mode.lower()}", "TfIdfVectorizer", [x], opset=9, mode=mode, tolerance="1e-6", **attrs, **weights)
    for k, (shape, momentum, dtype, outputs, opset) in enumerate([((2, 3, 4, 5), None, "float32", 3, 15), ((4, 2), 0.75, "float32", 3, 14), ((3, 2, 6), 0.5, "float32", [1, 0, 1], 15), ((2, 2, 3), 0.25, "float64", 1, 14), ((1, 1, 2, 2), 0.9, "float32", [1, 1, 0], 15)]):
        c = (shape[1],)
        inputs = [data(f"bn{k}", shape, dtype), data(f"bns{k}", c, dtype), data(f"bnb{k}", c, dtype), data(f"bnm{k}", c, dtype), np.abs(data(f"bnv{k}", c, dtype))]
        w.case(f"batch_norm_training_{k}", "BatchNormalization", inputs, outputs=outputs, opset=opset, training_mode=1, reference=True, tolerance="1e-5", **({} if momentum is None else {"momentum": momentum}))
    for k, shape in enumerate([(2, 3, 4), (1, 2, 2, 2)]):  # statistics for each element
        x, rest = data(f"bne{k}", shape), [data(f"bne{k}{n}", shape[1:]) for n in "sbm"] + [np.abs(data(f"bne{k}v", shape[1:]))]
        scale, shift, mean, variance = rest
        answer = ((x - mean) / np.sqrt(variance + np.float32(1e-5)) * scale + shift).astype(np.float32)
        w.case(f"batch_norm_not_spatial_{k}", "BatchNormalization", [x] + rest, opset=7, spatial=0, answers=[answer], tolerance="1e-5")


if __name__ == "__main__":
    writer = Writer("rare.txt", "Nodes of rare operators.")
    writer.lines = ["# Nodes of rare operators. Made by make_rare_cases.py."]
    for make in (make_deform_conv, make_linear_attention, make_others):
        make(writer)
    writer.write("rare.txt")
