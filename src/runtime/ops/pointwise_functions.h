// The functions of one and of two values, by name. Nothing else, so that kernels compiled while a plan is made can include it.
#pragma once

#include <cstdint>

namespace ingot {

enum class UnaryFunction : int64_t {
  kIdentity,
  // Activations, also fused behind Conv, MatMul, Binary. alpha, beta as in ONNX.
  kRelu, kClip /* to [alpha, beta] */, kLeakyRelu /* alpha */, kSigmoid, kHardSigmoid /* clip(αx+β, 0, 1) */,
  kHardSwish, kSilu, kTanh, kGelu /* exact, by erf */, kGeluTanh, kElu, kSelu /* beta·(x or α(eˣ−1)) */, kCelu, kSoftplus, kSoftsign, kMish,
  kThresholdedRelu, kQuickGelu /* x·sigmoid(αx) */,
  // Other functions of one value.
  kAbs, kNeg, kExp, kLog, kSqrt, kReciprocal, kErf, kFloor, kCeil, kRound, kSign, kSin, kCos, kTan, kAsin, kAcos, kAtan,
  kSinh, kCosh, kAsinh, kAcosh, kAtanh, kNot, kIsNan,
  kIsInf /* alpha ≠ 0: finds −∞, beta ≠ 0: finds +∞; both 0: finds either */, kBitwiseNot,
  kCount
};

enum class BinaryFunction : int64_t {
  kAdd, kSub, kMul, kDiv, kPow, kMin, kMax, kMod, kFmod, kPRelu,
  kEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kAnd, kOr, kXor, kBitwiseAnd, kBitwiseOr, kBitwiseXor,
  kShiftLeft, kShiftRight,
  kCount
};

}  // namespace ingot
