// Small engines that reach many ops' type rules and reference code.
#pragma once

#include <vector>

#include "runtime/hand_made_plan.h"

namespace ingot {

// One op over tensors of the given types; inputs whose name starts with "c" are constants of small counting numbers.
class OneOpPlan {
 public:
  uint32_t input(TensorType type) { return made.input("x" + std::to_string(count_++), std::move(type)); }
  uint32_t output(TensorType type) { return made.output("y" + std::to_string(count_++), std::move(type)); }
  uint32_t ints(std::vector<int64_t> values) {
    return made.constant<int64_t>("c" + std::to_string(count_++), s64({static_cast<int64_t>(values.size())}), values);
  }
  uint32_t floats(Shape shape) {
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) * 0.25f + 0.5f;
    return made.constant<float>("c" + std::to_string(count_++), f32(shape), values);
  }
  HandMadePlan made;

 private:
  int count_ = 0;
};

// The same op on channels-last copies of its inputs and outputs.
inline HandMadePlan in_channels_last(HandMadePlan made) {
  Step step = std::move(made.plan().steps[0]);
  made.plan().steps.clear();
  const auto copy_of = [&](uint32_t slot) {
    TensorType type = made.slot(slot).type;
    type.layout = Layout::kChannelsLast;
    return made.tensor(made.slot(slot).name + "_last", type, made.slot(slot).max_shape);
  };
  const auto converts = [&](uint32_t slot) {
    return slot != kNoIndex && made.slot(slot).home != Slot::Home::kConstant && made.slot(slot).type.shape.rank >= 3;
  };
  for (uint32_t& input : step.inputs)
    if (converts(input)) {
      const uint32_t copy = copy_of(input);
      made.step(IdentityParams{}, {input}, {copy});
      input = copy;
    }
  std::vector<std::pair<uint32_t, uint32_t>> back;
  for (uint32_t& output : step.outputs)
    if (converts(output)) {
      back.emplace_back(copy_of(output), output);
      output = back.back().first;
    }
  made.step(step.params, step.inputs, step.outputs);
  for (const auto& [from, to] : back) made.step(IdentityParams{}, {from}, {to});
  return made;
}

// Each plan once more for every other tactic that takes one of its steps.
inline void add_tactics(std::vector<HandMadePlan>& plans) {
  const size_t count = plans.size();
  for (size_t i = 0; i < count; ++i)
    for (size_t k = 0; k < plans[i].plan().steps.size(); ++k) {
      const Step& step = plans[i].plan().steps[k];
      for (const Tactic* tactic : TacticRegistry::builtin().for_op(kind_of(step.params))) {
        HandMadePlan other = plans[i];
        if (!step.shape_step && tactic->info().name != step.tactic && other.use_tactic(k, *tactic)) plans.push_back(std::move(other));
      }
    }
}

inline std::vector<HandMadePlan> seed_plans() {
  std::vector<HandMadePlan> plans = {add_relu_plan(), shape_chain_plan(), channels_last_plan(), conv_plan(), late_plan(), control_flow_plan(), late_branch_plan()};
  const auto add = [&](OpParams params, auto&& operands) {
    OneOpPlan plan;
    std::vector<uint32_t> inputs, outputs;
    operands(plan, inputs, outputs);
    plan.made.step(std::move(params), inputs, outputs);
    plans.push_back(std::move(plan.made));
  };
  using List = std::vector<uint32_t>;
  const auto unary_op = [&](OpParams params, TensorType in, TensorType out) {
    add(std::move(params), [&](OneOpPlan& p, List& i, List& o) { i = {p.input(in)}, o = {p.output(out)}; });
  };
  ConvParams conv;
  conv.strides = {2, 1};
  conv.groups = 2;
  add(conv, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({1, 4, 5, 5})), p.floats({2, 2, 3, 3}), p.floats({2})}, o = {p.output(f32({1, 2, 2, 3}))};
  });
  ConvTransposeParams transpose;
  transpose.strides = {2, 2};
  add(transpose, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({1, 2, 3, 3})), p.floats({2, 3, 2, 2})}, o = {p.output(f32({1, 3, 6, 6}))};
  });
  add(MatMulParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({2, 3, 4})), p.floats({4, 5}), p.floats({5})}, o = {p.output(f32({2, 3, 5}))};
  });
  PoolParams average;
  average.function = PoolFunction::kAverage;
  average.kernel = {3, 3};
  average.strides = {2, 2};
  average.pads = {1, 1, 1, 1};
  average.ceil_mode = true;
  unary_op(average, f32({1, 2, 5, 5}), f32({1, 2, 3, 3}));
  PoolParams global;
  global.global = true;
  unary_op(global, u8({1, 2, 5, 5}, 0.5f, 3), u8({1, 2, 1, 1}, 0.5f, 3));
  add(BatchNormParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({1, 2, 3})), p.floats({2}), p.floats({2}), p.floats({2}), p.floats({2})}, o = {p.output(f32({1, 2, 3}))};
  });
  add(LayerNormParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({2, 3, 4})), p.floats({4}), p.floats({4})}, o = {p.output(f32({2, 3, 4}))};
  });
  add(InstanceNormParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({2, 3, 4})), p.floats({3}), p.floats({3})}, o = {p.output(f32({2, 3, 4}))};
  });
  unary_op(SoftmaxParams{}, f32({2, 5}), f32({2, 5}));
  unary_op(UnaryParams{UnaryFunction::kGelu, 0, 0}, u8({2, 5}, 0.5f, 3), u8({2, 5}, 0.25f, 7));
  add(BinaryParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(u8({2, 5}, 0.5f, 3)), p.input(u8({1, 5}, 0.25f, 9))}, o = {p.output(u8({2, 5}, 0.75f, 1))};
  });
  add(WhereParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input({DataType::kBool, {2, 1}, Layout::kLinear, {}}), p.input(f32({2, 3})), p.input(f32({1, 3}))}, o = {p.output(f32({2, 3}))};
  });
  CastParams cast;
  cast.to = static_cast<int64_t>(DataType::kS32);
  unary_op(cast, f32({2, 5}), {DataType::kS32, {2, 5}, Layout::kLinear, {}});
  add(ReduceParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({2, 3, 4})), p.ints({1})}, o = {p.output(f32({2, 1, 4}))};
  });
  unary_op(ArgReduceParams{}, f32({2, 3}), s64({1, 3}));
  unary_op(QuantizeLinearParams{}, f32({2, 3}), u8({2, 3}, 0.5f, 3));
  unary_op(DequantizeLinearParams{}, u8({2, 3}, 0.5f, 3), f32({2, 3}));
  unary_op(FlattenParams{}, f32({2, 3, 4}), f32({2, 12}));
  add(SqueezeParams{}, [](OneOpPlan& p, List& i, List& o) { i = {p.input(f32({2, 1, 4})), p.ints({1})}, o = {p.output(f32({2, 4}))}; });
  add(UnsqueezeParams{}, [](OneOpPlan& p, List& i, List& o) { i = {p.input(f32({2, 4})), p.ints({0})}, o = {p.output(f32({1, 2, 4}))}; });
  unary_op(TransposeParams{{1, 2, 0}}, f32({2, 3, 4}), f32({3, 4, 2}));
  add(ConcatParams{1}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({2, 3})), p.input(f32({2, 2})), p.floats({2, 1})}, o = {p.output(f32({2, 6}))};
  });
  add(SplitParams{1}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({2, 5})), p.ints({2, 3})}, o = {p.output(f32({2, 2})), p.output(f32({2, 3}))};
  });
  add(SliceParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({5, 6})), p.ints({4, 1}), p.ints({0, 5}), p.ints({0, 1}), p.ints({-2, 3})}, o = {p.output(f32({2, 2}))};
  });
  add(PadParams{PadMode::kReflect}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({3, 4})), p.ints({1, 2, 0, 1})}, o = {p.output(f32({4, 7}))};
  });
  add(ExpandParams{}, [](OneOpPlan& p, List& i, List& o) { i = {p.input(f32({3, 1})), p.ints({2, 1, 4})}, o = {p.output(f32({2, 3, 4}))}; });
  add(TileParams{}, [](OneOpPlan& p, List& i, List& o) { i = {p.input(f32({3, 2})), p.ints({2, 3})}, o = {p.output(f32({6, 6}))}; });
  add(GatherParams{1}, [](OneOpPlan& p, List& i, List& o) { i = {p.input(f32({3, 4})), p.ints({3, -1, 0})}, o = {p.output(f32({3, 3}))}; });
  add(GatherElementsParams{0}, [](OneOpPlan& p, List& i, List& o) { i = {p.input(f32({3})), p.ints({2, 1})}, o = {p.output(f32({2}))}; });
  add(GatherNDParams{}, [](OneOpPlan& p, List& i, List& o) { i = {p.input(f32({3, 4})), p.ints({2})}, o = {p.output(f32({4}))}; });
  add(ScatterElementsParams{0, ScatterReduction::kAdd}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({4})), p.ints({2, 2}), p.floats({2})}, o = {p.output(f32({4}))};
  });
  add(ScatterNDParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({3, 4})), p.ints({1}), p.floats({4})}, o = {p.output(f32({3, 4}))};
  });
  add(TopKParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({2, 5})), p.ints({3})}, o = {p.output(f32({2, 3})), p.output(s64({2, 3}))};
  });
  add(CumulateParams{}, [](OneOpPlan& p, List& i, List& o) { i = {p.input(f32({2, 5})), p.ints({1})}, o = {p.output(f32({2, 5}))}; });
  add(ReverseSequenceParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({4, 2})), p.ints({3, 1})}, o = {p.output(f32({4, 2}))};
  });
  add(OneHotParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.ints({0, 2}), p.ints({3}), p.floats({2})}, o = {p.output(f32({2, 3}))};
  });
  add(TriluParams{}, [](OneOpPlan& p, List& i, List& o) { i = {p.input(f32({3, 4})), p.ints({1})}, o = {p.output(f32({3, 4}))}; });
  unary_op(BitCastParams{static_cast<int64_t>(DataType::kS32)}, f32({3}), TensorType{DataType::kS32, {3}, Layout::kLinear, {}});
  for (const GridSampleMode mode : {GridSampleMode::kLinear, GridSampleMode::kCubic})
    add(GridSampleParams{mode, GridSamplePadding::kReflection, false}, [](OneOpPlan& p, List& i, List& o) {
      i = {p.input(f32({1, 2, 3, 4})), p.input(f32({1, 2, 2, 2}))}, o = {p.output(f32({1, 2, 2, 2}))};
    });
  RoiAlignParams roi;
  roi.height = roi.width = 2;
  add(roi, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({1, 2, 4, 4})), p.input(f32({1, 4})), p.ints({0})}, o = {p.output(f32({1, 2, 2, 2}))};
  });
  MaxUnpoolParams unpool;
  unpool.kernel = unpool.strides = {2};
  add(unpool, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({1, 1, 2})), p.made.constant<int64_t>("places", s64({1, 1, 2}), {1, 2})}, o = {p.output(f32({1, 1, 4}))};
  });
  add(Col2ImParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({1, 4, 2})), p.ints({3, 2}), p.ints({2, 2})}, o = {p.output(f32({1, 1, 3, 2}))};
  });
  add(DeformConvParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({1, 2, 3, 3})), p.floats({1, 2, 2, 2}), p.input(f32({1, 8, 2, 2})), p.floats({1}), p.input(f32({1, 4, 2, 2}))};
    o = {p.output(f32({1, 1, 2, 2}))};
  });
  LinearAttentionParams linear_attention;
  linear_attention.q_heads = 2;
  linear_attention.gated = linear_attention.delta = true;
  add(linear_attention, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({1, 2, 4})), p.input(f32({1, 2, 2})), p.input(f32({1, 2, 3})), p.floats({1, 1, 2, 3}), p.floats({1, 2, 1}), p.floats({1, 2, 1})};
    o = {p.output(f32({1, 2, 6})), p.output(f32({1, 1, 2, 3}))};
  });
  unary_op(DeterminantParams{}, f32({2, 3, 3}), f32({2}));
  RoiPoolParams roi_pool;
  roi_pool.height = 2;
  add(roi_pool, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({1, 2, 4, 4})), p.input(f32({1, 5}))}, o = {p.output(f32({1, 2, 2, 1}))};
  });
  unary_op(ShapeParams{}, f32({3, 4}), s64({2}));
  add(ConstantOfShapeParams{}, [](OneOpPlan& p, List& i, List& o) { i = {p.ints({2, 3})}, o = {p.output(f32({2, 3}))}; });
  ResizeParams resize;
  resize.mode = ResizeMode::kLinear;
  add(resize, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({1, 2, 3, 4})), kNoIndex, kNoIndex, p.ints({1, 2, 5, 7})}, o = {p.output(f32({1, 2, 5, 7}))};
  });
  unary_op(DepthToSpaceParams{2, false}, f32({1, 8, 2, 3}), f32({1, 2, 4, 6}));
  unary_op(SpaceToDepthParams{2}, f32({1, 2, 4, 6}), f32({1, 8, 2, 3}));
  add(AttentionParams{}, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({1, 2, 3, 4})), p.input(f32({1, 2, 5, 4})), p.input(f32({1, 2, 5, 4}))}, o = {p.output(f32({1, 2, 3, 4}))};
  });
  RecurrentParams lstm;
  lstm.cell = RecurrentCell::kLstm;
  lstm.activations = {2, 1, 1};
  lstm.alphas = lstm.betas = {0, 0, 0};
  add(lstm, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({2, 1, 3})), p.floats({1, 8, 3}), p.floats({1, 8, 2}), p.floats({1, 16})};
    o = {p.output(f32({2, 1, 1, 2})), p.output(f32({1, 1, 2})), p.output(f32({1, 1, 2}))};
  });
  const TensorType weights{DataType::kS8, {4, 5}, Layout::kLinear, QuantParams{{0.5f, 0.25f, 0.5f, 1, 1}, {0, 0, 0, 0, 0}, 1, false}};
  add(MatMulParams{}, [&](OneOpPlan& p, List& i, List& o) {
    i = {p.input(u8({3, 4}, 0.5f, 3)), p.made.constant<int8_t>("w", weights, std::vector<int8_t>(20, 3))}, o = {p.output(u8({3, 5}, 2, 1))};
  });
  plans.push_back(conv_plan());
  plans.back().plan().steps.pop_back();  // the convolution alone, for its channels-last tactics
  plans.back().plan().outputs = {4};
  plans.back().slot(4).home = Slot::Home::kOutput;
  plans.back().slot(1).home = Slot::Home::kArena;
  plans.back().slot(1).offset = 0;
  conv.groups = 1;
  add(conv, [](OneOpPlan& p, List& i, List& o) {
    i = {p.input(f32({1, 4, 5, 5})), p.floats({3, 4, 3, 3}), p.floats({3})}, o = {p.output(f32({1, 3, 2, 3}))};
  });
  const size_t linear = plans.size();
  for (size_t i = 0; i < linear; ++i)
    if (plans[i].plan().steps.size() == 1) plans.push_back(in_channels_last(plans[i]));
  add_tactics(plans);
  return plans;
}

}  // namespace ingot
