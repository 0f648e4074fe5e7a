#!/usr/bin/env python3
"""Writes tests/cases/ptx/*.txt: PTX instructions with operands and results, from the PTX ISA's definitions in exact arithmetic.

    make_ptx_cases.py         results come from Python's integers and fractions; nothing of the interpreter is used

A block is `op <opcode> | <destination> | <sources>` and lines `<operands in hex> = <result>`; `~n` before a result allows n units in the
last place. Types of operands: b16 b32 b64 pred, and an immediate as `#value`.
"""
import math
from fractions import Fraction

from exact_floats import FORMATS, NAN, ONE, decode, encode, f_add, f_div, f_fma, f_minmax, f_mul, f_sqrt, ftz, infinity, is_nan, mask, neg, real, round_int, sat
from ptx_cases import EDGES, INTS, block, float_values, floats, integers, rng, signed, value, write


def trunc_div(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def clamp_s32(x):
    return max(-(1 << 31), min((1 << 31) - 1, x)) & mask(32)


def integer_cases():
    for t, b, s in INTS:
        v = lambda x, b=b, s=s: value(x, b, s)
        m = mask(b)
        two, one, three = [f"b{b}"] * 2, [f"b{b}"], [f"b{b}"] * 3
        rows = integers(b, 24, 2)
        block(f"add.{t}", f"b{b}", two, rows, lambda x, y: (x + y) & m)
        block(f"sub.{t}", f"b{b}", two, rows, lambda x, y: (x - y) & m)
        block(f"mul.lo.{t}", f"b{b}", two, rows, lambda x, y: (x * y) & m)
        block(f"mul.hi.{t}", f"b{b}", two, rows, lambda x, y: (v(x) * v(y)) >> b & m)
        block(f"div.{t}", f"b{b}", two, rows, lambda x, y: trunc_div(v(x), v(y)) & m if v(y) else None)
        block(f"rem.{t}", f"b{b}", two, rows, lambda x, y: (v(x) - trunc_div(v(x), v(y)) * v(y)) & m if v(y) else None)
        block(f"min.{t}", f"b{b}", two, rows, lambda x, y: min(v(x), v(y)) & m)
        block(f"max.{t}", f"b{b}", two, rows, lambda x, y: max(v(x), v(y)) & m)
        rows = integers(b, 24, 3)
        block(f"mad.lo.{t}", f"b{b}", three, rows, lambda x, y, z: (x * y + z) & m)
        block(f"mad.hi.{t}", f"b{b}", three, rows, lambda x, y, z: ((v(x) * v(y) >> b) + z) & m)
        block(f"sad.{t}", f"b{b}", three, rows, lambda x, y, z: (z + abs(v(x) - v(y))) & m)
        if b < 64:
            w = mask(2 * b)
            block(f"mul.wide.{t}", f"b{2 * b}", two, integers(b, 20, 2), lambda x, y: (v(x) * v(y)) & w)
            rows = [r[:2] + (rng.getrandbits(2 * b),) for r in integers(b, 20, 3)]
            block(f"mad.wide.{t}", f"b{2 * b}", [f"b{b}", f"b{b}", f"b{2 * b}"], rows, lambda x, y, z: (v(x) * v(y) + z) & w)
        if s:
            block(f"abs.{t}", f"b{b}", one, integers(b, 12, 1), lambda x: abs(v(x)) & m)
            block(f"neg.{t}", f"b{b}", one, integers(b, 12, 1), lambda x: -v(x) & m)
    pairs = integers(32, 24, 2)
    v = lambda x: signed(x, 32)
    two, three = ["b32"] * 2, ["b32"] * 3
    block("add.sat.s32", "b32", two, pairs, lambda x, y: clamp_s32(v(x) + v(y)))
    block("sub.sat.s32", "b32", two, pairs, lambda x, y: clamp_s32(v(x) - v(y)))
    block("mad.hi.sat.s32", "b32", three, integers(32, 24, 3), lambda x, y, z: clamp_s32((v(x) * v(y) >> 32) + v(z)))
    block("min.relu.s32", "b32", two, pairs, lambda x, y: max(0, min(v(x), v(y))))
    block("max.relu.s32", "b32", two, pairs, lambda x, y: max(0, v(x), v(y)))
    for t, s in (("u32", False), ("s32", True)):
        low = lambda x, s=s: value(x, 24, s)
        for part, shift in (("lo", 0), ("hi", 16)):
            block(f"mul24.{part}.{t}", "b32", two, pairs, lambda x, y: (low(x) * low(y)) >> shift & mask(32))
            block(f"mad24.{part}.{t}", "b32", three, integers(32, 16, 3), lambda x, y, z: (((low(x) * low(y)) >> shift & mask(32)) + z) & mask(32))
    for op, f in (("add", lambda x, y: x + y), ("min", min), ("max", max)):
        for t, s in (("u16x2", False), ("s16x2", True)):
            h = lambda x, k, s=s: value(x >> 16 * k, 16, s)
            block(f"{op}.{t}", "b32", two, pairs, lambda x, y: sum((f(h(x, k), h(y, k)) & 0xFFFF) << 16 * k for k in (0, 1)))
    for op, f in (("min", min), ("max", max)):
        h = lambda x, k: signed(x >> 16 * k, 16)
        block(f"{op}.relu.s16x2", "b32", two, pairs, lambda x, y: sum(max(0, f(h(x, k), h(y, k))) << 16 * k for k in (0, 1)))
    for a in ("u32", "s32"):
        for b in ("u32", "s32"):
            part = lambda x, k, w, t: value(x >> w * k, w, t == "s32")
            block(f"dp4a.{a}.{b}", "b32", three, integers(32, 16, 3),
                  lambda x, y, z: (z + sum(part(x, k, 8, a) * part(y, k, 8, b) for k in range(4))) & mask(32))
            for half, at in (("lo", 0), ("hi", 2)):
                block(f"dp2a.{half}.{a}.{b}", "b32", three, integers(32, 12, 3),
                      lambda x, y, z: (z + sum(part(x, k, 16, a) * part(y, k + at, 8, b) for k in range(2))) & mask(32))
    write("integer")


def bit_cases():
    for b in (16, 32, 64):
        m = mask(b)
        for op, f in (("and", lambda x, y: x & y), ("or", lambda x, y: x | y), ("xor", lambda x, y: x ^ y)):
            block(f"{op}.b{b}", f"b{b}", [f"b{b}"] * 2, integers(b, 10, 2), f)
        block(f"not.b{b}", f"b{b}", [f"b{b}"], integers(b, 8, 1), lambda x: ~x & m)
        block(f"cnot.b{b}", f"b{b}", [f"b{b}"], integers(b, 10, 1), lambda x: int(x == 0))
        block(f"mov.b{b}", f"b{b}", [f"b{b}"], integers(b, 6, 1), lambda x: x)
        rows = [(rng.choice(EDGES[b]), rng.choice((0, 1, 7, b - 1, b, b + 1, 255, 0xFFFFFFFF))) for _ in range(24)]
        block(f"shl.b{b}", f"b{b}", [f"b{b}", "b32"], rows, lambda x, n: 0 if n >= b else x << n & m)
        block(f"shr.u{b}", f"b{b}", [f"b{b}", "b32"], rows, lambda x, n: 0 if n >= b else x >> n)
        block(f"shr.b{b}", f"b{b}", [f"b{b}", "b32"], rows, lambda x, n: 0 if n >= b else x >> n)
        block(f"shr.s{b}", f"b{b}", [f"b{b}", "b32"], rows, lambda x, n: signed(x, b) >> min(n, b) & m)
        if b == 16:
            continue
        block(f"popc.b{b}", "b32", [f"b{b}"], integers(b, 12, 1), lambda x: bin(x).count("1"))
        block(f"clz.b{b}", "b32", [f"b{b}"], integers(b, 14, 1), lambda x: b - x.bit_length())
        block(f"brev.b{b}", f"b{b}", [f"b{b}"], integers(b, 10, 1), lambda x: int(f"{x:0{b}b}"[::-1], 2))
        for t, s in ((f"u{b}", False), (f"s{b}", True)):
            high = lambda x, s=s: (~x & m if s and x >> (b - 1) else x).bit_length() - 1
            block(f"bfind.{t}", "b32", [f"b{b}"], integers(b, 14, 1), lambda x: high(x) & mask(32))
            block(f"bfind.shiftamt.{t}", "b32", [f"b{b}"], integers(b, 14, 1), lambda x: (b - 1 - high(x)) & mask(32) if high(x) >= 0 else mask(32))

            def bfe(x, pos, length, s=s):
                pos, length = pos & 255, length & 255
                sign = 0 if not s or length == 0 else x >> min(pos + length - 1, b - 1) & 1
                r = 0
                for k in range(b):
                    r |= ((x >> (pos + k) & 1) if k < length and pos + k < b else sign) << k
                return r

            rows = [(rng.getrandbits(b), rng.choice((0, 1, 5, b - 3, b - 1, b, 255)), rng.choice((0, 1, 4, b - 2, b, 255))) for _ in range(32)]
            block(f"bfe.{t}", f"b{b}", [f"b{b}", "b32", "b32"], rows, bfe)

        def bfi(x, y, pos, length):
            pos, length = pos & 255, length & 255
            r = y
            for k in range(length):
                if pos + k < b:
                    r = r & ~(1 << (pos + k)) | (x >> k & 1) << (pos + k)
            return r

        rows = [(rng.getrandbits(b), rng.getrandbits(b), rng.choice((0, 1, 5, b - 3, b - 1, b)), rng.choice((0, 1, 4, b - 2, b, 255))) for _ in range(32)]
        block(f"bfi.b{b}", f"b{b}", [f"b{b}", f"b{b}", "b32", "b32"], rows, bfi)
    rows = integers(32, 6, 3)
    for table in (0x00, 0x96, 0xE8, 0xF8, 0xCA, 0x1B, 0xFF):
        f = lambda a, b, c: sum(((table >> ((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1))) & 1) << k for k in range(32))
        block("lop3.b32", "b32", ["b32"] * 3 + [f"#{table}"], rows, f)
    rows = [(rng.getrandbits(32), rng.getrandbits(32), n) for n in (0, 1, 8, 31, 32, 33, 63, 0xFFFFFFFF)]
    for mode, count in (("wrap", lambda n: n & 31), ("clamp", lambda n: min(n, 32))):
        block(f"shf.l.{mode}.b32", "b32", ["b32"] * 3, rows, lambda lo, hi, n: ((hi << 32 | lo) << count(n)) >> 32 & mask(32))
        block(f"shf.r.{mode}.b32", "b32", ["b32"] * 3, rows, lambda lo, hi, n: (hi << 32 | lo) >> count(n) & mask(32))

    def prmt(a, b, sel):
        r = 0
        for k in range(4):
            s = sel >> 4 * k & 15
            byte = (b << 32 | a) >> 8 * (s & 7) & 255
            r |= ((255 if byte & 128 else 0) if s & 8 else byte) << 8 * k
        return r

    rows = [(rng.getrandbits(32), rng.getrandbits(32), s) for s in (0x3210, 0x7654, 0x0123, 0xBA98, 0x5410, 0xFEDC, 0x8888, 0x6240)]
    block("prmt.b32", "b32", ["b32"] * 3, rows, prmt)
    modes = {"f4e": (0x3210, 0x4321, 0x5432, 0x6543), "b4e": (0x5670, 0x6701, 0x7012, 0x0123), "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
             "ecl": (0x3210, 0x3211, 0x3222, 0x3333), "ecr": (0x0000, 0x1110, 0x2210, 0x3210), "rc16": (0x1010, 0x3232, 0x1010, 0x3232)}
    for mode, table in modes.items():
        block(f"prmt.b32.{mode}", "b32", ["b32"] * 3, [(0x33221100, 0x77665544, n) for n in range(5)], lambda a, b, n: prmt(a, b, table[n & 3]))
    rows = [(p, n) for p in (0, 3, 31, 32, 40) for n in (0, 1, 8, 31, 32, 36)]
    block("bmsk.clamp.b32", "b32", ["b32"] * 2, rows, lambda p, n: mask(min(n, 32)) << p & mask(32) if p < 32 else 0)
    block("bmsk.wrap.b32", "b32", ["b32"] * 2, rows, lambda p, n: mask(n & 31) << (p & 31) & mask(32))
    for op, f in (("and", lambda p, q: p & q), ("or", lambda p, q: p | q), ("xor", lambda p, q: p ^ q)):
        block(f"{op}.pred", "pred", ["pred", "pred"], [(p, q) for p in (0, 1) for q in (0, 1)], f)
    block("not.pred", "pred", ["pred"], [(0,), (1,)], lambda p: 1 - p)
    block("mov.pred", "pred", ["pred"], [(0,), (1,)], lambda p: p)
    for b in (16, 32, 64):
        block(f"selp.b{b}", f"b{b}", [f"b{b}", f"b{b}", "pred"], [(rng.getrandbits(b), rng.getrandbits(b), p) for p in (0, 1, 1, 0)], lambda x, y, p: x if p else y)
        block(f"slct.b{b}.s32", f"b{b}", [f"b{b}", f"b{b}", "b32"], [(rng.getrandbits(b), rng.getrandbits(b), c) for c in EDGES[32]],
              lambda x, y, c: x if signed(c, 32) >= 0 else y)
        block(f"slct.b{b}.f32", f"b{b}", [f"b{b}", f"b{b}", "b32"], [(rng.getrandbits(b), rng.getrandbits(b), c) for c in float_values("f32")],
              lambda x, y, c: x if not is_nan(c, "f32") and (c >> 31 == 0 or c == 0x80000000) else y)
    write("bits")


def float_cases():
    for fmt, b in (("f32", "b32"), ("f64", "b64")):
        for mode in ("rn", "rz", "rm", "rp"):
            two = floats(fmt, 48, 2)
            block(f"add.{mode}.{fmt}", b, [b, b], two, lambda x, y: f_add(x, y, fmt, mode))
            block(f"sub.{mode}.{fmt}", b, [b, b], two, lambda x, y: f_add(x, neg(y, fmt), fmt, mode) if not is_nan(y, fmt) else NAN[fmt])
            block(f"mul.{mode}.{fmt}", b, [b, b], two, lambda x, y: f_mul(x, y, fmt, mode))
            block(f"div.{mode}.{fmt}", b, [b, b], two, lambda x, y: f_div(x, y, fmt, mode))
            block(f"fma.{mode}.{fmt}", b, [b, b, b], floats(fmt, 64, 3), lambda x, y, z: f_fma(x, y, z, fmt, mode))
            block(f"rcp.{mode}.{fmt}", b, [b], floats(fmt, 32, 1), lambda x: f_div(ONE[fmt], x, fmt, mode))
            block(f"sqrt.{mode}.{fmt}", b, [b], floats(fmt, 32, 1), lambda x: f_sqrt(x, fmt, mode))
        block(f"add.{fmt}", b, [b, b], floats(fmt, 24, 2), lambda x, y: f_add(x, y, fmt))
        block(f"mad.rn.{fmt}", b, [b, b, b], floats(fmt, 24, 3), lambda x, y, z: f_fma(x, y, z, fmt))
        two = floats(fmt, 40, 2)
        block(f"min.{fmt}", b, [b, b], two, lambda x, y: f_minmax(x, y, fmt, False))
        block(f"max.{fmt}", b, [b, b], two, lambda x, y: f_minmax(x, y, fmt, True))
        top = 1 << (FORMATS[fmt][3] - 1)
        block(f"abs.{fmt}", b, [b], floats(fmt, 24, 1), lambda x: x & ~top if not is_nan(x, fmt) else None)
        block(f"neg.{fmt}", b, [b], floats(fmt, 24, 1), lambda x: x ^ top if not is_nan(x, fmt) else None)
        block(f"copysign.{fmt}", b, [b, b], floats(fmt, 24, 2), lambda s, x: (x & ~top) | (s & top))

        def kind(x):
            d = decode(x, fmt)
            return d[0] if d[0] != "num" else "zero" if d[2] == 0 else "sub" if d[2] < Fraction(2) ** FORMATS[fmt][1] else "normal"

        for name, kinds in (("finite", ("zero", "sub", "normal")), ("infinite", ("inf",)), ("number", ("zero", "sub", "normal", "inf")), ("notanumber", ("nan",)),
                            ("normal", ("normal",)), ("subnormal", ("sub",))):
            block(f"testp.{name}.{fmt}", "pred", [b], [(x,) for x in float_values(fmt)], lambda x: int(kind(x) in kinds))
    fmt = "f32"
    z = lambda x: ftz(x, fmt)
    two, three = floats(fmt, 48, 2), floats(fmt, 48, 3)
    b = "b32"
    block("add.ftz.f32", b, [b, b], two, lambda x, y: z(f_add(z(x), z(y), fmt)))
    block("add.rn.ftz.sat.f32", b, [b, b], two, lambda x, y: sat(z(f_add(z(x), z(y), fmt)), fmt))
    block("add.rz.sat.f32", b, [b, b], two, lambda x, y: sat(f_add(x, y, fmt, "rz"), fmt))
    block("mul.ftz.f32", b, [b, b], two, lambda x, y: z(f_mul(z(x), z(y), fmt)))
    block("mul.sat.f32", b, [b, b], two, lambda x, y: sat(f_mul(x, y, fmt), fmt))
    block("mul.rp.ftz.f32", b, [b, b], two, lambda x, y: z(f_mul(z(x), z(y), fmt, "rp")))
    block("fma.rn.ftz.f32", b, [b, b, b], three, lambda x, y, w: z(f_fma(z(x), z(y), z(w), fmt)))
    block("fma.rn.sat.f32", b, [b, b, b], three, lambda x, y, w: sat(f_fma(x, y, w, fmt), fmt))
    block("min.NaN.f32", b, [b, b], two, lambda x, y: f_minmax(x, y, fmt, False, True))
    block("max.NaN.f32", b, [b, b], two, lambda x, y: f_minmax(x, y, fmt, True, True))
    block("min.ftz.f32", b, [b, b], two, lambda x, y: f_minmax(z(x), z(y), fmt, False))
    block("max.xorsign.abs.f32", b, [b, b], two, lambda x, y: f_minmax(x, y, fmt, True, False, True) if not is_nan(x, fmt) and not is_nan(y, fmt) else None)
    block("min.xorsign.abs.f32", b, [b, b], two, lambda x, y: f_minmax(x, y, fmt, False, False, True) if not is_nan(x, fmt) and not is_nan(y, fmt) else None)
    block("abs.ftz.f32", b, [b], floats(fmt, 16, 1), lambda x: z(x) & mask(31) if not is_nan(x, fmt) else None)
    # Approximations, against the exact value.
    unit = lambda low, high: [(encode(rng.choice((1, -1)) if low < 0 else 1, Fraction(rng.uniform(max(low, 0) + 1e-3, high)), fmt),) for _ in range(24)]
    f = lambda g: lambda x: encode(-1 if g(float(real(x, fmt))) < 0 else 1, abs(Fraction(g(float(real(x, fmt))))), fmt)
    block("ex2.approx.f32", b, [b], unit(-1, 20) + [(0,), (0x3F800000,), (0xC0400000,)], f(lambda x: 2.0 ** x), 2)
    block("ex2.approx.ftz.f32", b, [b], unit(-1, 20), f(lambda x: 2.0 ** x), 2)
    block("lg2.approx.f32", b, [b], unit(1, 1000), f(math.log2), 2)
    block("sin.approx.f32", b, [b], unit(-1, 3), f(math.sin), 2)
    block("cos.approx.f32", b, [b], unit(-1, 1), f(math.cos), 2)
    block("tanh.approx.f32", b, [b], unit(-1, 4), f(math.tanh), 2)
    block("rcp.approx.f32", b, [b], unit(-1, 100), f(lambda x: 1 / x), 2)
    block("rcp.approx.ftz.f32", b, [b], unit(-1, 100), f(lambda x: 1 / x), 2)
    block("sqrt.approx.f32", b, [b], unit(1, 100), f(math.sqrt), 2)
    block("rsqrt.approx.f32", b, [b], unit(1, 100), f(lambda x: 1 / math.sqrt(x)), 2)
    rows = [(unit(-1, 50)[0][0], unit(-1, 50)[0][0]) for _ in range(16)]
    for name in ("approx", "full", "approx.ftz", "full.ftz"):
        block(f"div.{name}.f32", b, [b, b], rows, lambda x, y: f_div(x, y, fmt), 2)
    upper = lambda bits: bits & 0xFFFFFFFF00000000
    doubles = [(encode(1, Fraction(rng.uniform(0.01, 900)), "f64"),) for _ in range(8)]
    block("rcp.approx.ftz.f64", "b64", ["b64"], doubles, lambda x: upper(f_div(ONE["f64"], x, "f64")))
    block("rsqrt.approx.f64", "b64", ["b64"], doubles, lambda x: upper(f_div(ONE["f64"], f_sqrt(x, "f64"), "f64")), 1 << 33)
    write("float")


def half_cases():
    for fmt in ("f16", "bf16"):
        ops = {
            "add": (2, lambda x, y: f_add(x, y, fmt)), "sub": (2, lambda x, y: f_add(x, neg(y, fmt), fmt) if not is_nan(y, fmt) else NAN[fmt]),
            "mul": (2, lambda x, y: f_mul(x, y, fmt)), "fma.rn": (3, lambda x, y, w: f_fma(x, y, w, fmt)),
            "min": (2, lambda x, y: f_minmax(x, y, fmt, False)), "max": (2, lambda x, y: f_minmax(x, y, fmt, True)),
            "min.NaN": (2, lambda x, y: f_minmax(x, y, fmt, False, True)), "max.NaN": (2, lambda x, y: f_minmax(x, y, fmt, True, True)),
            "fma.rn.relu": (3, lambda x, y, w: (lambda r: 0 if r >> 15 and r != 0x8000 and not is_nan(r, fmt) else r)(f_fma(x, y, w, fmt))),
        }
        if fmt == "f16":
            z = lambda x: ftz(x, fmt)
            ops |= {"add.ftz": (2, lambda x, y: z(f_add(z(x), z(y), fmt))), "mul.sat": (2, lambda x, y: sat(f_mul(x, y, fmt), fmt)),
                    "fma.rn.ftz": (3, lambda x, y, w: z(f_fma(z(x), z(y), z(w), fmt))), "fma.rn.sat": (3, lambda x, y, w: sat(f_fma(x, y, w, fmt), fmt))}
        for op, (arity, f) in ops.items():
            rows = floats(fmt, 64, arity)
            if op == "fma.rn.relu":
                rows = [r for r in rows if f_fma(*r, fmt) != 0x8000]
            block(f"{op}.{fmt}", "b16", ["b16"] * arity, rows, f)
            pairs = [tuple(x << 16 | y for x, y in zip(rows[rng.randrange(len(rows))], rows[rng.randrange(len(rows))])) for _ in range(24)]
            block(f"{op}.{fmt}x2", "b32", ["b32"] * arity, pairs, lambda *r: f(*[x >> 16 for x in r]) << 16 | f(*[x & 0xFFFF for x in r]))
        block(f"neg.{fmt}", "b16", ["b16"], floats(fmt, 12, 1), lambda x: x ^ 0x8000)
        block(f"abs.{fmt}", "b16", ["b16"], floats(fmt, 12, 1), lambda x: x & 0x7FFF)
        block(f"neg.{fmt}x2", "b32", ["b32"], [(rng.getrandbits(32),) for _ in range(6)], lambda x: x ^ 0x80008000)
        block(f"abs.{fmt}x2", "b32", ["b32"], [(rng.getrandbits(32),) for _ in range(6)], lambda x: x & 0x7FFF7FFF)
        near = [(encode(rng.choice((1, -1)), Fraction(rng.uniform(0.01, 6)), fmt),) for _ in range(16)]
        f = lambda g: lambda x: encode(-1 if g(float(real(x, fmt))) < 0 else 1, abs(Fraction(g(float(real(x, fmt))))), fmt)
        block(f"ex2.approx{'' if fmt == 'f16' else '.ftz'}.{fmt}", "b16", ["b16"], near, f(lambda x: 2.0 ** x), 1)
        block(f"tanh.approx.{fmt}", "b16", ["b16"], near, f(math.tanh), 1)
    write("half")


COMPARE = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def compare_cases():
    for t, b, s in INTS:
        for op, f in COMPARE.items():
            block(f"setp.{op}.{t}", "pred", [f"b{b}"] * 2, integers(b, 14, 2), lambda x, y: int(f(value(x, b, s), value(y, b, s))))
        if not s:
            for op, same in UNSIGNED.items():
                block(f"setp.{op}.{t}", "pred", [f"b{b}"] * 2, integers(b, 10, 2), lambda x, y: int(COMPARE[same](x, y)))
    number = lambda x, fmt: {"inf": lambda d: Fraction(10) ** 400 * d[1], "num": lambda d: d[1] * d[2]}[decode(x, fmt)[0]](decode(x, fmt))
    for fmt, b in (("f16", "b16"), ("bf16", "b16"), ("f32", "b32"), ("f64", "b64")):
        for op, f in COMPARE.items():
            for name, unordered in ((op, 0), (op + "u", 1)):
                block(f"setp.{name}.{fmt}", "pred", [b, b], floats(fmt, 24, 2),
                      lambda x, y: unordered if is_nan(x, fmt) or is_nan(y, fmt) else int(f(number(x, fmt), number(y, fmt))))
        block(f"setp.num.{fmt}", "pred", [b, b], floats(fmt, 16, 2), lambda x, y: int(not (is_nan(x, fmt) or is_nan(y, fmt))))
        block(f"setp.nan.{fmt}", "pred", [b, b], floats(fmt, 16, 2), lambda x, y: int(is_nan(x, fmt) or is_nan(y, fmt)))
    joined = {"and": lambda p, c: p & c, "or": lambda p, c: p | c, "xor": lambda p, c: p ^ c}
    for join, g in joined.items():
        rows = [(x, y, c) for x in (1, 2) for y in (1, 2) for c in (0, 1)]
        block(f"setp.lt.{join}.u32", "pred", ["b32", "b32", "pred"], rows, lambda x, y, c: g(int(x < y), c))
        block(f"set.lt.{join}.u32.u32", "b32", ["b32", "b32", "pred"], rows, lambda x, y, c: mask(32) if g(int(x < y), c) else 0)
    block("setp.lt.ftz.f32", "pred", ["b32", "b32"], [(1, 2), (0x80000001, 1), (0x3F800000, 0x40000000)],
          lambda x, y: int(real(ftz(x, "f32"), "f32") < real(ftz(y, "f32"), "f32")))
    block("set.gt.u32.f32", "b32", ["b32", "b32"], floats("f32", 16, 2),
          lambda x, y: 0 if is_nan(x, "f32") or is_nan(y, "f32") or not number(x, "f32") > number(y, "f32") else mask(32))
    block("set.gt.f32.s32", "b32", ["b32", "b32"], integers(32, 12, 2), lambda x, y: 0x3F800000 if signed(x, 32) > signed(y, 32) else 0)
    block("set.eq.f16.f16", "b16", ["b16", "b16"], [(x, y) for x in (0, 0x8000, 0x3C00, 0x7FFF) for y in (0, 0x3C00)],
          lambda x, y: 0 if is_nan(x, "f16") or is_nan(y, "f16") or real(x, "f16") != real(y, "f16") else 0x3C00)
    for fmt in ("f16", "bf16"):
        one = lambda x, y: 0 if is_nan(x, fmt) or is_nan(y, fmt) or not number(x, fmt) < number(y, fmt) else ONE[fmt]
        block(f"set.lt.{fmt}x2.{fmt}x2", "b32", ["b32", "b32"], [(a << 16 | b, c << 16 | d) for a, b, c, d in floats(fmt, 16, 4)],
              lambda x, y: one(x >> 16, y >> 16) << 16 | one(x & 0xFFFF, y & 0xFFFF))
    write("compare")


def convert_cases():
    widths = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "s8": 8, "s16": 16, "s32": 32, "s64": 64}
    register = lambda bits: f"b{max(bits, 16)}"

    def to_register(x, t, bits):  # a narrow result is extended to its register
        return value(x, bits, t[0] == "s") & mask(max(bits, 16))

    for d, db in widths.items():
        for s, sb in widths.items():
            rows = [(x[0] & mask(max(sb, 16)),) for x in integers(max(sb, 16), 10, 1)]
            block(f"cvt.{d}.{s}", register(db), [register(sb)], rows, lambda x: to_register(value(x, sb, s[0] == "s"), d, db))
            if d != s:
                low, high = (-(1 << db - 1), (1 << db - 1) - 1) if d[0] == "s" else (0, mask(db))
                block(f"cvt.sat.{d}.{s}", register(db), [register(sb)], rows, lambda x: to_register(max(low, min(high, value(x, sb, s[0] == "s"))), d, db))
    floating = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
    for f, fb in floating.items():
        for t, b in widths.items():
            for mode in ("rni", "rzi", "rmi", "rpi"):
                low, high = (-(1 << b - 1), (1 << b - 1) - 1) if t[0] == "s" else (0, mask(b))

                def to_int(x):
                    d = decode(x, f)
                    if d[0] == "nan":
                        return to_register(1 << (b - 1) if b == 64 or f == "f64" else 0, t, b)
                    if d[0] == "inf":
                        return to_register(high if d[1] > 0 else low, t, b)
                    return to_register(max(low, min(high, round_int(d[1] * d[2], mode[:2]))), t, b)

                rows = floats(f, 14, 1) + [(encode(g, Fraction(n, 2), f),) for g in (1, -1) for n in (1, 3, 5, 253, 255, 257)]
                block(f"cvt.{mode}.{t}.{f}", register(b), [f"b{fb}"], rows, to_int)
            for mode in ("rn", "rz", "rm", "rp"):
                to_float = lambda x: (lambda v: encode(-1 if v < 0 else 1, Fraction(abs(v)), f, mode))(value(x, b, t[0] == "s"))
                rows = [(x[0] & mask(max(b, 16)),) for x in integers(max(b, 16), 8, 1)]
                block(f"cvt.{mode}.{f}.{t}", f"b{fb}", [register(b)], rows, to_float)

    def f_to_f(x, s, d, mode):
        v = decode(x, s)
        return NAN[d] if v[0] == "nan" else infinity(v[1], d) if v[0] == "inf" else encode(v[1], v[2], d, mode)

    rank = {"f16": 0, "bf16": 0, "f32": 1, "f64": 2}
    for s, sb in floating.items():
        for d, db in floating.items():
            rows = floats(s, 28, 1)
            if s == d:
                for mode in ("rni", "rzi", "rmi", "rpi"):
                    block(f"cvt.{mode}.{d}.{s}", f"b{db}", [f"b{sb}"], rows + [(encode(g, Fraction(n, 2), s),) for g in (1, -1) for n in (1, 3, 5)],
                          lambda x: (lambda v: NAN[d] if v[0] == "nan" else x if v[0] == "inf" else encode(v[1], Fraction(abs(round_int(v[1] * v[2], mode[:2]))), d))(decode(x, s)))
            elif rank[d] > rank[s]:
                block(f"cvt.{d}.{s}", f"b{db}", [f"b{sb}"], rows, lambda x: f_to_f(x, s, d, "rn"))
            else:
                for mode in ("rn", "rz", "rm", "rp"):
                    block(f"cvt.{mode}.{d}.{s}", f"b{db}", [f"b{sb}"], rows, lambda x: f_to_f(x, s, d, mode))
    f32 = floats("f32", 32, 1)
    block("cvt.sat.f32.f32", "b32", ["b32"], f32, lambda x: sat(x, "f32"))
    block("cvt.ftz.f32.f16", "b32", ["b16"], floats("f16", 12, 1), lambda x: f_to_f(x, "f16", "f32", "rn"))
    block("cvt.rni.ftz.s32.f32", "b32", ["b32"], [(1,), (0x3F000001,), (0xBFC00000,)], lambda x: round_int(real(ftz(x, "f32"), "f32"), "rn") & mask(32))
    for fmt in ("f16", "bf16"):
        for mode in ("rn", "rz"):
            one = lambda x: f_to_f(x, "f32", fmt, mode)
            block(f"cvt.{mode}.{fmt}x2.f32", "b32", ["b32", "b32"], floats("f32", 24, 2), lambda x, y: one(x) << 16 | one(y))
            relu = lambda x: (lambda r: 0 if r >> 15 and not is_nan(r, fmt) else r)(one(x))
            positive = [r for r in floats("f32", 24, 2) if all(is_nan(x, "f32") or not x >> 31 or x > 0x90000000 for x in r) and 0x80000000 not in r]
            block(f"cvt.{mode}.relu.{fmt}x2.f32", "b32", ["b32", "b32"], positive, lambda x, y: relu(x) << 16 | relu(y))
    tf = lambda mode: lambda x: None if decode(x, "f32")[0] != "num" else encode(decode(x, "f32")[1], decode(x, "f32")[2], "tf32", mode) << 13
    block("cvt.rna.tf32.f32", "b32", ["b32"], f32, tf("rna"))
    block("cvt.rn.tf32.f32", "b32", ["b32"], f32, tf("rn"))
    clamp = lambda x, low, high: max(low, min(high, signed(x, 32)))
    for t, low, high, b in (("s8", -128, 127, 8), ("u8", 0, 255, 8)):
        block(f"cvt.pack.sat.{t}.s32.b32", "b32", ["b32"] * 3, [tuple(rng.choice((0, 5, 200, 70000, 0xFFFFFF00, 0x80000000, 0x7FFFFFFF)) for _ in range(3)) for _ in range(16)],
              lambda x, y, c: (c << 16 | (clamp(x, low, high) & 255) << 8 | clamp(y, low, high) & 255) & mask(32))
    for t, low, high in (("s16", -32768, 32767), ("u16", 0, 65535)):
        block(f"cvt.pack.sat.{t}.s32", "b32", ["b32"] * 2, integers(32, 12, 2), lambda x, y: (clamp(x, low, high) & 65535) << 16 | clamp(y, low, high) & 65535)
    write("convert")


def modifier_cases():
    """What the tables above leave out: each modifier of each opcode at least once."""
    for fmt in ("f32", "f64"):
        b = FORMATS[fmt][3]
        two = floats(fmt, 16, 2)
        block(f"sub.{fmt}", f"b{b}", [f"b{b}"] * 2, two, lambda x, y: f_add(x, neg(y, fmt), fmt) if not is_nan(y, fmt) else NAN[fmt])
        block(f"mul.{fmt}", f"b{b}", [f"b{b}"] * 2, two, lambda x, y: f_mul(x, y, fmt))
    fmt, b = "f32", "b32"
    z = lambda x: ftz(x, fmt)
    one, two, three = floats(fmt, 24, 1), floats(fmt, 24, 2), floats(fmt, 24, 3)
    minus = lambda x, y, mode="rn": f_add(x, neg(y, fmt), fmt, mode) if not is_nan(y, fmt) else NAN[fmt]
    block("sub.ftz.f32", b, [b, b], two, lambda x, y: z(minus(z(x), z(y))))
    block("sub.sat.f32", b, [b, b], two, lambda x, y: sat(minus(x, y), fmt))
    block("add.rz.ftz.f32", b, [b, b], two, lambda x, y: z(f_add(z(x), z(y), fmt, "rz")))
    block("sub.rm.ftz.f32", b, [b, b], two, lambda x, y: z(minus(z(x), z(y), "rm")))
    block("sub.rp.sat.f32", b, [b, b], two, lambda x, y: sat(minus(x, y, "rp"), fmt))
    block("mul.rz.sat.f32", b, [b, b], two, lambda x, y: sat(f_mul(x, y, fmt, "rz"), fmt))
    block("fma.rz.ftz.f32", b, [b] * 3, three, lambda x, y, w: z(f_fma(z(x), z(y), z(w), fmt, "rz")))
    block("fma.rp.sat.f32", b, [b] * 3, three, lambda x, y, w: sat(f_fma(x, y, w, fmt, "rp"), fmt))
    block("mad.rn.ftz.f32", b, [b] * 3, three, lambda x, y, w: z(f_fma(z(x), z(y), z(w), fmt)))
    block("mad.rn.sat.f32", b, [b] * 3, three, lambda x, y, w: sat(f_fma(x, y, w, fmt), fmt))
    for mode in ("rn", "rz"):
        block(f"div.{mode}.ftz.f32", b, [b, b], two, lambda x, y: z(f_div(z(x), z(y), fmt, mode)))
        block(f"rcp.{mode}.ftz.f32", b, [b], one, lambda x: z(f_div(ONE[fmt], z(x), fmt, mode)))
        block(f"sqrt.{mode}.ftz.f32", b, [b], one, lambda x: z(f_sqrt(z(x), fmt, mode)))
    block("max.ftz.f32", b, [b, b], two, lambda x, y: f_minmax(z(x), z(y), fmt, True))
    block("neg.ftz.f32", b, [b], one, lambda x: z(x) ^ 0x80000000 if not is_nan(x, fmt) else None)
    for f in ("f32", "f16", "bf16"):
        bits = f"b{FORMATS[f][3]}"
        for op, most in (("min", False), ("max", True)):
            pairs = [r for r in floats(f, 24, 2)]
            numbers = [r for r in pairs if not any(is_nan(x, f) for x in r)]
            kinds = [(".xorsign.abs", numbers, False), (".NaN.xorsign.abs", numbers, True)] + ([(".ftz.xorsign.abs", numbers, False)] if f != "bf16" else [])
            if f == "f16":
                kinds.append((".ftz", pairs, False))
            for name, rows, keep in kinds:
                y = (lambda x: ftz(x, f)) if "ftz" in name else (lambda x: x)
                g = lambda p, q: f_minmax(y(p), y(q), f, most, keep, "xorsign" in name)
                block(f"{op}{name}.{f}", bits, [bits, bits], rows, g)
                if f != "f32" and name == ".xorsign.abs":
                    both = [tuple(p << 16 | q for p, q in zip(rng.choice(rows), rng.choice(rows))) for _ in range(8)]
                    block(f"{op}{name}.{f}x2", "b32", ["b32", "b32"], both, lambda p, q: g(p >> 16, q >> 16) << 16 | g(p & 0xFFFF, q & 0xFFFF))
    unit = lambda low, high: [(encode(rng.choice((1, -1)) if low < 0 else 1, Fraction(rng.uniform(max(low, 0) + 1e-3, high)), fmt),) for _ in range(12)]
    f = lambda g: lambda x: encode(-1 if g(float(real(x, fmt))) < 0 else 1, abs(Fraction(g(float(real(x, fmt))))), fmt)
    for name, low, high, g in (("lg2", 1, 1000, math.log2), ("sin", -1, 3, math.sin), ("cos", -1, 1, math.cos), ("sqrt", 1, 100, math.sqrt),
                               ("rsqrt", 1, 100, lambda x: 1 / math.sqrt(x))):
        block(f"{name}.approx.ftz.f32", b, [b], unit(low, high), f(g), 2)
    doubles = [(encode(1, Fraction(rng.uniform(0.01, 900)), "f64"),) for _ in range(8)]
    block("rsqrt.approx.ftz.f64", "b64", ["b64"], doubles, lambda x: f_div(ONE["f64"], f_sqrt(x, "f64"), "f64") & 0xFFFFFFFF00000000, 1 << 33)
    for h in ("f16", "bf16"):
        two = floats(h, 24, 2)
        less = lambda x, y: f_add(x, neg(y, h), h) if not is_nan(y, h) else NAN[h]
        block(f"add.rn.{h}", "b16", ["b16"] * 2, two, lambda x, y: f_add(x, y, h))
        block(f"sub.rn.{h}", "b16", ["b16"] * 2, two, less)
        block(f"mul.rn.{h}", "b16", ["b16"] * 2, two, lambda x, y: f_mul(x, y, h))
        if h == "f16":
            w = lambda x: ftz(x, h)
            block("add.sat.f16", "b16", ["b16"] * 2, two, lambda x, y: sat(f_add(x, y, h), h))
            block("sub.sat.f16", "b16", ["b16"] * 2, two, lambda x, y: sat(less(x, y), h))
            block("sub.ftz.f16", "b16", ["b16"] * 2, two, lambda x, y: w(less(w(x), w(y))))
            block("mul.ftz.f16", "b16", ["b16"] * 2, two, lambda x, y: w(f_mul(w(x), w(y), h)))
        near = [encode(rng.choice((1, -1)), Fraction(rng.uniform(0.01, 6)), h) for _ in range(16)]
        g = lambda k: lambda x: encode(-1 if k(float(real(x, h))) < 0 else 1, abs(Fraction(k(float(real(x, h))))), h)
        for name, k in ((f"ex2.approx{'' if h == 'f16' else '.ftz'}", lambda x: 2.0 ** x), ("tanh.approx", math.tanh)):
            # The upper half is of one value, so that its unit in the last place is not at stake.
            block(f"{name}.{h}x2", "b32", ["b32"], [(x,) for x in near], lambda x: ONE[h] << 16 | g(k)(x) if name.startswith("ex2") else g(k)(x), 1)
    for t, width in (("u", (16, 32, 64)), ("s", (16, 32, 64)), ("f", (32, 64))):
        for n in width:
            block(f"mov.{t}{n}", f"b{n}", [f"b{n}"], integers(n, 4, 1), lambda x: x)
            rows = [(rng.getrandbits(n), rng.getrandbits(n), p) for p in (0, 1)]
            block(f"selp.{t}{n}", f"b{n}", [f"b{n}", f"b{n}", "pred"], rows, lambda x, y, p: x if p else y)
            rows = [(rng.getrandbits(n), rng.getrandbits(n), c) for c in (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)]
            block(f"slct.{t}{n}.s32", f"b{n}", [f"b{n}", f"b{n}", "b32"], rows, lambda x, y, c: x if signed(c, 32) >= 0 else y)
            rows = [(rng.getrandbits(n), rng.getrandbits(n), c) for c in (0, 0x80000000, 0x3F800000, 0xBF800000, NAN["f32"])]
            block(f"slct.{t}{n}.f32", f"b{n}", [f"b{n}", f"b{n}", "b32"], rows, lambda x, y, c: x if c in (0, 0x80000000, 0x3F800000) else y)
    block("slct.ftz.b32.f32", "b32", ["b32"] * 3, [(1, 2, 1), (1, 2, 0x80000001), (1, 2, 0x80800000)], lambda x, y, c: y if c == 0x80800000 else x)
    for t in ("f16", "bf16"):
        block(f"mov.{t}", "b16", ["b16"], integers(16, 4, 1), lambda x: x)
        block(f"mov.{t}x2", "b32", ["b32"], integers(32, 4, 1), lambda x: x)
        for mode in ("rn", "rz"):
            rows = [(x,) for (x,) in floats("f32", 24, 1) if x != 0x80000000]
            narrow = lambda x: (lambda v: NAN[t] if v[0] == "nan" else 0 if v[1] < 0 else infinity(1, t) if v[0] == "inf" else encode(1, v[2], t, mode))(decode(x, "f32"))
            block(f"cvt.{mode}.relu.{t}.f32", "b16", ["b32"], rows, narrow)
    for mode in ("rn", "rz"):
        numbers = [(x,) for (x,) in floats("f32", 24, 1) if decode(x, "f32")[0] == "num" and x != 0x80000000]
        tf = lambda x: encode(decode(x, "f32")[1], decode(x, "f32")[2], "tf32", mode) << 13
        block(f"cvt.{mode}.relu.tf32.f32", "b32", ["b32"], numbers, lambda x: 0 if x >> 31 else tf(x))
        if mode == "rz":
            block("cvt.rz.tf32.f32", "b32", ["b32"], numbers, tf)
    write("modifiers")


def set_cases():
    joined = {"": None, ".and": lambda p, c: p & c, ".or": lambda p, c: p | c, ".xor": lambda p, c: p ^ c}
    number = lambda x, fmt: {"inf": lambda d: Fraction(10) ** 400 * d[1], "num": lambda d: d[1] * d[2]}[decode(x, fmt)[0]](decode(x, fmt))

    def float_truth(op, fmt):
        nan = lambda x, y: is_nan(x, fmt) or is_nan(y, fmt)
        if op in ("num", "nan"):
            return lambda x, y: nan(x, y) == (op == "nan")
        f = COMPARE[op.removesuffix("u") if op != "u" else op]
        return lambda x, y: op.endswith("u") if nan(x, y) else f(number(x, fmt), number(y, fmt))

    def emit(name, to, sources, rows, truth, yes):
        for index, (join, g) in enumerate(joined.items()):
            if join and not name.endswith(".lt"):
                continue
            if g:
                block(f"{name}{join}.{to[0]}", to[1], sources + ["pred"], [r + (c,) for r in rows for c in (0, 1)], lambda x, y, c: yes if g(int(truth(x, y)), c) else 0)
            else:
                block(f"{name}.{to[0]}", to[1], sources, rows, lambda x, y: yes if truth(x, y) else 0)

    floats_ops = [op + u for op in COMPARE for u in ("", "u")] + ["num", "nan"]
    for b in (16, 32, 64):
        for op in ("eq", "ne"):
            rows = integers(b, 6, 2) + [(5, 5)]
            for join, g in joined.items():
                if g:
                    block(f"setp.{op}{join}.b{b}", "pred", [f"b{b}"] * 2 + ["pred"], [r + (c,) for r in rows for c in (0, 1)], lambda x, y, c: g(int(COMPARE[op](x, y)), c))
                else:
                    block(f"setp.{op}.b{b}", "pred", [f"b{b}"] * 2, rows, lambda x, y: int(COMPARE[op](x, y)))
                    block(f"set.{op}.u32.b{b}", "b32", [f"b{b}"] * 2, rows, lambda x, y: mask(32) if COMPARE[op](x, y) else 0)
    for d, yes in (("u32", mask(32)), ("s32", mask(32)), ("f32", 0x3F800000)):
        for join, g in joined.items():
            if g:
                block(f"set.eq{join}.{d}.b32", "b32", ["b32", "b32", "pred"], [(x, 7, c) for x in (7, 8) for c in (0, 1)], lambda x, y, c: yes if g(int(x == y), c) else 0)
        block(f"set.ne.{d}.b32", "b32", ["b32"] * 2, [(1, 2), (3, 3)], lambda x, y: yes if x != y else 0)
    for t, b, s in INTS:
        for join in (".and", ".or", ".xor"):
            if t in ("s32", "u32"):
                block(f"setp.lt{join}.{t}", "pred", ["b32", "b32", "pred"], [r + (c,) for r in integers(32, 4, 2) for c in (0, 1)],
                      lambda x, y, c: joined[join](int(value(x, b, s) < value(y, b, s)), c))
        ops = list(COMPARE) if s else list(COMPARE) + list(UNSIGNED)
        for index, op in enumerate(ops):
            d, yes = (("u32", mask(32)), ("s32", mask(32)), ("f32", 0x3F800000))[index % 3]
            truth = COMPARE[UNSIGNED.get(op, op)]
            emit(f"set.{op}", (f"{d}.{t}", "b32"), [f"b{b}"] * 2, integers(b, 6, 2) + [(9, 9)], lambda x, y: truth(value(x, b, s), value(y, b, s)), yes)
    for index, op in enumerate(floats_ops):
        d, yes = (("u32", mask(32)), ("s32", mask(32)), ("f32", 0x3F800000))[index % 3]
        for fmt in ("f64", "f32", "f16"):
            b = f"b{FORMATS[fmt][3]}"
            emit(f"set.{op}", (f"{d}.{fmt}", "b32"), [b, b], floats(fmt, 8, 2), float_truth(op, fmt), yes)
        d, yes = (("u32", mask(32)), ("s32", mask(32)))[index % 2]
        emit(f"set.{op}", (f"{d}.bf16", "b32"), ["b16", "b16"], floats("bf16", 8, 2), float_truth(op, "bf16"), yes)
        for fmt in ("f16", "bf16"):
            truth, one = float_truth(op, fmt), ONE[fmt]
            emit(f"set.{op}", (f"{fmt}.{fmt}", "b16"), ["b16", "b16"], floats(fmt, 8, 2), truth, one)
            pairs = [(p << 16 | q, r << 16 | v) for p, q, r, v in floats(fmt, 6, 4)]
            half = lambda x, y, k: one if truth(x >> k & 0xFFFF, y >> k & 0xFFFF) else 0
            block(f"set.{op}.{fmt}x2.{fmt}x2", "b32", ["b32", "b32"], pairs, lambda x, y: half(x, y, 16) << 16 | half(x, y, 0))
            if op == "lt":
                for join, g in joined.items():
                    if g:
                        both = lambda x, y, c, k: one if g(int(truth(x >> k & 0xFFFF, y >> k & 0xFFFF)), c) else 0
                        block(f"set.lt{join}.{fmt}x2.{fmt}x2", "b32", ["b32", "b32", "pred"], [p + (c,) for p in pairs for c in (0, 1)],
                              lambda x, y, c: both(x, y, c, 16) << 16 | both(x, y, c, 0))
    for fmt in ("f64", "f32", "bf16"):
        b = f"b{FORMATS[fmt][3]}"
        for join in (".and", ".or", ".xor"):
            block(f"setp.lt{join}.{fmt}", "pred", [b, b, "pred"], [r + (c,) for r in floats(fmt, 6, 2) for c in (0, 1)],
                  lambda x, y, c: joined[join](int(float_truth("lt", fmt)(x, y)), c))
    block("set.lt.ftz.u32.f32", "b32", ["b32", "b32"], [(1, 2), (0x80000001, 1), (0x3F800000, 0x40000000)], lambda x, y: mask(32) if x == 0x3F800000 else 0)
    write("set")


integer_cases()
bit_cases()
float_cases()
half_cases()
compare_cases()
convert_cases()
modifier_cases()
set_cases()
