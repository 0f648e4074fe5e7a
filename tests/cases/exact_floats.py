"""Floats of any format in exact arithmetic: decoding, one correct rounding, and the arithmetic of IEEE 754 over fractions."""
import math
from fractions import Fraction


def mask(bits):
    return (1 << bits) - 1


# (mantissa bits, least exponent, largest exponent, total bits)
FORMATS = {"f16": (10, -14, 15, 16), "bf16": (7, -126, 127, 16), "f32": (23, -126, 127, 32), "f64": (52, -1022, 1023, 64), "tf32": (10, -126, 127, 19)}
NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0x7FF8000000000000}


def decode(bits, fmt):
    """('nan'), ('inf', sign) or ('num', sign, Fraction)."""
    m, low, high, total = FORMATS[fmt]
    sign = -1 if bits >> (total - 1) & 1 else 1
    field, mantissa = bits >> m & mask(total - 1 - m), bits & mask(m)
    if field == mask(total - 1 - m):
        return ("nan",) if mantissa else ("inf", sign)
    if field == 0:
        return ("num", sign, Fraction(mantissa) * Fraction(2) ** (low - m))
    return ("num", sign, (1 + Fraction(mantissa, 1 << m)) * Fraction(2) ** (field - 1 + low))


def round_int(x, mode):
    floor = x.numerator // x.denominator
    rest = x - floor
    if rest == 0 or mode == "rm":
        return floor
    if mode == "rp":
        return floor + 1
    if mode == "rz":
        return floor if x > 0 else floor + 1
    if mode == "rna":
        return floor + (1 if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and x > 0) else 0)
    return floor + (1 if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor & 1) else 0)


def encode(sign, magnitude, fmt, mode="rn"):
    m, low, high, total = FORMATS[fmt]
    top = 1 << (total - 1) if sign < 0 else 0
    if magnitude == 0:
        return top
    e = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** e > magnitude:
        e -= 1
    e = max(e, low)
    inward = mode if mode not in ("rm", "rp") else ("rz" if (mode == "rp") == (sign < 0) else "away")
    scaled = magnitude / Fraction(2) ** (e - m)
    units = -((-scaled.numerator) // scaled.denominator) if inward == "away" else round_int(scaled, inward)
    value = units + ((e - low) << m)
    infinity = mask(total - 1 - m) << m
    if value >= infinity:
        value = infinity if inward in ("rn", "rna", "away") else infinity - 1
    return top | value


def real(bits, fmt):
    d = decode(bits, fmt)
    return None if d[0] != "num" else d[1] * d[2]


def is_nan(bits, fmt):
    return decode(bits, fmt)[0] == "nan"


def infinity(sign, fmt):
    m, low, high, total = FORMATS[fmt]
    return (mask(total - 1 - m) << m) | (1 << (total - 1) if sign < 0 else 0)


def neg(bits, fmt):
    return bits ^ 1 << (FORMATS[fmt][3] - 1)


def f_fma(a, b, c, fmt, mode="rn"):
    """a * b + c with one rounding; also for products (c = −0 with the product's sign) and sums (b = 1)."""
    da, db, dc = (decode(x, fmt) for x in (a, b, c))
    if "nan" in (da[0], db[0], dc[0]):
        return NAN[fmt]
    sp = da[1] * db[1]
    zero = lambda d: d[0] == "num" and d[2] == 0
    if da[0] == "inf" or db[0] == "inf":
        if zero(da) or zero(db) or (dc[0] == "inf" and dc[1] != sp):
            return NAN[fmt]
        return infinity(sp, fmt)
    if dc[0] == "inf":
        return infinity(dc[1], fmt)
    product = da[2] * db[2]
    total = sp * product + dc[1] * dc[2]
    if total == 0:
        if product == 0 and dc[2] == 0 and sp == dc[1]:
            return encode(sp, Fraction(0), fmt)
        return encode(-1 if mode == "rm" else 1, Fraction(0), fmt)
    return encode(1 if total > 0 else -1, abs(total), fmt, mode)


ONE = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000, "f64": 0x3FF0000000000000}


def f_add(a, b, fmt, mode="rn"):
    return f_fma(a, ONE[fmt], b, fmt, mode)


def f_mul(a, b, fmt, mode="rn"):
    da, db = decode(a, fmt), decode(b, fmt)
    if "nan" in (da[0], db[0]):
        return NAN[fmt]
    s = da[1] * db[1]
    if "inf" in (da[0], db[0]):
        return NAN[fmt] if any(d[0] == "num" and d[2] == 0 for d in (da, db)) else infinity(s, fmt)
    return encode(s, da[2] * db[2], fmt, mode)


def f_div(a, b, fmt, mode="rn"):
    da, db = decode(a, fmt), decode(b, fmt)
    if "nan" in (da[0], db[0]) or (da[0] == db[0] == "inf"):
        return NAN[fmt]
    s = da[1] * db[1]
    if da[0] == "inf":
        return infinity(s, fmt)
    if db[0] == "inf":
        return encode(s, Fraction(0), fmt)
    if db[2] == 0:
        return NAN[fmt] if da[2] == 0 else infinity(s, fmt)
    return encode(s, da[2] / db[2], fmt, mode)


def f_sqrt(a, fmt, mode="rn"):
    d = decode(a, fmt)
    if d[0] == "nan" or (d[1] < 0 and not (d[0] == "num" and d[2] == 0)):
        return NAN[fmt]
    if d[0] == "inf" or d[2] == 0:
        return a
    # A root to 200 bits, its last bit sticky, rounds as the exact one.
    shift = 700
    scaled = (d[2].numerator << 2 * shift) // d[2].denominator
    root = math.isqrt(scaled)
    sticky = root * root != scaled or (d[2].numerator << 2 * shift) % d[2].denominator
    return encode(1, Fraction(root * 2 + (1 if sticky else 0), 2 << shift), fmt, mode)


def f_minmax(a, b, fmt, largest, nan=False, xorsign=False):
    if is_nan(a, fmt) or is_nan(b, fmt):
        if nan or (is_nan(a, fmt) and is_nan(b, fmt)):
            return NAN[fmt]
        r = b if is_nan(a, fmt) else a
        return r
    top = 1 << (FORMATS[fmt][3] - 1)
    key = lambda x: -(x & ~top) - 1 if x & top else x
    if xorsign:
        s = (a ^ b) & top
        a, b = a & ~top, b & ~top
        return (max if largest else min)(a, b, key=key) | s
    return (max if largest else min)(a, b, key=key)


def ftz(bits, fmt):
    d = decode(bits, fmt)
    return bits & 1 << (FORMATS[fmt][3] - 1) if d[0] == "num" and d[2] < Fraction(2) ** FORMATS[fmt][1] else bits


def sat(bits, fmt):
    if is_nan(bits, fmt) or bits >> (FORMATS[fmt][3] - 1):
        return 0
    return min(bits, ONE[fmt])
