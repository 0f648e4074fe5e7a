// Makes valid, typed random programs: single ops over everything, and the patterns that passes look for, spoilt in one place
// out of three. Each node is computed as it is added, so that values stay finite and of moderate size.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "e2e/random_program.h"

namespace ingot::random_graphs {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  int64_t below(int64_t n) { return n <= 0 ? 0 : static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(double p) { return static_cast<double>(next() >> 11) * 0x1p-53 < p; }
  double real(double low, double high) { return low + static_cast<double>(next() >> 11) * 0x1p-53 * (high - low); }
  template <class T> T one_of(std::initializer_list<T> list) { return list.begin()[below(static_cast<int64_t>(list.size()))]; }
  template <class C> const auto& pick(const C& list) { return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))]; }

 private:
  uint64_t state_;
};

enum class Style { kFloat, kDynamic, kQuantised, kInt8, kShapes };
constexpr int kStyles = 5;

class Generator {
 public:
  Generator(uint64_t seed, Style style) : random_(seed), style_(style) { program_.data_seed = seed; }
  Program make();

 private:
  using V = std::optional<uint32_t>;  // a value, if it could be made
  struct Info {
    std::vector<Tensor> data;  // at each probe
    bool known = false;        // before a run
    bool exact = true;         // no rounded float went into it: comparing and rounding it is safe
    int uses = 0;
    bool is_constant = false;
  };

  // random_generator.cpp
  void start();
  void finish();
  uint32_t input(DataType dtype, std::vector<Shape> shapes, double low, double high);
  std::optional<std::vector<uint32_t>> node(OpParams params, std::vector<uint32_t> inputs, size_t outputs = 1);
  V op(OpParams params, std::vector<uint32_t> inputs);
  uint32_t constant(DataType dtype, Shape shape, const std::function<double(size_t)>& element);
  uint32_t floats(Shape shape, double low = -2, double high = 2);        // dyadic
  uint32_t rounded_floats(Shape shape, double low, double high);         // any
  uint32_t scalar(double number, int rank = 0);
  uint32_t integers(const std::vector<int64_t>& values);                 // s64 [n]
  const Shape& shape(uint32_t value) const { return info_[value].data.back().type.shape; }  // at the last probe
  bool is_static(uint32_t value) const;
  DataType dtype(uint32_t value) const { return program_.values[value].dtype; }
  bool is_f32(uint32_t value) const { return dtype(value) == DataType::kF32; }
  V pick(const std::function<bool(uint32_t)>& fits);
  V pick_f32(int min_rank = 0, int max_rank = 8);
  V pick_image();
  void maybe_output(uint32_t value, double chance) { if (random_.chance(chance)) program_.outputs.push_back(value); }
  bool spoil() { return random_.chance(0.12); }
  V unary(uint32_t x, UnaryFunction function, double alpha = 0, double beta = 0);
  V binary(uint32_t a, uint32_t b, BinaryFunction function);
  V either_order(uint32_t a, uint32_t b, BinaryFunction function);
  uint32_t broadcast_constant(uint32_t x);
  uint32_t channel_constant(uint32_t x, int axis, double low, double high);

  // random_ops.cpp: one op each
  void add_unary();
  void add_binary();
  void add_where_or_cast();
  void add_reduce();
  void add_arg_or_top();
  void add_softmax_or_norm();
  void add_pool();
  void add_transpose();
  void add_reshape();
  void add_concat_or_split();
  void add_slice_or_pad();
  void add_expand_or_tile();
  void add_gather_or_scatter();
  void add_resize_or_depth();
  void add_integers();
  void add_sequence_op();
  void add_recurrent_or_sampling();
  // random_patterns.cpp: what passes look for
  void add_layer();
  V layer_core();
  V decorate(uint32_t y, int axis);
  void add_residual_block();
  void add_activation_composite();
  void add_layer_norm();
  void add_attention();
  void add_pad_then_window();
  void add_affine_then_layer();
  void add_again();
  void add_shape_arithmetic();
  void add_identity_chain();
  // random_quantised.cpp: chains of Q and DQ
  struct Quant { double scale; int zero; DataType dtype; };
  Quant random_quant(bool activation);
  V quantise(uint32_t x, Quant q, int axis = -1);
  V dequantise(uint32_t q, Quant params, int axis = -1);
  V fake_quantise(uint32_t x);
  void add_qdq_layer();
  void add_qdq_math();
  void add_qdq_move();

  Random random_;
  Style style_;
  Program program_;
  std::vector<Info> info_;
  size_t wanted_ = 3;
};

}  // namespace ingot::random_graphs
