"""Blocks of PTX test cases: operands at random and at the edges of their types, and the files they are written to."""
import random
from fractions import Fraction
from pathlib import Path

from exact_floats import FORMATS, NAN, ONE, encode, infinity, mask

OUT = Path(__file__).resolve().parent / "ptx"
rng = random.Random(7)
blocks = []


def signed(x, bits):
    x &= mask(bits)
    return x - (1 << bits) if x >> (bits - 1) else x


EDGES = {
    16: [0, 1, 2, 3, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x00FF, 0x1234],
    32: [0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFF0000, 0x12345678],
    64: [0, 1, 2, 63, 64, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFF00000000, 0x123456789ABCDEF0],
}


def integers(bits, count, arity):
    edges = EDGES[bits]
    rows = [tuple(rng.choice(edges) for _ in range(arity)) for _ in range(count // 2)]
    return rows + [tuple(rng.getrandbits(bits) for _ in range(arity)) for _ in range(count - len(rows))]


def float_values(fmt):
    m, low, high, total = FORMATS[fmt]
    one = ONE[fmt]
    top = 1 << (total - 1)
    inf = infinity(1, fmt)
    return [0, top, one, one | top, one + 1, one - 1, 1, top | 1, (1 << m) - 1, 1 << m, inf - 1, inf, inf | top, NAN[fmt], one + (3 << (m - 1)), one + (1 << m),
            one - (1 << m), (one + (5 << (m - 1))) | top]


def floats(fmt, count, arity):
    total = FORMATS[fmt][3]
    near = lambda: encode(rng.choice((1, -1)), Fraction(rng.getrandbits(60), 1 << rng.randrange(40, 70)), fmt)
    rows = [tuple(rng.choice(float_values(fmt)) for _ in range(arity)) for _ in range(count // 2)]
    rows += [tuple(near() for _ in range(arity)) for _ in range(count // 4)]
    rows += [tuple(rng.getrandbits(total) for _ in range(arity)) for _ in range(count - len(rows))]
    return rows


def block(opcode, to, sources, rows, f, tolerance=None):
    lines = [f"op {opcode} | {to} | {' '.join(sources)}"]
    for row in dict.fromkeys(rows):
        result = f(*row)
        if result is None:
            continue
        lines.append(" ".join(f"{x:x}" for x in row) + " = " + (f"~{tolerance} " if tolerance else "") + f"{result:x}")
    blocks.append("\n".join(lines))


def write(name):
    global blocks
    OUT.mkdir(exist_ok=True)
    text = f"# {name}: made by make_ptx_cases.py from the definitions of the PTX ISA, in exact arithmetic.\n" + "\n".join(blocks) + "\n"
    (OUT / f"{name}.txt").write_text(text)
    blocks = []


INTS = [(s + str(b), b, s == "s") for b in (16, 32, 64) for s in "us"]


def value(x, bits, is_signed):
    return signed(x, bits) if is_signed else x & mask(bits)
