// Reference matrix product: a row of accumulators for a stretch of columns, to which k adds in ascending order.
#include "runtime/ops/matmul.h"

#include <algorithm>
#include <string>

#include "runtime/ops/element.h"
#include "runtime/ops/requantize.h"
#include "runtime/ops/window.h"

namespace ingot {
namespace {

constexpr int64_t kRow = 512;

// The product's sizes; a rank-1 operand is a row (a) or a column (b) whose extra dim the result drops.
struct Dims {
  int64_t m = 1, n = 1, k = 0, k_of_b = 0;
  Shape a_batch, b_batch, batch;
};

Dims dims_of(const MatMulParams& p, const Shape& a, const Shape& b) {
  Dims d;
  if (a.rank == 1)
    d.k = a[0];
  else
    d.m = a[a.rank - (p.transpose_a ? 1 : 2)], d.k = a[a.rank - (p.transpose_a ? 2 : 1)];
  if (b.rank == 1)
    d.k_of_b = b[0];
  else
    d.n = b[b.rank - (p.transpose_b ? 2 : 1)], d.k_of_b = b[b.rank - (p.transpose_b ? 1 : 2)];
  d.a_batch = Shape::of(a.span().first(static_cast<size_t>(std::max(0, a.rank - 2))));
  d.b_batch = Shape::of(b.span().first(static_cast<size_t>(std::max(0, b.rank - 2))));
  return d;
}

// Index of matrix `i` of the broadcast batch in an operand's own batch.
int64_t batch_index(const Shape& own, const Shape& batch, int64_t i) {
  int64_t index = 0, stride = 1;
  for (int d = batch.rank - 1, j = own.rank - 1; j >= 0; --d, --j) {
    if (own[j] != 1) index += i % batch[d] * stride;
    stride *= own[j];
    i /= batch[d];
  }
  return index;
}

// Calls store(first, column, count, acc) for each stretch of a row; `first` indexes y. Unsigned sums wrap.
template <class Acc, class A, class B, class ZeroOf, class Store>
void multiply(const MatMulParams& p, const Dims& d, const A* a, const B* b, int32_t a_zero, ZeroOf&& b_zero,
              Store&& store) {
  const int64_t a_row = p.transpose_a ? 1 : d.k, a_step = p.transpose_a ? d.m : 1;
  const int64_t b_column = p.transpose_b ? d.k : 1, b_step = p.transpose_b ? 1 : d.n;
  const int64_t batch = d.batch.elements();
  Acc acc[kRow], zeros[kRow];
  const auto left = [&](const A* row, int64_t k) {
    return static_cast<Acc>(load_element(row[k * a_step])) - static_cast<Acc>(a_zero);
  };
  for (int64_t i = 0; i < batch; ++i) {
    const A* a_matrix = a + batch_index(d.a_batch, d.batch, i) * d.m * d.k;
    const B* b_matrix = b + batch_index(d.b_batch, d.batch, i) * d.k * d.n;
    for (int64_t m = 0; m < d.m; ++m)
      for (int64_t first = 0; first < d.n; first += kRow) {
        const int64_t count = std::min(kRow, d.n - first);
        const A* row = a_matrix + m * a_row;
        const B* columns = b_matrix + first * b_column;
        std::fill_n(acc, count, Acc{});
        for (int64_t j = 0; j < count; ++j) zeros[j] = static_cast<Acc>(b_zero(first + j));
        if (p.transpose_b) {
          for (int64_t j = 0; j < count; ++j)
            for (int64_t k = 0; k < d.k; ++k)
              acc[j] += left(row, k) * (static_cast<Acc>(load_element(columns[j * b_column + k])) - zeros[j]);
        } else {
          for (int64_t k = 0; k < d.k; ++k) {
            const Acc value = left(row, k);
            for (int64_t j = 0; j < count; ++j)
              acc[j] += value * (static_cast<Acc>(load_element(columns[k * b_step + j])) - zeros[j]);
          }
        }
        store((i * d.m + m) * d.n + first, first, count, acc);
      }
  }
}

template <class T>
void run_float(const MatMulParams& p, const Dims& d, std::span<const ConstTensorRef> inputs, const TensorRef& y) {
  using A = Arithmetic<T>;
  const T* bias = inputs.size() > 2 && inputs[2] ? inputs[2].as<T>() : nullptr;
  const T* residual = inputs.size() > 3 && inputs[3] ? inputs[3].as<T>() : nullptr;
  const A alpha = static_cast<A>(p.alpha);
  multiply<A>(
      p, d, inputs[0].as<T>(), inputs[1].as<T>(), 0, [](int64_t) { return 0; },
      [&](int64_t first, int64_t column, int64_t count, const A* acc) {
        for (int64_t j = 0; j < count; ++j) {
          A t = p.alpha == 1 ? acc[j] : alpha * acc[j];
          if (bias) t += load_element(bias[column + j]);
          if (residual) t += load_element(residual[first + j]);
          if constexpr (std::is_same_v<A, double>)
            t = apply_activation_f64(p.activation, t);
          else
            t = apply_activation(p.activation, t);
          y.as<T>()[first + j] = store_float<T>(t);
        }
      });
}

template <class A, class B>
void run_quantized(const MatMulParams& p, const Dims& d, const IntEpilogue& e, std::span<const ConstTensorRef> inputs,
                   const TensorRef& y) {
  const TensorType &a_type = *inputs[0].type, &b_type = *inputs[1].type;
  const int32_t* bias = inputs.size() > 2 && inputs[2] ? inputs[2].as<int32_t>() : nullptr;
  const ConstTensorRef residual = inputs.size() > 3 ? inputs[3] : ConstTensorRef{};
  const auto zero = [&](int64_t n) { return zero_point_of(b_type, n); };
  multiply<uint32_t>(
      p, d, inputs[0].as<A>(), inputs[1].as<B>(), zero_point_of(a_type), zero,
      [&](int64_t first, int64_t column, int64_t count, const uint32_t* acc) {
        for (int64_t j = 0; j < count; ++j) {
          const int64_t i = first + j, n = column + j;
          const int32_t sum = static_cast<int32_t>(acc[j] + (bias ? static_cast<uint32_t>(bias[n]) : 0u));
          const float m = multiplier(scale_of(a_type), scale_of(b_type, n), e.multiplier_scale(), p.alpha);
          store_epilogue(e, sum, m, residual, y, i);
        }
      });
}

// s32, u32, s64, u64: sums wrap, so signed types go through their unsigned twin.
template <class U>
void run_wrapping(const MatMulParams& p, const Dims& d, std::span<const ConstTensorRef> inputs, const TensorRef& y) {
  multiply<U>(
      p, d, inputs[0].as<U>(), inputs[1].as<U>(), 0, [](int64_t) { return 0; },
      [&](int64_t first, int64_t, int64_t count, const U* acc) { std::copy_n(acc, count, y.as<U>() + first); });
}

bool is_wide_integer(DataType type) {
  return type == DataType::kS32 || type == DataType::kU32 || type == DataType::kS64 || type == DataType::kU64;
}

}  // namespace

Status infer_types(const MatMulParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  const char* op = "matmul";
  if (inputs.size() < 2 || !inputs[0].present || !inputs[1].present)
    return bad_operand(op, "inputs missing: got " + std::to_string(inputs.size()) + ", need a and b");
  const Shape &a = inputs[0].shape, &b = inputs[1].shape;
  const DataType type = inputs[0].dtype;
  if (is_byte(type) ? !is_byte(inputs[1].dtype) : inputs[1].dtype != type || !(is_float(type) || is_wide_integer(type)))
    return bad_operand(op, "types of a and b: got " + std::string(to_string(type)) + " and " +
                               std::string(to_string(inputs[1].dtype)) +
                               ", need one float, 32-bit or 64-bit type, or u8/s8 each");
  if (a.rank < 1 || b.rank < 1)
    return bad_operand(op, "ranks: got " + to_string(a) + " and " + to_string(b) + ", need 1 or more dims each");
  const Dims d = dims_of(params, a, b);
  if (d.k != d.k_of_b)
    return bad_operand(op, "inner dims: got " + std::to_string(d.k) + " and " + std::to_string(d.k_of_b) +
                               ", need equal (a " + to_string(a) + (params.transpose_a ? " transposed" : "") + ", b " +
                               to_string(b) + (params.transpose_b ? " transposed" : "") + ")");
  Shape y;
  if (!broadcast_shapes(d.a_batch, d.b_batch, y))
    return bad_operand(
        op, "batch dims do not broadcast: got " + to_string(a) + " and " + to_string(b) + ", need equal or 1");
  if (a.rank > 1) y[y.rank++] = d.m;
  if (b.rank > 1) y[y.rank++] = d.n;
  INGOT_TRY(check_output_size(op, y));
  if (inputs.size() > 2 && inputs[2].present && !(inputs[2].shape.rank == 1 && inputs[2].shape[0] == d.n))
    return bad_operand(op, "bias: got " + to_string(inputs[2].shape) + ", need " + std::to_string(d.n));
  if (inputs.size() > 3 && inputs[3].present && !(inputs[3].shape == y))
    return bad_operand(op, "residual: got " + to_string(inputs[3].shape) + ", need " + to_string(y));
  if (!is_activation(params.activation.function))
    return bad_operand(
        op, "fused function: got " + std::string(to_string(params.activation.function)) + ", need an activation");
  outputs[0] = {is_byte(type) ? DataType::kS32 : type, y};
  return {};
}

Status run_reference(const MatMulParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const DataType a = inputs[0].type->dtype, b = inputs[1].type->dtype;
  Dims d = dims_of(params, inputs[0].type->shape, inputs[1].type->shape);
  broadcast_shapes(d.a_batch, d.b_batch, d.batch);
  const TensorRef& y = outputs[0];
  if (with_float_type(a, [&](auto t) { run_float<decltype(t)>(params, d, inputs, y); })) return {};
  if (is_wide_integer(a)) {
    if (params.alpha != 1 || params.activation.function != UnaryFunction::kIdentity ||
        (inputs.size() > 2 && inputs[2]) || (inputs.size() > 3 && inputs[3]))
      return Status(StatusCode::kUnsupported,
                    "matmul: epilogue of " + std::string(to_string(a)) + ": need a plain product");
    if (element_bytes(a) == 4)
      run_wrapping<uint32_t>(params, d, inputs, y);
    else
      run_wrapping<uint64_t>(params, d, inputs, y);
    return {};
  }
  if (!is_byte(a) || !is_byte(b))
    return Status(StatusCode::kUnsupported, "matmul: types: got " + to_string(*inputs[0].type) + " and " +
                                                to_string(*inputs[1].type) + ", need one float type, or u8/s8 each");
  INGOT_ASSIGN(const IntEpilogue e,
               make_int_epilogue("matmul", params.activation, inputs.size() > 3 ? inputs[3].type : nullptr, *y.type));
  if (a == DataType::kU8)
    b == DataType::kU8 ? run_quantized<uint8_t, uint8_t>(params, d, e, inputs, y)
                       : run_quantized<uint8_t, int8_t>(params, d, e, inputs, y);
  else
    b == DataType::kU8 ? run_quantized<int8_t, uint8_t>(params, d, e, inputs, y)
                       : run_quantized<int8_t, int8_t>(params, d, e, inputs, y);
  return {};
}

}  // namespace ingot
