#!/usr/bin/env python3
"""Models with If, Loop and Scan, made here, against onnxruntime: built optimised and as they are, run over several steps.

    control_flow_models.py BIN_DIR [NAME ...]     needs numpy, onnx and onnxruntime, as scripts/setup test installs them

Among them a voice detector in the style of Silero's (branches by sampling rate, an LSTM whose state goes in and out) and a
merged decoder (one branch with cached keys and values, one without, dynamic lengths).
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

BIN = Path(sys.argv[1]).resolve()
ONLY = sys.argv[2:]
F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
RTOL, ATOL = 1e-3, 1e-5  # of an accumulated float result; ONNX's own runner takes 1e-3
MODES = (["--no-tune"], ["--no-tune", "--no-optimize", "--reference"])
rng = np.random.default_rng(7)


def info(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(",") if inputs else [], outputs.split(","), **attributes)


def constant(name, value, dtype=None):
    return numpy_helper.from_array(np.asarray(value, dtype=dtype), name)


def weights(name, *shape):
    return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32) * 0.5, name)


def graph(nodes, outputs, inputs=(), initializers=(), name="body"):
    """outputs: names, or (name, type, shape); onnxruntime wants types only of the whole model's."""
    declared = [info(*o) if isinstance(o, tuple) else onnx.ValueInfoProto(name=o) for o in outputs]
    return helper.make_graph(nodes, name, [info(*i) for i in inputs], declared, list(initializers))


def model(main, opset=17):
    return helper.make_model(main, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


class Case:
    """steps(outputs of the step before, or None) gives the next inputs, or None at the end. fails: what the build must say instead.
    too_much: inputs that a run must refuse for a limit of 'y'."""

    def __init__(self, net, steps, options=(), modes=MODES, fails=None, too_much=()):
        self.net, self.steps, self.options, self.modes, self.fails, self.too_much = net, steps, list(options), modes, fails, too_much


def each(*feeds):
    """Steps that do not depend on each other."""
    def steps(before, place=[]):
        if before is None:
            place.clear()
        place.append(0)
        return feeds[len(place) - 1] if len(place) <= len(feeds) else None
    return steps


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def if_with_captures():
    """Branches capture an input, a computed tensor and weights."""
    then_branch = graph([node("MatMul", "r,w", "m"), node("Relu", "m", "t")], ["t"])
    else_branch = graph([node("Neg", "x", "r2"), node("MatMul", "r2,v", "e")], ["e"], initializers=[weights("v", 4, 3)])
    main = graph([node("Tanh", "x", "r"), node("If", "c", "y", then_branch=then_branch, else_branch=else_branch), node("Add", "y,b", "z")],
                 [("z", F, [2, 3])], [("c", B, []), ("x", F, [2, 4])], [weights("w", 4, 3), weights("b", 3)])
    x = f32(2, 4)
    return Case(model(main), each({"c": np.array(True), "x": x}, {"c": np.array(False), "x": x}))


def if_with_two_shapes():
    """The shape of the result depends on the condition, and so does all behind it."""
    then_branch = graph([node("Concat", "x,x", "t", axis=0)], ["t"])
    else_branch = graph([node("Identity", "x", "e")], ["e"])
    main = graph([node("If", "c", "y", then_branch=then_branch, else_branch=else_branch), node("Mul", "y,two", "d"),
                  node("ReduceSum", "d,axis", "s", keepdims=0), node("Exp", "y", "z")],
                 [("z", F, [None, 3]), ("s", F, [3])], [("c", B, [1]), ("x", F, [2, 3])],
                 [constant("two", 2, np.float32), constant("axis", [0], np.int64)])
    x = f32(2, 3)
    return Case(model(main), each(*({"c": np.array([c]), "x": x} for c in (True, False, True))))


def if_by_shape():
    """A condition that is known from shapes, differently at different ones: the branch that does not fit is not looked at."""
    then_branch = graph([node("Slice", "x,zero,two", "t")], ["t"], initializers=[constant("zero", [0], np.int64), constant("two", [2], np.int64)])
    else_branch = graph([node("Concat", "x,x", "c2", axis=0), node("Slice", "c2,z0,n2", "e")], ["e"],
                        initializers=[constant("z0", [0], np.int64), constant("n2", [2], np.int64)])
    main = graph([node("Shape", "x", "s"), node("Gather", "s,first", "n"), node("Greater", "n,one", "c"),
                  node("If", "c", "y", then_branch=then_branch, else_branch=else_branch)],
                 [("y", F, [None, 3])], [("x", F, ["n", 3])], [constant("first", 0, np.int64), constant("one", 1, np.int64)])
    return Case(model(main), each(*({"x": f32(n, 3)} for n in (1, 4, 2, 1))), ["--profile", "x=1x3:2x3:4x3"])


def nested_captures():
    """Through three levels."""
    inner = graph([node("Add", "b,x", "i")], ["i"])  # b: of the level above; x: of the network
    other = graph([node("Sub", "b,a", "o0"), node("Mul", "o0,w", "o")], ["o"])
    middle = graph([node("Mul", "x,x", "b"), node("If", "d", "m", then_branch=inner, else_branch=other)], ["m"])
    plain = graph([node("Identity", "a", "p")], ["p"])
    main = graph([node("Neg", "x", "a"), node("If", "c", "y", then_branch=middle, else_branch=plain)], [("y", F, [3])],
                 [("c", B, []), ("d", B, []), ("x", F, [3])], [weights("w", 3)])
    x = f32(3)
    return Case(model(main), each(*({"c": np.array(c), "d": np.array(d), "x": x} for c in (True, False) for d in (True, False))))


def loop_body(step_nodes, outputs, states, initializers=(), tag=""):
    return graph([node("Identity", tag + "go", tag + "go_on")] + step_nodes, [tag + "go_on"] + outputs,
                 [(tag + "i", I, []), (tag + "go", B, [])] + states, initializers)


def loop_by_count():
    """A trip count that is data: states alone, with a weight from outside and the iteration number."""
    body = loop_body([node("MatMul", "h,w", "m"), node("Cast", "i", "n", to=F), node("Add", "m,n", "a"), node("Tanh", "a", "h2"),
                      node("Identity", "k", "k2")], ["h2", "k2"], [("h", F, [2, 4]), ("k", I, [1])])
    main = graph([node("Loop", "count,,x,seven", "y,k_out", body=body)], [("y", F, [2, 4]), ("k_out", I, [1])],
                 [("count", I, []), ("x", F, [2, 4])], [weights("w", 4, 4), constant("seven", [7], np.int64)])
    x = f32(2, 4)
    return Case(model(main), each(*({"count": np.array(c, np.int64), "x": x} for c in (0, 1, 2, 3, 10, -1))))


def loop_by_condition():
    """As long as a sum is small; the count is as good as infinite, as exporters write it."""
    body = graph([node("Mul", "x,two", "x2"), node("ReduceSum", "x2", "s", keepdims=0), node("Less", "s,most", "go_on")], ["go_on", "x2"],
                 [("i", I, []), ("go", B, []), ("x", F, [3])], [constant("two", 2, np.float32), constant("most", 100, np.float32)])
    main = graph([node("Loop", "huge,start,v", "y", body=body)], [("y", F, [3])], [("start", B, []), ("v", F, [3])],
                 [constant("huge", 2**63 - 1, np.int64)])
    v = np.abs(f32(3)) + 0.5
    return Case(model(main), each({"start": np.array(True), "v": v}, {"start": np.array(False), "v": v}))


def loop_stacks_by_shape():
    """As many iterations as the input is long: stacked outputs, slices of the input by the iteration number, a running sum."""
    body = loop_body([node("Gather", "x,i", "e", axis=0), node("Add", "sum,e", "sum2"), node("Mul", "sum2,e", "p")], ["sum2", "p", "e"],
                     [("sum", F, [3])])
    main = graph([node("Shape", "x", "s"), node("Gather", "s,zero", "n"), node("Loop", "n,,start", "total,products,copy", body=body)],
                 [("total", F, [3]), ("products", F, [None, 3]), ("copy", F, [None, 3])], [("x", F, ["n", 3])],
                 [constant("zero", 0, np.int64), constant("start", [0, 0, 0], np.float32)])
    return Case(model(main), each(*({"x": f32(n, 3)} for n in (5, 1, 8, 3))), ["--profile", "x=1x3:4x3:8x3"])


def loop_grows():
    """A state that grows by a row each time, as often as the input is long; and by a count that the model fixes."""
    body = loop_body([node("Gather", "x,i", "e", axis=0), node("Unsqueeze", "e,first", "row"), node("Concat", "rows,row", "rows2", axis=0)],
                     ["rows2"], [("rows", F, [None, 3])])
    fixed = loop_body([node("Concat", "a,x1", "a2", axis=0)], ["a2"], [("a", F, [None, 3])])
    main = graph([node("Shape", "x", "s"), node("Gather", "s,zero", "n"), node("Loop", "n,,start", "y", body=body),
                  node("Slice", "x,first,one", "x1"), node("Loop", "three,,x1", "z", body=fixed), node("ReduceMax", "y", "m", axes=[0])],
                 [("y", F, [None, 3]), ("z", F, [None, 3]), ("m", F, [1, 3])], [("x", F, ["n", 3])],
                 [constant("zero", 0, np.int64), constant("first", [0], np.int64), constant("one", [1], np.int64),
                  constant("three", 3, np.int64), constant("start", np.ones((2, 3)), np.float32)])
    return Case(model(main), each(*({"x": f32(n, 3)} for n in (4, 1, 6))), ["--profile", "x=1x3:4x3:6x3"])


def loop_stacks_by_condition():
    """How many elements there are is known only at the end; the bound is the count."""
    body = graph([node("Mul", "x,x", "x2"), node("ReduceSum", "x2", "s", keepdims=0), node("Less", "s,most", "go_on"), node("Exp", "x", "e")],
                 ["go_on", "x2", "e"], [("i", I, []), ("go", B, []), ("x", F, [2])], [constant("most", 50, np.float32)])
    main = graph([node("Loop", "ten,,v", "last,all", body=body), node("Neg", "all", "y")], [("last", F, [2]), ("y", F, [None, 2])],
                 [("v", F, [2])], [constant("ten", 10, np.int64)])
    return Case(model(main), each({"v": np.array([2, 1.5], np.float32)}, {"v": np.array([0.5, 0.5], np.float32)}, {"v": np.array([9, 9], np.float32)}))


def loops_within():
    """A loop around a branch around a loop."""
    inner = loop_body([node("Mul", "u,half", "u2"), node("Add", "u2,h", "u3")], ["u3"], [("u", F, [3])], tag="inner_")  # h: of the outer loop
    then_branch = graph([node("Loop", "two,,h", "t", body=inner)], ["t"])
    else_branch = graph([node("Neg", "h", "e")], ["e"])
    body = loop_body([node("Mod", "i,two", "odd"), node("Equal", "odd,zero", "c"),
                      node("If", "c", "h2", then_branch=then_branch, else_branch=else_branch), node("Add", "h2,x", "h3")], ["h3", "h2"], [("h", F, [3])])
    main = graph([node("Loop", "n,,x", "y,all", body=body)], [("y", F, [3]), ("all", F, [5, 3])], [("x", F, [3])],
                 [constant("n", 5, np.int64), constant("two", 2, np.int64), constant("zero", 0, np.int64), constant("half", 0.5, np.float32)])
    return Case(model(main), each({"x": f32(3)}, {"x": f32(3)}))


def scan_all():
    """Two states, two scanned tensors of different axes and directions, stacked outputs likewise; a capture."""
    body = graph([node("Add", "a,e", "a2"), node("Mul", "b,f", "b2"), node("MatMul", "e,w", "y1"), node("Add", "f,a2", "y2")],
                 ["a2", "b2", "y1", "y2"], [("a", F, [3]), ("b", F, [3]), ("e", F, [3]), ("f", F, [3])])
    main = graph([node("Scan", "a0,b0,x,z", "a1,b1,p,q", body=body, num_scan_inputs=2, scan_input_axes=[1, 0], scan_input_directions=[0, 1],
                       scan_output_axes=[0, 1], scan_output_directions=[1, 0])],
                 [("a1", F, [3]), ("b1", F, [3]), ("p", F, ["n", 2]), ("q", F, [3, "n"])],
                 [("a0", F, [3]), ("b0", F, [3]), ("x", F, [3, "n"]), ("z", F, ["n", 3])], [weights("w", 3, 2)])
    return Case(model(main), each(*({"a0": f32(3), "b0": f32(3), "x": f32(3, n), "z": f32(n, 3)} for n in (4, 1, 7))),
                ["--profile", "x=3x1:3x4:3x8", "--profile", "z=1x3:4x3:8x3"])


def scan_of_opset_8():
    """With a batch, reversed, and with lengths of sequences."""
    body = graph([node("Add", "s,e", "s2"), node("Mul", "s2,e", "y")], ["s2", "y"], [("s", F, [3]), ("e", F, [3])])
    main = graph([node("Scan", ",s0,x", "s1,y", body=body, num_scan_inputs=1, directions=[1])], [("s1", F, [2, 3]), ("y", F, [2, 5, 3])],
                 [("s0", F, [2, 3]), ("x", F, [2, 5, 3])])
    return Case(model(main, 8), each({"s0": f32(2, 3), "x": f32(2, 5, 3)}))


def scan_with_lengths():
    body = graph([node("Add", "s,e", "s2"), node("Mul", "s2,e", "y")], ["s2", "y"], [("s", F, [3]), ("e", F, [3])])
    main = graph([node("Scan", "n,s0,x", "s1,y", body=body, num_scan_inputs=1)], [("s1", F, [3, 3]), ("y", F, [3, 4, 3])],
                 [("n", I, [3]), ("s0", F, [3, 3]), ("x", F, [3, 4, 3])])
    return Case(model(main, 8), each({"n": np.array([2, 4, 1]), "s0": f32(3, 3), "x": f32(3, 4, 3)}))


def voice_detector():
    """Silero-style: one branch for each sampling rate, each with its own front end and LSTM."""
    def branch(tag, samples, window, stride, channels):
        n = lambda name: f"{tag}_{name}"
        hidden = 16
        init = [weights(n("stft"), 2 * channels, 1, window), weights(n("w1"), hidden, channels, 3), weights(n("b1"), hidden),
                weights(n("lw"), 1, 4 * hidden, hidden), weights(n("lr"), 1, 4 * hidden, hidden), weights(n("lb"), 1, 8 * hidden),
                weights(n("w2"), 1, hidden, 1), constant(n("pads"), [0, 0, window // 2, 0, 0, window // 2], np.int64),
                constant(n("one"), [1], np.int64), constant(n("two"), 2, np.float32), constant(n("zero"), [0], np.int64)]
        nodes = [node("Unsqueeze", f"x,{n('one')}", n("u")), node("Pad", f"{n('u')},{n('pads')}", n("p"), mode="reflect"),
                 node("Conv", f"{n('p')},{n('stft')}", n("f"), strides=[stride]), node("Pow", f"{n('f')},{n('two')}", n("f2")),
                 node("Split", n("f2"), f"{n('re')},{n('im')}", axis=1), node("Add", f"{n('re')},{n('im')}", n("power")),
                 node("Sqrt", n("power"), n("magnitude")), node("Conv", f"{n('magnitude')},{n('w1')},{n('b1')}", n("c1"), pads=[1, 1]),
                 node("Relu", n("c1"), n("r1")), node("Transpose", n("r1"), n("seq"), perm=[2, 0, 1]),
                 node("Split", "state", f"{n('h')},{n('c')}", axis=0),
                 node("LSTM", f"{n('seq')},{n('lw')},{n('lr')},{n('lb')},,{n('h')},{n('c')}", f"{n('y')},{n('hn')},{n('cn')}", hidden_size=hidden),
                 node("Squeeze", f"{n('y')},{n('one')}", n("ys")), node("Transpose", n("ys"), n("yt"), perm=[1, 2, 0]), node("Relu", n("yt"), n("yr")),
                 node("Conv", f"{n('yr')},{n('w2')}", n("logit")), node("Sigmoid", n("logit"), n("prob")),
                 node("ReduceMean", n("prob"), n("out"), axes=[1, 2], keepdims=0), node("Unsqueeze", f"{n('out')},{n('one')}", n("out2")),
                 node("Concat", f"{n('hn')},{n('cn')}", n("state2"), axis=0)]
        return graph(nodes, [n("out2"), n("state2")], initializers=init)
    main = graph([node("Equal", "sr,sixteen", "c"), node("If", "c", "probability,next", then_branch=branch("a", 512, 64, 32, 20),
                                                         else_branch=branch("b", 512, 32, 16, 10))],
                 [("probability", F, ["n", 1]), ("next", F, [2, "n", 16])],
                 [("x", F, ["n", 256]), ("state", F, [2, "n", 16]), ("sr", I, [])], [constant("sixteen", 16000, np.int64)])
    rates = [16000, 16000, 16000, 8000, 8000]

    def steps(before, done=[]):
        if before is None:
            done.clear()
        if len(done) == len(rates):
            return None
        done.append(0)
        state = before[1] if before else np.zeros((2, 2, 16), np.float32)
        return {"x": f32(2, 256), "state": state, "sr": np.array(rates[len(done) - 1], np.int64)}
    return Case(model(main), steps, ["--profile", "x=1x256:2x256:4x256", "--profile", "state=2x1x16:2x2x16:2x4x16"])


def merged_decoder():
    """One decoder layer, exported twice into one model: with the keys and values of the steps before, or without."""
    heads, width, vocabulary = 2, 8, 11

    def branch(tag, cached):
        n = lambda name: f"{tag}_{name}"
        init = [constant(n("split"), [0, 0, heads, width // heads], np.int64), constant(n("join"), [0, 0, width], np.int64),
                constant(n("scale"), (width / heads) ** -0.5, np.float32)]
        nodes = [node("Gather", "embedding,ids", n("x"))]
        for part in "qkv":
            nodes += [node("MatMul", f"{n('x')},w{part}", n(part + "0")), node("Reshape", f"{n(part + '0')},{n('split')}", n(part + "1")),
                      node("Transpose", n(part + "1"), n(part), perm=[0, 2, 1, 3])]
        for part, past in (("k", "past_k"), ("v", "past_v")):
            nodes.append(node("Concat", f"{past},{n(part)}", n(part + "_all"), axis=2) if cached else node("Identity", n(part), n(part + "_all")))
        nodes += [node("Transpose", n("k_all"), n("kt"), perm=[0, 1, 3, 2]), node("MatMul", f"{n('q')},{n('kt')}", n("scores")),
                  node("Mul", f"{n('scores')},{n('scale')}", n("scaled")), node("Softmax", n("scaled"), n("attention"), axis=-1),
                  node("MatMul", f"{n('attention')},{n('v_all')}", n("mixed")), node("Transpose", n("mixed"), n("m1"), perm=[0, 2, 1, 3]),
                  node("Reshape", f"{n('m1')},{n('join')}", n("m2")), node("MatMul", f"{n('m2')},wo", n("o")), node("Add", f"{n('x')},{n('o')}", n("y")),
                  node("MatMul", f"{n('y')},head", n("logits"))]
        return graph(nodes, [n("logits"), n("k_all"), n("v_all")], initializers=init)
    main = graph([node("If", "use_cache", "logits,present_k,present_v", then_branch=branch("with", True), else_branch=branch("without", False))],
                 [("logits", F, ["b", "s", vocabulary]), ("present_k", F, ["b", heads, "t", 4]), ("present_v", F, ["b", heads, "t", 4])],
                 [("ids", I, ["b", "s"]), ("past_k", F, ["b", heads, "p", 4]), ("past_v", F, ["b", heads, "p", 4]), ("use_cache", B, [1])],
                 [weights("embedding", vocabulary, width)] + [weights(name, width, width) for name in ("wq", "wk", "wv", "wo")] + [weights("head", width, vocabulary)])

    def steps(before, done=[]):
        if before is None:
            done.clear()
            past = np.zeros((1, heads, 1, 4), np.float32)
            return {"ids": np.array([[3, 1, 4, 1, 5]]), "past_k": past, "past_v": past, "use_cache": np.array([False])}
        done.append(0)
        if len(done) > 4:
            return None
        ids = before[0].argmax(axis=-1)[:, -1:]
        return {"ids": ids, "past_k": before[1], "past_v": before[2], "use_cache": np.array([True])}
    return Case(model(main), steps, ["--profile", "ids=1x1:1x1:1x8", "--profile", "past_k=1x2x1x4:1x2x6x4:1x2x16x4", "--profile", "past_v=1x2x1x4:1x2x6x4:1x2x16x4"])


def grows_without_bound():
    """No count that is known and no limit: the build says what to do, and with a limit it is built."""
    body = loop_body([node("Concat", "a,x", "a2", axis=0)], ["a2"], [("a", F, [None, 3])])
    main = graph([node("Loop", "count,,x", "y", body=body)], [("y", F, [None, 3])], [("count", I, []), ("x", F, [1, 3])])
    return model(main)


def unbounded():
    return Case(grows_without_bound(), None, fails=(3, "--limit 'y="))


def bounded():
    feeds = ({"count": np.array(c, np.int64), "x": f32(1, 3)} for c in (3, 0, 7))
    return Case(grows_without_bound(), each(*feeds), ["--limit", "y=8x3"])


def limited_if():
    """A limit for what a branch makes without a bound of its own, given by the name of the If's output; and what is beyond it."""
    then_branch = graph([node("Range", "zero,n,one", "t")], ["t"])
    else_branch = graph([node("Slice", "x,first,count", "e")], ["e"])
    main = graph([node("If", "c", "y", then_branch=then_branch, else_branch=else_branch), node("Mul", "y,two", "z")], [("z", F, [None])],
                 [("c", B, []), ("n", F, []), ("count", I, [1]), ("x", F, [50])],
                 [constant("zero", 0, np.float32), constant("one", 1, np.float32), constant("two", 2, np.float32), constant("first", [0], np.int64)])
    feed = lambda c, n, count: {"c": np.array(c), "n": np.array(n, np.float32), "count": np.array([count]), "x": f32(50)}
    return Case(model(main), each(feed(True, 5, 1), feed(False, 5, 6), feed(True, 8, 50), feed(True, 0, 0)), ["--limit", "y=8"],
                too_much=[feed(True, 9, 1), feed(False, 1, 9)])


def limited_if_of_known_condition():
    """The same where the condition is known: the branch's nodes stand in the network itself."""
    then_branch = graph([node("Range", "zero,n,one", "t")], ["t"])
    else_branch = graph([node("Neg", "x", "e")], ["e"])
    main = graph([node("If", "yes", "y", then_branch=then_branch, else_branch=else_branch), node("Mul", "y,two", "z")], [("z", F, [None])],
                 [("n", F, []), ("x", F, [3])],
                 [constant("zero", 0, np.float32), constant("one", 1, np.float32), constant("two", 2, np.float32), constant("yes", True)])
    feed = lambda n: {"n": np.array(n, np.float32), "x": f32(3)}
    return Case(model(main), each(feed(5), feed(8)), ["--limit", "y=8"], too_much=[feed(9)])


def limited_loop():
    """Limits of a loop's stacked output, of its rows as of their width, where neither has a bound of its own."""
    body = loop_body([node("Range", "x,width,one", "e")], ["e"], [])
    main = graph([node("Loop", "count,", "y", body=body), node("Neg", "y", "z")], [("z", F, [None, None])],
                 [("count", I, []), ("width", F, []), ("x", F, [])], [constant("one", 1, np.float32)])
    feed = lambda n, w: {"count": np.array(n, np.int64), "width": np.array(w, np.float32), "x": np.array(0, np.float32)}
    return Case(model(main), each(feed(2, 5), feed(4, 6), feed(1, 1)), ["--limit", "y=4x6"], too_much=[feed(5, 1), feed(1, 7)])


def limited_scan():
    """A limit of what a scan stacks: the width of its rows."""
    body = graph([node("Add", "s,e", "s2"), node("Range", "zero,width,one", "p")], ["s2", "p"], [("s", F, []), ("e", F, [])])
    main = graph([node("Scan", "s0,x", "s1,y", body=body, num_scan_inputs=1), node("Neg", "y", "z")], [("s1", F, []), ("z", F, [5, None])],
                 [("s0", F, []), ("x", F, [5]), ("width", F, [])], [constant("zero", 0, np.float32), constant("one", 1, np.float32)])
    feed = lambda w: {"s0": np.array(2, np.float32), "x": f32(5), "width": np.array(w, np.float32)}
    return Case(model(main), each(feed(3), feed(6)), ["--limit", "y=5x6"], too_much=[feed(7)])


def state_by_data():
    """A state whose length is data, held by a limit: each round keeps the positive elements of what is left, less one."""
    body = loop_body([node("Greater", "h,zero", "keep"), node("Compress", "h,keep", "kept"), node("Sub", "kept,one", "h2")], ["h2"], [("h", F, [None])])
    main = graph([node("Loop", "count,,x", "y", body=body)], [("y", F, [None])], [("count", I, []), ("x", F, [12])],
                 [constant("zero", 0, np.float32), constant("one", 1, np.float32)])
    x = np.arange(12).astype(np.float32)
    return Case(model(main), each(*({"count": np.array(n, np.int64), "x": x} for n in (0, 1, 3))), ["--limit", "y=12"])


def input_goes_out():
    """Inputs among the outputs, in the model's order and under their own names, beside one that another tensor has already."""
    main = graph([node("Relu", "x", "y"), node("Neg", "x", "x.output")], [("x", F, ["n", 3]), ("y", F, ["n", 3]), ("state", I, [2]), ("x.output", F, ["n", 3])],
                 [("state", I, [2]), ("x", F, ["n", 3])])
    return Case(model(main), each(*({"state": np.array([n, 7]), "x": f32(n, 3)} for n in (1, 4))), ["--profile", "x=1x3:2x3:4x3"])


CASES = [if_with_captures, if_with_two_shapes, if_by_shape, nested_captures, loop_by_count, loop_by_condition, loop_stacks_by_shape, loop_grows,
         loop_stacks_by_condition, loops_within, scan_all, scan_of_opset_8, scan_with_lengths, voice_detector, merged_decoder, unbounded, bounded,
         limited_if, limited_if_of_known_condition, limited_loop, limited_scan, state_by_data, input_goes_out]


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace", timeout=300)


def compare(got, want):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"got {got.dtype}{list(got.shape)}, need {want.dtype}{list(want.shape)}"
    if not np.allclose(got, want, RTOL, ATOL):
        return f"differs by {np.abs(got.astype(np.float64) - want).max():.3g}"
    return None


def check(make, folder):
    case = make()
    path, engine = folder / "model.onnx", folder / "model.engine"
    onnx.save(case.net, path)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = None if case.fails else ort.InferenceSession(case.net.SerializeToString(), options)
    for mode in case.modes:
        built = run(BIN / "engine-build", path, "-o", engine, *case.options, *mode)
        if case.fails:
            if built.returncode != case.fails[0] or case.fails[1] not in built.stderr:
                return f"{mode}: exit status {built.returncode}, need {case.fails[0]} and {case.fails[1]!r}: {built.stderr.strip()}"
            continue
        if built.returncode != 0:
            return f"{mode}: build: {built.stderr.strip()}"
        if "warning" in built.stderr:
            return f"{mode}: build: {built.stderr.strip()}"

        def run_engine(feed):
            files = []
            for i, tensor in enumerate(case.net.graph.input):
                files.append(folder / f"in_{i}.pb")
                files[-1].write_bytes(numpy_helper.from_array(feed[tensor.name], tensor.name).SerializeToString())
            return run(BIN / "engine-run", engine, "--inputs", ",".join(map(str, files)), "--outputs-dir", folder / "out")
        for k, feed in enumerate(case.too_much):
            done = run_engine(feed)
            if done.returncode != 1 or not any(word in done.stderr for word in ("need at most", "within", "no room")):
                return f"{mode}, beyond the limit, {k}: exit status {done.returncode}: {done.stderr.strip()}"
        before, step = None, 0
        while (feed := case.steps(before)) is not None:
            want = session.run(None, feed)
            done = run_engine(feed)
            if done.returncode != 0:
                return f"{mode}, step {step}: run: {done.stderr.strip()}"
            for i, answer in enumerate(want):
                tensor = onnx.TensorProto()
                tensor.ParseFromString((folder / f"out/out_{i}.pb").read_bytes())
                if tensor.name != case.net.graph.output[i].name:
                    return f"output {i} is called {tensor.name!r}, need {case.net.graph.output[i].name!r}"
                if wrong := compare(numpy_helper.to_array(tensor), answer):
                    return f"{mode}, step {step}, output {i}: {wrong}"
            before, step = want, step + 1
    return None


def main():
    failed = 0
    for make in CASES:
        if ONLY and make.__name__ not in ONLY:
            continue
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(make, Path(folder))
        print(f"{'FAIL' if wrong else 'ok  '} {make.__name__}{': ' + wrong if wrong else ''}")
        failed += wrong is not None
    return 1 if failed else 0


sys.exit(main())
