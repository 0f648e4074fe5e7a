// Each way in which a plan can make no sense is refused, with words that say what.
#include "runtime/plan_validator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "runtime/hand_made_plan.h"

namespace ingot {
namespace {

struct Spoil {
  const char* what;  // part of the message
  HandMadePlan (*make)();
  std::function<void(Plan&)> edit;
};

TEST(PlanValidator, AcceptsGoodPlans) {
  for (const auto make : {add_relu_plan, shape_chain_plan, channels_last_plan, conv_plan, late_plan}) {
    HandMadePlan made = make();
    const Status status = validate_plan(made.plan());
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(PlanValidator, RefusesWhatMakesNoSense) {
  // add_relu_plan: slots x y t c; shape_chain_plan: x y zero twos dims n target r; conv_plan: x y w b t.
  const Spoil cases[] = {
      {"input 0 does not exist", add_relu_plan, [](Plan& p) { p.steps[0].inputs[0] = 99; }},
      {"an output does not exist", add_relu_plan, [](Plan& p) { p.steps[0].outputs[0] = 99; }},
      {"has no output", add_relu_plan, [](Plan& p) { p.steps[0].outputs[0] = kNoIndex; }},
      {"is not computed before it", add_relu_plan, [](Plan& p) { std::swap(p.steps[0], p.steps[1]); }},
      {"is computed twice", add_relu_plan, [](Plan& p) { p.steps[1].outputs[0] = 2; }},
      {"no step computes it", add_relu_plan, [](Plan& p) { p.steps.pop_back(); }},
      {"writes to input or constant", add_relu_plan, [](Plan& p) { p.steps[0].outputs[0] = 3; }},
      {"lies outside the arena", add_relu_plan, [](Plan& p) { p.slots[2].offset = 64; }},
      {"lies outside the arena", add_relu_plan, [](Plan& p) { p.slots[2].offset = ~uint64_t{63}; }},
      {"lies outside the arena", add_relu_plan, [](Plan& p) { p.slots[2].offset = 8; }},
      {"bytes, need ≤ 68719476736", add_relu_plan, [](Plan& p) { p.arena_bytes = kMaxArenaBytes + 1; }},
      {"size: got 20 bytes, need 24", add_relu_plan, [](Plan& p) { p.slots[2].bytes = 20; }},
      {"is negative or too large", add_relu_plan, [](Plan& p) { p.slots[2].max_shape = p.slots[2].type.shape = {int64_t{1} << 40, int64_t{1} << 40}; }},
      {"is negative or too large", add_relu_plan, [](Plan& p) { p.slots[2].max_shape = p.slots[2].type.shape = {2, -3}; }},
      {"its blob does not exist", add_relu_plan, [](Plan& p) { p.slots[3].offset = 5; }},
      {"is not in the file", add_relu_plan, [](Plan& p) { p.blobs[0] = {}; }},
      {"blob size: got 8 bytes, need 12", add_relu_plan, [](Plan& p) { p.blobs[0] = p.blobs[0].first(8); }},
      {"not 64-byte aligned", add_relu_plan, [](Plan& p) { p.blobs[0] = p.blobs[0].subspan(4); }},
      {"name of two outputs", late_plan, [](Plan& p) { p.slots[2].name = "y"; }},
      {"needs one entry for each input", add_relu_plan, [](Plan& p) { p.profile.clear(); }},
      {"profile of dim 0", add_relu_plan, [](Plan& p) { p.profile[0].min[0] = 1; }},
      {"profile of dim 0", shape_chain_plan, [](Plan& p) { p.profile[0].min[0] = 4; }},
      {"profile of dim 0", shape_chain_plan, [](Plan& p) { p.profile[0].min[0] = -1; }},
      {"names of dims: need one for each", shape_chain_plan, [](Plan& p) { p.profile[0].dim_names = {"n"}; }},
      {"name of dim 1: too long, or of a fixed dim", shape_chain_plan, [](Plan& p) { p.profile[0].dim_names = {"n", "four"}; }},
      {"name of dim 0: too long, or of a fixed dim", shape_chain_plan, [](Plan& p) { p.profile[0].dim_names = {std::string(257, 'n'), ""}; }},
      {"profile does not match", shape_chain_plan, [](Plan& p) { p.profile[0].max[0] = 6; }},
      {"element type: got s32, need f32", add_relu_plan, [](Plan& p) { p.slots[2].type.dtype = DataType::kS32; }},
      {"shape: got 2x3, need 3x2", add_relu_plan, [](Plan& p) { p.slots[2].type.shape = p.slots[2].max_shape = {3, 2}; }},
      {"shape: got 5x2x2, need ?x2x2 within 4x2x2", shape_chain_plan, [](Plan& p) { p.slots[7].max_shape[0] = p.slots[1].max_shape[0] = 4; }},
      {"packed input 'x' is no constant", add_relu_plan, [](Plan& p) { p.steps[0].packed_inputs = 1; }},
      {"workspace lies outside", add_relu_plan, [](Plan& p) { p.steps[0].workspace_offset = 64, p.steps[0].workspace_bytes = 64; }},
      {"its workspace shares memory with tensor 't'", add_relu_plan, [](Plan& p) { p.steps[0].workspace_bytes = 64; }},
      {"share memory", shape_chain_plan, [](Plan& p) { p.slots[5].offset = p.slots[4].offset; }},
      // A shape step's result is kept for good, however early its last use.
      {"share memory", shape_chain_plan, [](Plan& p) { p.slots[7].offset = p.slots[4].offset; }},
      {"is no shape arithmetic", conv_plan, [](Plan& p) { p.steps[0].shape_step = true; }},
      {"known only at run time", add_relu_plan, [](Plan& p) { p.steps[0].shape_step = true; }},
      {"scale is not a finite number", conv_plan, [](Plan& p) { p.slots[0].type.quant->scales[0] = 0; }},
      {"scale is not a finite number", conv_plan, [](Plan& p) { p.slots[0].type.quant->scales[0] = NAN; }},
      {"zero point 300 is out of range", conv_plan, [](Plan& p) { p.slots[0].type.quant->zero_points[0] = 300; }},
      {"scales: got 1 and 2 zero points, need 2", conv_plan, [](Plan& p) { p.slots[2].type.quant->scales.pop_back(); }},
      {"quantisation axis out of range", conv_plan, [](Plan& p) { p.slots[2].type.quant->axis = 4; }},
      {"cannot be quantised", add_relu_plan, [](Plan& p) { p.slots[0].type.quant = QuantParams{{1.0f}, {0}, -1, false}; }},
      {"may have another layout", channels_last_plan, [](Plan& p) { p.slots[0].type.layout = Layout::kChannelsLast; }},
      {"channels last needs rank 3", add_relu_plan, [](Plan& p) { p.slots[2].type.layout = Layout::kChannelsLast; }},
      {"has the home of an input or output", add_relu_plan, [](Plan& p) { p.slots[2].home = Slot::Home::kInput; }},
      // late_plan: slots x y count places rows values; steps NonZero Transpose GatherND Add Shape.
      {"shape depends on data, but the step is not a late one", late_plan, [](Plan& p) { p.steps[0].late = false; }},
      {"reads 'places', whose shape is known late", late_plan, [](Plan& p) { p.steps[1].late = false; }},
      {"reads 'values', whose shape is known late", late_plan, [](Plan& p) { p.steps[4].late = false; }},
      {"reads 'values', whose shape is known late", late_plan, [](Plan& p) { p.steps[4].late = false, p.steps[4].shape_step = true; }},
      {"is both late and shape arithmetic", late_plan, [](Plan& p) { p.steps[4].shape_step = true; }},
      {"shape: got 2x12, need 3x?", late_plan, [](Plan& p) { p.slots[3].type.shape[0] = p.slots[3].max_shape[0] = 3, p.slots[3].bytes = 3 * 12 * 8, p.slots[3].offset = p.arena_bytes, p.arena_bytes += 320; }},
      {"shape: got 12, need ?x?", late_plan, [](Plan& p) { p.slots[1].type.shape = {kAny, kAny}, p.slots[1].max_shape = {12, 1}; }},
      {"shape: got 2x12, need 2x? within 2x13", late_plan, [](Plan& p) { p.slots[3].max_shape[1] = 13, p.slots[3].bytes = 2 * 13 * 8, p.slots[3].offset = p.arena_bytes, p.arena_bytes += 256; }},
      {"element type: got s64, need f32", late_plan, [](Plan& p) { p.slots[1].type.dtype = DataType::kS64, p.slots[1].bytes = 96; }},
      {"has no op", add_relu_plan, [](Plan& p) { p.steps[0].params = NoOpParams{}; }},
  };
  for (const Spoil& spoil : cases) {
    HandMadePlan made = spoil.make();
    spoil.edit(made.plan());
    const Status status = validate_plan(made.plan());
    EXPECT_FALSE(status.ok()) << spoil.what;
    EXPECT_NE(status.message().find(spoil.what), std::string_view::npos) << spoil.what << " / " << status.message();
  }
}

TEST(PlanValidator, MemoryMayBeReusedAfterTheLastUse) {
  HandMadePlan made;
  const uint32_t x = made.input("x", f32({4})), y = made.output("y", f32({4}));
  const uint32_t a = made.tensor("a", f32({4})), b = made.tensor("b", f32({4})), c = made.tensor("c", f32({4}));
  for (const auto& [from, to] : {std::pair(x, a), {a, b}, {b, c}, {c, y}}) made.step(UnaryParams{UnaryFunction::kAbs, 0, 0}, {from}, {to});
  made.slot(c).offset = made.slot(a).offset;
  EXPECT_TRUE(validate_plan(made.plan()).ok());
  made.slot(c).offset = made.slot(b).offset;
  EXPECT_FALSE(validate_plan(made.plan()).ok());
}

TEST(MakeEngine, UnknownTacticsAndVersionsAskForARebuild) {
  const auto error = [](const std::function<void(Plan&)>& edit) {
    HandMadePlan made = add_relu_plan();
    edit(made.plan());
    return make_engine(made.finish(), {}).take_status();
  };
  const Status unknown = error([](Plan& p) { p.steps[0].tactic = "cpu.binary.magic"; });
  EXPECT_EQ(unknown.code(), StatusCode::kVersionMismatch);
  EXPECT_EQ(unknown.message(), "step 'step0': tactic 'cpu.binary.magic' is not known to this runtime for Binary; "
                               "rebuild the engine or update the runtime");
  const Status library = error([](Plan& p) { p.steps[0].tactic = "cpu.conv.onednn.f32.channels_last"; });
  EXPECT_EQ(library.code(), StatusCode::kVersionMismatch);
  EXPECT_EQ(library.message(), "step 'step0': tactic 'cpu.conv.onednn.f32.channels_last' needs oneDNN, which this program was built without; "
                               "build the engine without --tactics onednn, or link ingot_onednn and call add_onednn_tactics()");
  const Status version = error([](Plan& p) { p.steps[0].tactic_version = 77; });
  EXPECT_EQ(version.code(), StatusCode::kVersionMismatch);
  EXPECT_EQ(version.message(), "step 'step0': tactic 'cpu.binary.reference': version: got 77, need 1; rebuild the engine");
  // A constant said to be packed reaches the kernel as null: the tactic must agree.
  EXPECT_EQ(error([](Plan& p) { p.steps[0].packed_inputs = 2; }).message(),
            "step 'step0': tactic 'cpu.binary.reference': packed inputs: got 2, need 0; rebuild the engine");
  EXPECT_EQ(error([](Plan& p) { p.steps[0].tactic = "cpu.unary.reference"; }).code(), StatusCode::kVersionMismatch);
  EXPECT_NE(error([](Plan& p) { p.steps[0].blob = 0; }).message().find("cpu.binary.reference"), std::string_view::npos);
}

}  // namespace
}  // namespace ingot
