"""Seeded random lines of tables (table_line.py), by family: what a hand would not think of to combine.

Left out on purpose, where onnxruntime and we differ for a reason that a table's line states: transposed convolutions of a kernel
smaller than their stride with SAME, resizes by a scale that leave the size as it is, scales whose quotient ties by rounding.
"""
import random

SAME_OR_VALID = ("SAME_UPPER", "SAME_LOWER", "VALID")


class Draw(random.Random):
    def dims(self, count, low=1, high=6):
        return [self.randint(low, high) for _ in range(count)]

    def often(self, share):
        return self.random() < share

    def star(self):
        """Constant or not, for all inputs that share it."""
        return self.choice(("", "*"))

    def signed(self, axes, rank):
        """Some axes counted from the end."""
        return [a - rank if self.often(0.5) else a for a in axes]

    def axis(self, rank):
        return self.randrange(-rank, rank)

    def narrowed(self, shape):
        """A shape that broadcasts to the given one."""
        shape = [d if self.often(0.7) else 1 for d in shape]
        return shape[self.randint(0, len(shape)):] if self.often(0.4) else shape


def text(values):
    return ",".join(map(str, values))


def tensor(kind, shape, fill=""):
    return f"{kind}[{text(shape)}]{fill}"


def listed(kind, values, star=""):
    values = list(values)
    return f"{star}{kind}[{len(values)}]={text(values)}"


def window(r, n, kernel):
    """strides, dilations and padding as words."""
    words = []
    if r.often(0.7):
        words.append(f"strides=[{text(r.choice((1, 1, 2, 3)) for _ in range(n))}]")
    dilated = r.often(0.4)
    if dilated:
        words.append(f"dilations=[{text(r.choice((1, 1, 2)) for _ in range(n))}]")
    if r.often(0.5):
        words.append(f"pads=[{text(r.randint(0, min(2, k - 1)) for _ in range(2) for k in kernel)}]")
    elif not dilated and r.often(0.4):
        words.append(f"auto_pad={r.choice(SAME_OR_VALID)}")
    return words


def conv(r):
    n, groups = r.choice((1, 2, 2, 2, 3)), r.choice((1, 1, 2, 3, 8, 16))
    channels = r.choice((1, 2, 3, 4, 9, 16) if groups == 1 else (1, 1, 2))
    outputs = groups * r.choice((1, 2, 3, 5, 8, 17, 32) if groups == 1 else (1, 1, 2, 3))
    kernel = r.dims(n, 1, 4)
    words = window(r, n, kernel) + ([f"group={groups}"] if groups > 1 else [])
    head, star = " ".join(words), r.star()
    x = [r.choice((0, 1, 1, 2, 3)), channels * groups] + r.dims(n, 4, 12 if n < 3 else 6)
    w = [outputs, channels] + kernel
    kind = r.choice(("float", "float", "quantised", "integer"))
    if kind == "float":
        bias = f" {star}f32[{outputs}]" if r.often(0.5) else ""
        return f"Conv@{r.choice((11, 22))} {head} : {tensor('f32', x)} {star}{tensor('f32', w)}{bias}"
    if kind == "integer":
        w_type = r.choice(("u8", "s8"))
        return f"ConvInteger@10 {head} : {tensor('u8', x)} {star}{tensor(w_type, w)} u8[]" + (f" {w_type}[]" if r.often(0.5) else "")
    x_type, per_channel = r.choice(("u8", "s8")), r.often(0.5)
    scale = f"f32[{outputs}]~0.125..0.5" if per_channel else "f32[]=0.25"
    zero = f"s8[{outputs}]=0" if per_channel else "s8[]=0"
    bias = f" {star}s32[{outputs}]~-3000..3000" if r.often(0.5) else ""
    return (f"QLinearConv@10 {head} : {tensor(x_type, x)} f32[]=0.0625 {x_type}[] {star}{tensor('s8', w)} {star}{scale} {star}{zero} "
            f"f32[]={r.choice((0.25, 1, 2, 8))} {x_type}[]{bias}")


def conv_transpose(r):
    n, groups, channels, outputs = r.choice((1, 2, 2, 3)), r.choice((1, 1, 2, 4)), r.choice((1, 2, 5)), r.choice((1, 2, 3))
    strides = r.dims(n, 1, 3)
    kernel = [r.randint(s, 4) for s in strides]
    words = [f"strides=[{text(strides)}]", f"dilations=[{text(r.choice((1, 1, 2)) for _ in range(n))}]", f"group={groups}"]
    if r.often(0.4):
        words.append(f"pads=[{text(r.randint(0, 1) for _ in range(2 * n))}]")
    elif r.often(0.3):
        words.append(f"auto_pad={r.choice(SAME_OR_VALID)}")
    if r.often(0.4):
        words.append(f"output_padding=[{text(r.randint(0, s - 1) for s in strides)}]")
    star, bias = r.star(), r.often(0.5)
    x, w = [r.choice((1, 2)), channels * groups] + r.dims(n, 2, 6), [channels * groups, outputs] + kernel
    return (f"ConvTranspose@{r.choice((11, 22))} {' '.join(words)} : {tensor('f32', x)} {star}{tensor('f32', w)}" +
            (f" {star}f32[{outputs * groups}]" if bias else ""))


def pool(r):
    n, op = r.choice((1, 2, 2, 2, 3)), r.choice(("MaxPool", "AveragePool", "LpPool"))
    kernel = r.dims(n, 2, 4)
    words = [f"kernel_shape=[{text(kernel)}]"] + window(r, n, kernel) + (["ceil_mode=1"] if r.often(0.4) else [])
    kind, outputs = "f32", ""
    if op == "AveragePool":
        words.append(f"count_include_pad={r.choice((0, 1))}")
    if op == "LpPool":
        words.append(f"p={r.choice((1, 2, 3))}")
    if op == "MaxPool":
        kind = r.choice(("f32", "f32", "u8", "s8"))
        if r.often(0.4):
            words.append(f"storage_order={r.choice((0, 1))}")
            outputs = " -> 1 1"
    x = [r.choice((1, 2)), r.choice((1, 3, 16, 17))] + r.dims(n, 7, 12 if n < 3 else 8)
    return f"{op}@22 {' '.join(words)} : {tensor(kind, x)}{outputs}"


def matmul(r):
    m, k, n = (r.choice((1, 2, 3, 5, 16, 17, 33)) for _ in range(3))
    batch = r.dims(r.choice((0, 0, 1, 2, 3)), 1, 3)
    a, b = r.narrowed(batch) + [0 if r.often(0.02) else m, k], r.narrowed(batch) + [k, n]
    if r.often(0.1):
        a = [k]
    elif r.often(0.1):
        b = [k]
    star, kind = r.star(), r.choice(("f32", "f32", "s64", "integer", "quantised"))
    if kind in ("f32", "s64"):
        return f"MatMul@13 : {tensor(kind, a)} {star}{tensor(kind, b)}"
    a_type = r.choice(("u8", "s8"))
    if kind == "integer":
        b_type = r.choice(("u8", "s8"))
        return f"MatMulInteger@10 : {tensor(a_type, a)} {star}{tensor(b_type, b)} {a_type}[] {star}{b_type}[]"
    b_type = r.choice(("u8", "s8")) if a_type == "u8" else "s8"
    return (f"QLinearMatMul@{r.choice((10, 21))} : {tensor(a_type, a)} f32[]=0.0625 {a_type}[] {star}{tensor(b_type, b)} {star}f32[]=0.25 "
            f"{star}{b_type}[] f32[]={r.choice((0.5, 2, 8))} {a_type}[]")


def gemm(r):
    m, k, n = (r.choice((1, 2, 3, 5, 16, 17, 33)) for _ in range(3))
    turn_a, turn_b, star = r.choice((0, 1)), r.choice((0, 1)), r.star()
    words = [f"transA={turn_a}", f"transB={turn_b}", f"alpha={r.choice((1, 1, 0.5, -2))}", f"beta={r.choice((1, 1, 0.5, 0))}"]
    c = r.choice((None, (), (n,), (1,), (1, n), (m, 1), (m, n), (1, 1)))
    return (f"Gemm@13 {' '.join(words)} : {tensor('f32', [k, m] if turn_a else [m, k])} {star}{tensor('f32', [n, k] if turn_b else [k, n])}" +
            ("" if c is None else f" {star}{tensor('f32', c)}"))


def pad(r):
    rank, mode, kind = r.randint(1, 5), r.choice(("constant", "constant", "reflect", "edge", "wrap")), r.choice(("f32", "f32", "s64", "u8"))
    x, low = r.dims(rank, 1, 6), -1 if r.often(0.3) else 0
    value = f"{kind}[]=3" if mode == "constant" and r.often(0.5) else "-"
    axes = r.sample(range(rank), r.randint(1, rank))
    pads = listed("s64", r.dims(2 * len(axes), low, 3), r.star())
    return f"Pad@19 mode={mode} : {tensor(kind, x)} {pads} {value} {listed('s64', r.signed(axes, rank))}"


def slice_line(r):
    rank = r.randint(1, 6)
    x, axes, star = r.dims(rank, 0 if r.often(0.1) else 1, 7), r.sample(range(rank), r.randint(1, rank)), r.star()
    steps = [r.choice((1, 1, 2, 3, -1, -2, -5)) for _ in axes]
    ends = [r.choice((*range(-9, 10), "max" if step > 0 else "min")) for step in steps]
    kind = r.choice(("f32", "s64", "u8", "f16", "bool"))
    return (f"Slice@13 : {tensor(kind, x)} {listed('s64', r.dims(len(axes), -8, 8), star)} {listed('s64', ends, star)} "
            f"{listed('s64', r.signed(axes, rank), star)} {listed('s64', steps, star)}")


def gather(r):
    rank = r.randint(1, 5)
    x, axis, star = r.dims(rank, 1, 5), r.axis(rank), r.star()
    dim, kind, index = x[axis], r.choice(("f32", "s64", "u8", "f64", "bool")), r.choice(("s32", "s64"))
    which = r.choice(("Gather", "GatherElements", "GatherND"))
    if which == "Gather":
        places = r.dims(r.randint(0, 3), 0 if r.often(0.1) else 1, 4)
        return f"Gather@13 axis={axis} : {tensor(kind, x)} {star}{tensor(index, places, f'~{-dim}..{dim - 1}')}"
    if which == "GatherElements":
        places = [r.randint(1, d) for d in x]
        places[axis] = r.randint(1, 6)
        return f"GatherElements@13 axis={axis} : {tensor(kind, x)} {star}{tensor(index, places, f'~{-dim}..{dim - 1}')}"
    batch = r.randint(0, rank - 1)
    depth = r.randint(1, rank - batch)
    least = min(x[batch:batch + depth])
    places = x[:batch] + r.dims(r.randint(0, 2), 1, 3) + [depth]
    return f"GatherND@13 batch_dims={batch} : {tensor(kind, x)} {star}{tensor('s64', places, f'~{-least}..{least - 1}')}"


def scatter(r):
    rank = r.randint(1, 4)
    x, axis, kind = r.dims(rank, 1, 5), r.axis(rank), r.choice(("f32", "f32", "s64", "f64", "s32"))
    reduction = r.choice(("none", "add", "mul", "max", "min"))
    if r.often(0.5):
        places = [r.randint(1, d) for d in x]
        fill = f"~distinct({x[axis]},{axis})" if reduction == "none" else f"~{-x[axis]}..{x[axis] - 1}"
        return f"ScatterElements@18 axis={axis} reduction={reduction} : {tensor(kind, x)} {tensor('s64', places, fill)} {tensor(kind, places)}"
    depth = r.randint(1, rank)
    least, count = min(x[:depth]), 1 if reduction == "none" else r.randint(1, 3)
    return (f"ScatterND@18 reduction={reduction} : {tensor(kind, x)} {tensor('s64', [count, depth], f'~{-least}..{least - 1}')} "
            f"{tensor(kind, [count] + x[depth:])}")


def reduce_line(r):
    rank = r.randint(1, 6)
    x, axes = r.dims(rank, 1, 5 if rank < 5 else 3), r.sample(range(rank), r.randint(1, rank))
    if r.often(0.1):
        rank, x, axes = 2, [r.choice((1, 3, 64, 300)), r.choice((1, 5, 64, 300))], [r.choice((0, 1))]
    op = r.choice(("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"))
    kind = r.choice(("f32", "f32", "f64", "s32")) if op in ("Sum", "Max", "Min", "SumSquare", "L1") else "f32"
    fill = "~1..2" if op in ("LogSum", "Prod") else ""
    return f"Reduce{op}@18 keepdims={r.choice((0, 1))} : {tensor(kind, x, fill)} {listed('s64', r.signed(axes, rank), r.star())}"


def softmax(r):
    rank = r.randint(1, 5)
    x = r.dims(rank, 1, 6)
    if r.often(0.2):
        x[-1] = r.choice((31, 64, 100, 257))
    return f"{r.choice(('Softmax', 'LogSoftmax', 'Hardmax'))}@{r.choice((11, 13))} axis={r.axis(rank)} : {tensor('f32', x)}"


def recurrent(r):
    op = r.choice(("LSTM", "GRU", "RNN"))
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    steps, batch, width, hidden = r.randint(1, 5), r.randint(1, 4), r.randint(1, 7), r.randint(1, 9)
    direction = r.choice(("forward", "reverse", "bidirectional"))
    ways, star = 2 if direction == "bidirectional" else 1, r.star()
    words = [f"hidden_size={hidden}", f"direction={direction}"]
    if op == "GRU":
        words.append(f"linear_before_reset={r.choice((0, 1))}")
    if r.often(0.2):
        words.append("clip=0.5")

    def small(shape, share=1.0, star=""):
        return star + tensor("f32", shape, "~-1..1") if r.often(share) else "-"
    inputs = [small([steps, batch, width]), small([ways, gates * hidden, width], star=star), small([ways, gates * hidden, hidden], star=star),
              small([ways, 2 * gates * hidden], 0.7, star), f"s32[{batch}]~1..{steps}" if r.often(0.5) else "-", small([ways, batch, hidden], 0.5)]
    if op == "LSTM":
        inputs += [small([ways, batch, hidden], 0.5), small([ways, 3 * hidden], 0.3, star)]
    while inputs[-1] == "-":
        inputs.pop()
    return f"{op}@14 {' '.join(words)} : {' '.join(inputs)} -> {'1 1 1' if op == 'LSTM' else '1 1'}"


def quantize(r):
    rank, kind, star = r.randint(0, 5), r.choice(("u8", "s8", "u16", "s16")), r.star()
    x, scales, words = r.dims(rank, 1, 6), [], ""
    if rank and r.often(0.6):
        axis = r.axis(rank)
        scales, words = [x[axis]], f" axis={axis}"
        if r.often(0.4):
            block = r.randint(2, 4)
            scales, words = list(x), f" axis={axis} block_size={block}"
            scales[axis] = -(-x[axis] // block)
    scale = star + tensor("f32", scales, "~0.125..2")
    if r.often(0.5):
        return f"QuantizeLinear@21{words} : {tensor('f32', x)} {scale} {star}{tensor(kind, scales)}"
    return f"DequantizeLinear@21{words} : {tensor(kind, x)} {scale}" + (f" {star}{tensor(kind, scales)}" if r.often(0.7) else "")


def binary(r):
    shape = r.dims(r.randint(0, 6), 1, 4)
    op = r.choice(("Add@14", "Sub@14", "Mul@14", "Div@14", "Less@13", "Equal@13", "GreaterOrEqual@16", "Pow@15", "PRelu@16"))
    kind = "f32" if op in ("Pow@15", "PRelu@16") else r.choice(("f32", "f32", "s64", "s32"))
    a, b = shape if op == "PRelu@16" else r.narrowed(shape), r.narrowed(shape)
    low_a, low_b = ("~1..3", "~-2..2") if op == "Pow@15" else ("", "~1..9" if op == "Div@14" else "")
    return f"{op} : {tensor(kind, a, low_a)} {r.star()}{tensor(kind, b, low_b)}"


def shape_line(r):
    rank = r.randint(1, 6)
    x, axis, kind = r.dims(rank, 1, 5), r.axis(rank), r.choice(("f32", "s64", "u8"))
    which = r.choice(("Transpose", "Tile", "Expand", "Concat", "Split", "CumSum", "TopK"))
    if which == "Transpose":
        return f"Transpose@13 perm=[{text(r.sample(range(rank), rank))}] : {tensor(kind, x)}"
    if which == "Tile":
        return f"Tile@13 : {tensor(kind, x[:4])} {listed('s64', r.dims(min(rank, 4), 0 if r.often(0.1) else 1, 3), '*')}"
    if which == "Expand":
        return f"Expand@13 : {tensor(kind, r.narrowed(x))} {listed('s64', x, '*')}"
    if which == "CumSum":
        return f"CumSum@14 exclusive={r.choice((0, 1))} reverse={r.choice((0, 1))} : {tensor('f32', x)} s64[]={axis}"
    if which == "TopK":
        return f"TopK@11 axis={axis} largest={r.choice((0, 1))} : {tensor('f32', x)} *s64[1]={r.randint(1, x[axis])} -> 1 1"
    parts = r.dims(r.randint(1, 4), 0 if r.often(0.1) else 1, 4)
    if which == "Concat":
        shapes = [[part if d == axis % rank else size for d, size in enumerate(x)] for part in parts]
        return f"Concat@13 axis={axis} : {' '.join(tensor(kind, shape) for shape in shapes)}"
    x[axis] = sum(parts)
    return f"Split@13 axis={axis} : {tensor(kind, x)} {listed('s64', parts, '*')} -> {' '.join('1' for _ in parts)}"


FAMILIES = {"conv": conv, "conv_transpose": conv_transpose, "pool": pool, "matmul": matmul, "gemm": gemm, "pad": pad, "slice": slice_line,
            "gather": gather, "scatter": scatter, "reduce": reduce_line, "softmax": softmax, "recurrent": recurrent, "quantize": quantize,
            "binary": binary, "shape": shape_line}


def random_lines(family, seed, count):
    draw = Draw(f"{family} {seed}")
    return [" ".join(FAMILIES[family](draw).split()) for _ in range(count)]
