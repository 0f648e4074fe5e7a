// Models that make no sense, one operator or one structure at a time: each is refused in one line that names the node, by the
// whole build in a child process, so that a trap, a hang or an overflow anywhere on the way fails the test.
#include <functional>
#include <source_location>

#include "guarded_build.h"

namespace ingot {
namespace {

// x is f32 [1,2,8,8], m f32 [4,6], q u8 [1,2,8,8], i s64 [3]; y is the result.
ModelMaker inputs(int64_t opset = 18) {
  ModelMaker model(opset);
  model.input("x", {int64_t{1}, int64_t{2}, int64_t{8}, int64_t{8}}).input("m", {int64_t{4}, int64_t{6}});
  model.input("q", {int64_t{1}, int64_t{2}, int64_t{8}, int64_t{8}}, 2).input("i", {int64_t{3}}, 7).output("y");
  return model;
}

// The node under test is called 'bad', and the refusal names it.
using Fill = std::function<void(ModelMaker&, NodeMaker&)>;
Outcome one(const char* op, std::initializer_list<const char*> operands, const Fill& fill = {}, int64_t opset = 18) {
  ModelMaker model = inputs(opset);
  NodeMaker node = model.node(op, operands, {"y"});
  node.named("bad");
  if (fill) fill(model, node);
  return build_guarded(model);
}
void expect_bad(const Outcome& outcome, const std::string& part = "", std::source_location from = std::source_location::current()) {
  const testing::ScopedTrace trace(__FILE__, static_cast<int>(from.line()), "expected to be refused");
  expect_readable(outcome);
  EXPECT_NE(outcome.code, StatusCode::kOk) << "was built";
  if (outcome.signal != 0 || outcome.code == StatusCode::kOk) return;
  EXPECT_NE(outcome.message.find("'bad'"), std::string::npos) << outcome.message;
  EXPECT_NE(outcome.message.find(part), std::string::npos) << "need '" << part << "' in: " << outcome.message;
  EXPECT_EQ(outcome.message.find('\n'), std::string::npos) << outcome.message;
}

#define CASE(fill) [&]([[maybe_unused]] ModelMaker& m, [[maybe_unused]] NodeMaker& n) { fill; }

void conv_weights(ModelMaker& model, std::initializer_list<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  model.constant<float>("w", dims, std::vector<float>(static_cast<size_t>(count), 1));
}

TEST(BadModels, ConvGroups) {
  for (int64_t group : {int64_t{0}, int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN})
    expect_bad(one("Conv", {"x", "w"}, CASE(conv_weights(m, {2, 2, 3, 3}); n.integer("group", group))), "group");
}

TEST(BadModels, ConvStrides) {
  for (int64_t stride : {int64_t{0}, int64_t{-1}, INT64_MIN})
    expect_bad(one("Conv", {"x", "w"}, CASE(conv_weights(m, {2, 2, 3, 3}); n.integers("strides", {stride, 1}))), "stride");
  expect_bad(one("Conv", {"x", "w"}, CASE(conv_weights(m, {2, 2, 3, 3}); n.integers("strides", {1}))), "strides");
  expect_readable(one("Conv", {"x", "w"}, CASE(conv_weights(m, {2, 2, 3, 3}); n.integers("strides", {INT64_MAX, 1}))));
}

TEST(BadModels, ConvDilations) {
  for (int64_t dilation : {int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MIN, INT64_MAX / 2 + 1, int64_t{1} << 62})
    expect_bad(one("Conv", {"x", "w"}, CASE(conv_weights(m, {2, 2, 3, 3}); n.integers("dilations", {dilation, 1}))), "dilation");
}

TEST(BadModels, ConvPads) {
  for (int64_t pad : {int64_t{-9}, INT64_MAX, INT64_MIN})
    expect_bad(one("Conv", {"x", "w"}, CASE(conv_weights(m, {2, 2, 3, 3}); n.integers("pads", {pad, 0, pad, 0}))));
  expect_bad(one("Conv", {"x", "w"}, CASE(conv_weights(m, {2, 2, 3, 3}); n.integers("pads", {1, 1, 1}))), "pads");
  expect_bad(one("Conv", {"x", "w"}, CASE(conv_weights(m, {2, 2, 3, 3}); n.text("auto_pad", "SAME"))), "auto_pad");
}

TEST(BadModels, ConvRanks) {
  expect_bad(one("Conv", {"x", "w"}, CASE(conv_weights(m, {2, 2, 3}))));
  expect_bad(one("Conv", {"x", "w"}, CASE(conv_weights(m, {2}))));
  expect_bad(one("Conv", {"m", "w"}, CASE(conv_weights(m, {2, 6}))));
  expect_bad(one("Conv", {"x", "w"}, CASE(conv_weights(m, {2, 2, 9, 9}))));
  expect_bad(one("Conv", {"x", "w"}, CASE(conv_weights(m, {2, 3, 3, 3}))));
  expect_bad(one("Conv", {"x", "w", "b"}, CASE(conv_weights(m, {2, 2, 3, 3}); m.constant<float>("b", {3}, {1, 2, 3}))));
  expect_bad(one("Conv", {"x", "w", "i"}, CASE(conv_weights(m, {2, 2, 3, 3}))));
  expect_bad(one("Conv", {"i", "w"}, CASE(conv_weights(m, {2, 2, 3, 3}))));
}

TEST(BadModels, ConvWithoutWeightsOrTaps) {
  expect_bad(one("Conv", {"x"}));
  expect_bad(one("Conv", {}));
  expect_bad(one("Conv", {"x", ""}));
  expect_readable(one("Conv", {"x", "w"}, CASE(conv_weights(m, {2, 2, 0, 3}))));
  expect_readable(one("Conv", {"x", "w"}, CASE(conv_weights(m, {0, 2, 3, 3}))));
}

TEST(BadModels, ConvTranspose) {
  const auto with = [](const char* name, std::vector<int64_t> values) {
    return one("ConvTranspose", {"x", "w"}, [&](ModelMaker& m, NodeMaker& n) { conv_weights(m, {2, 2, 3, 3}); n.integers(name, values); });
  };
  for (int64_t value : {int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MIN, int64_t{1} << 62}) expect_bad(with("strides", {value, 1}));
  for (int64_t value : {int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MIN, int64_t{1} << 62}) expect_bad(with("dilations", {value, 1}));
  for (int64_t value : {INT64_MAX, INT64_MIN, int64_t{-1}}) expect_bad(with("output_padding", {value, 0}));
  for (int64_t value : {INT64_MAX, INT64_MIN}) expect_bad(with("pads", {value, 0, value, 0}));
  for (int64_t value : {INT64_MAX, INT64_MIN, int64_t{-1}, int64_t{0}}) expect_readable(with("output_shape", {value, 3}));
  expect_bad(one("ConvTranspose", {"x", "w"}, CASE(conv_weights(m, {2, 2, 3, 3}); n.integer("group", 0))), "group");
}

TEST(BadModels, Pools) {
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    const auto with = [&](const char* name, std::vector<int64_t> values) {
      return one(op, {"x"}, [&](ModelMaker&, NodeMaker& n) {
        if (std::string(name) != "kernel_shape") n.integers("kernel_shape", {2, 2});
        n.integers(name, values);
      });
    };
    for (int64_t value : {int64_t{0}, int64_t{-1}, INT64_MIN}) expect_bad(with("strides", {value, 1}));
    for (int64_t value : {int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MIN}) expect_bad(with("kernel_shape", {value, 2}));
    expect_bad(with("kernel_shape", {9, 2}));
    expect_bad(with("kernel_shape", {2}));
    expect_bad(with("kernel_shape", {2, 2, 2}));
    for (int64_t value : {INT64_MAX, INT64_MIN}) expect_bad(with("pads", {value, 0, value, 0}));
    if (std::string(op) != "LpPool" ) expect_bad(one(op, {"m"}, CASE(n.integers("kernel_shape", {2}))));
    expect_bad(one(op, {"x"}), "kernel_shape");
  }
  for (int64_t value : {int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MIN})
    expect_bad(one("MaxPool", {"x"}, CASE(n.integers("kernel_shape", {2, 2}).integers("dilations", {value, 1}))));
  expect_bad(one("GlobalAveragePool", {"i"}));
}

// A window that lies in the padding alone has nothing to pool.
TEST(BadModels, PadsAsLargeAsTheKernel) {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    const Outcome outcome = one(op, {"x"}, CASE(n.integers("kernel_shape", {2, 2}).integers("pads", {2, 2, 2, 2})));
    expect_bad(outcome, "pads");
  }
}

TEST(BadModels, MatMulAndGemm) {
  expect_bad(one("MatMul", {"m", "m"}));
  expect_bad(one("MatMul", {"m"}));
  expect_bad(one("MatMul", {"m", "i"}));
  expect_bad(one("Gemm", {"m", "x"}));
  expect_bad(one("Gemm", {"m", "m"}));
  expect_bad(one("Gemm", {"m", "m", "x"}, CASE(n.integer("transB", 1))));
}

TEST(BadModels, Normalisations) {
  const auto four = [](ModelMaker& m, size_t count) {
    for (const char* name : {"s", "b", "mean", "var"}) m.constant<float>(name, {static_cast<int64_t>(count)}, std::vector<float>(count, 1));
  };
  expect_bad(one("BatchNormalization", {"x", "s", "b", "mean", "var"}, CASE(four(m, 3))));
  expect_bad(one("BatchNormalization", {"x", "s", "b", "mean"}, CASE(four(m, 2))));
  expect_readable(one("BatchNormalization", {"x", "s", "b", "mean", "var"}, CASE(four(m, 2); n.number("epsilon", -2))));
  expect_readable(one("BatchNormalization", {"x", "s", "b", "mean", "var"}, CASE(four(m, 2); n.number("epsilon", NAN))));
  expect_bad(one("InstanceNormalization", {"x", "s", "b"}, CASE(four(m, 3))));
  for (int64_t axis : {int64_t{4}, int64_t{-5}, INT64_MAX, INT64_MIN})
    expect_bad(one("LayerNormalization", {"x", "s"}, CASE(four(m, 8); n.integer("axis", axis))), "axis");
  for (int64_t groups : {int64_t{0}, int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN})
    expect_bad(one("GroupNormalization", {"x", "s", "b"}, CASE(four(m, 2); n.integer("num_groups", groups)), 21), "group");
  for (int64_t size : {int64_t{0}, int64_t{-1}, INT64_MIN}) expect_bad(one("LRN", {"x"}, CASE(n.integer("size", size))), "size");
  expect_readable(one("LRN", {"x"}, CASE(n.integer("size", INT64_MAX))));
}

TEST(BadModels, AxesOutOfRange) {
  for (int64_t axis : {int64_t{4}, int64_t{-5}, INT64_MAX, INT64_MIN}) {
    for (const char* op : {"Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin", "LpNormalization"})
      expect_bad(one(op, {"x"}, CASE(n.integer("axis", axis))), "axis");
    expect_bad(one("Concat", {"x", "x"}, CASE(n.integer("axis", axis))), "axis");
    expect_bad(one("Gather", {"x", "i"}, CASE(n.integer("axis", axis))), "axis");
    expect_bad(one("GatherElements", {"x", "g"}, CASE(n.integer("axis", axis); m.constant<int64_t>("g", {1, 1, 1, 1}, {0}))), "axis");
    expect_bad(one("ReduceSum", {"x", "a"}, CASE(m.constant<int64_t>("a", {1}, {axis}))), "axis");
    expect_bad(one("ReduceMean", {"x"}, CASE(n.integers("axes", {axis})), 13), "axis");
    expect_bad(one("Squeeze", {"x", "a"}, CASE(m.constant<int64_t>("a", {1}, {axis}))), "axis");
    expect_bad(one("Unsqueeze", {"m", "a"}, CASE(m.constant<int64_t>("a", {1}, {axis}))), "axis");
    expect_bad(one("Split", {"x"}, CASE(n.integer("axis", axis).integer("num_outputs", 1))), "axis");
    expect_bad(one("CumSum", {"x", "a"}, CASE(m.constant<int64_t>("a", {}, {axis}))), "axis");
    expect_bad(one("Slice", {"x", "z", "z", "a"}, CASE(m.constant<int64_t>("z", {1}, {0}).constant<int64_t>("a", {1}, {axis}))), "axis");
    expect_bad(one("TopK", {"x", "k"}, CASE(n.integer("axis", axis); m.constant<int64_t>("k", {1}, {1}))), "axis");
    expect_bad(one("OneHot", {"i", "k", "v"}, CASE(n.integer("axis", axis); m.constant<int64_t>("k", {}, {3}).constant<float>("v", {2}, {0, 1}))), "axis");
    if (axis != 4) expect_bad(one("Flatten", {"x"}, CASE(n.integer("axis", axis))), "axis");
    expect_bad(one("ReverseSequence", {"m", "l"}, CASE(n.integer("time_axis", axis).integer("batch_axis", 0); m.constant<int64_t>("l", {4}, {1, 1, 1, 1}))));
    expect_bad(one("Pad", {"x", "p", "", "a"}, CASE(m.constant<int64_t>("p", {2}, {0, 0}).constant<int64_t>("a", {1}, {axis}))), "axis");
    expect_bad(one("Resize", {"x", "", "s"}, CASE(n.integers("axes", {axis}); m.constant<float>("s", {1}, {2}))), "axis");
    expect_bad(one("QuantizeLinear", {"x", "s"}, CASE(n.integer("axis", axis); m.constant<float>("s", {2}, {1, 1}))), "axis");
  }
}

TEST(BadModels, AxesTwice) {
  for (std::vector<int64_t> axes : {std::vector<int64_t>{1, 1}, std::vector<int64_t>{1, -3}}) {
    expect_bad(one("ReduceSum", {"x", "a"}, CASE(m.constant<int64_t>("a", {2}, axes))), "axis");
    expect_bad(one("Squeeze", {"x", "a"}, CASE(m.constant<int64_t>("a", {2}, {0, -4}))), "axis");
    expect_bad(one("Unsqueeze", {"m", "a"}, CASE(m.constant<int64_t>("a", {2}, {1, -3}))), "axis");
    expect_bad(one("Slice", {"x", "z", "z", "a"}, CASE(m.constant<int64_t>("z", {2}, {0, 0}).constant<int64_t>("a", {2}, axes))), "axis");
    expect_bad(one("Pad", {"x", "p", "", "a"}, CASE(m.constant<int64_t>("p", {4}, {0, 0, 0, 0}).constant<int64_t>("a", {2}, axes))), "axis");
    expect_bad(one("Resize", {"x", "", "s"}, CASE(n.integers("axes", axes); m.constant<float>("s", {2}, {2, 2}))), "axis");
  }
}

TEST(BadModels, Permutations) {
  for (std::vector<int64_t> perm : {std::vector<int64_t>{0, 0}, {0}, {0, 1, 2}, {0, 2}, {INT64_MIN, 0}, {INT64_MAX, 1}})
    expect_bad(one("Transpose", {"m"}, CASE(n.integers("perm", perm))), "transpose");
}

TEST(BadModels, Reshapes) {
  for (std::vector<int64_t> dims : {std::vector<int64_t>{-1, -1}, {5, -1}, {7, 7}, {-2, 4}, {INT64_MIN}, {INT64_MAX, 2}, {int64_t{1} << 32, int64_t{1} << 32}, {24, 0, 0}})
    expect_bad(one("Reshape", {"m", "d"}, [&](ModelMaker& m, NodeMaker&) {
      auto& tensor = *m.graph().add_initializer();
      tensor.set_name("d");
      fill_tensor<int64_t>(tensor, {static_cast<int64_t>(dims.size())}, dims);
    }));
  expect_bad(one("Reshape", {"m", "d"}, CASE(m.constant<float>("d", {2}, {4, 6}))));
  expect_bad(one("Reshape", {"m", "d"}, CASE(m.constant<int64_t>("d", {1, 2}, {4, 6}))));
  expect_bad(one("Reshape", {"m"}));
  expect_bad(one("Expand", {"m", "d"}, CASE(m.constant<int64_t>("d", {2}, {4, 5}))));
  expect_bad(one("Expand", {"m", "d"}, CASE(m.constant<int64_t>("d", {2}, {-4, 6}))));
  expect_bad(one("Tile", {"m", "d"}, CASE(m.constant<int64_t>("d", {1}, {4}))));
  expect_bad(one("Tile", {"m", "d"}, CASE(m.constant<int64_t>("d", {2}, {-1, 1}))));
  expect_bad(one("Tile", {"m", "d"}, CASE(m.constant<int64_t>("d", {2}, {INT64_MAX, INT64_MAX}))));
}

TEST(BadModels, Slices) {
  const auto slice = [](std::vector<int64_t> start, std::vector<int64_t> end, std::vector<int64_t> step) {
    return one("Slice", {"m", "s", "e", "a", "t"}, [&](ModelMaker& m, NodeMaker&) {
      m.constant<int64_t>("s", {static_cast<int64_t>(start.size())}, start).constant<int64_t>("e", {static_cast<int64_t>(end.size())}, end);
      m.constant<int64_t>("a", {1}, {0}).constant<int64_t>("t", {static_cast<int64_t>(step.size())}, step);
    });
  };
  expect_bad(slice({0}, {1}, {0}), "step");
  expect_bad(slice({0, 0}, {1}, {1}));
  expect_bad(slice({0}, {1}, {1, 1}));
  for (int64_t a : {INT64_MIN, INT64_MAX, int64_t{-1}})
    for (int64_t b : {INT64_MIN, INT64_MAX, int64_t{-1}})
      for (int64_t step : {INT64_MIN, INT64_MAX, int64_t{-1}}) expect_readable(slice({a}, {b}, {step}));
}

TEST(BadModels, SplitsAndConcats) {
  expect_bad(one("Split", {"m", "s"}, CASE(m.constant<int64_t>("s", {1}, {3}))));
  expect_bad(one("Split", {"m", "s"}, CASE(m.constant<int64_t>("s", {2}, {-1, 5}))));
  expect_bad(one("Split", {"m", "s"}, CASE(m.constant<int64_t>("s", {2}, {INT64_MAX, INT64_MIN}))));
  expect_bad(one("Split", {"m"}, CASE(n.integer("num_outputs", 0))));
  expect_bad(one("Split", {"m"}, CASE(n.integer("num_outputs", INT64_MAX))));
  expect_bad(one("Concat", {}, CASE(n.integer("axis", 0))));
  expect_bad(one("Concat", {"m", "x"}, CASE(n.integer("axis", 0))));
  expect_bad(one("Concat", {"m", "i"}, CASE(n.integer("axis", 0))));
  expect_bad(one("Concat", {"m", "m"}), "axis");
}

TEST(BadModels, GathersAndScatters) {
  const auto index = [](const char* op, int64_t value) {
    return one(op, {"m", "g", "u"}, [&](ModelMaker& m, NodeMaker& n) {
      m.constant<int64_t>("g", {1, 1}, {value}).constant<float>("u", {1, 1}, {1});
      if (std::string(op).starts_with("Gather")) n.proto().mutable_input()->RemoveLast();
    });
  };
  for (const char* op : {"Gather", "GatherElements", "GatherND", "ScatterElements"})
    for (int64_t value : {int64_t{4}, int64_t{-5}, INT64_MAX, INT64_MIN}) {
      const Outcome outcome = index(op, value);
      expect_readable(outcome);
      EXPECT_NE(outcome.code, StatusCode::kOk) << op;
    }
  expect_bad(one("GatherND", {"m", "g"}, CASE(m.constant<int64_t>("g", {1, 3}, {0, 0, 0}))));
  for (int64_t dims : {int64_t{2}, int64_t{-1}, INT64_MAX, INT64_MIN})
    expect_bad(one("GatherND", {"m", "g"}, CASE(n.integer("batch_dims", dims); m.constant<int64_t>("g", {4, 1}, {0, 0, 0, 0}))), "batch_dims");
  expect_bad(one("Gather", {"m", "x"}));
  expect_bad(one("ScatterND", {"m", "g", "u"}, CASE(m.constant<int64_t>("g", {1, 2}, {0, 0}).constant<float>("u", {2}, {1, 2}))));
}

TEST(BadModels, QuantisationScales) {
  for (const char* op : {"QuantizeLinear", "DequantizeLinear"}) {
    const char* data = op[0] == 'Q' ? "x" : "q";
    for (float scale : {0.0f, -1.0f, NAN, INFINITY, -INFINITY, -0.0f})
      expect_bad(one(op, {data, "s"}, CASE(m.constant<float>("s", {}, {scale}))), "scale");
    expect_bad(one(op, {data, "s"}, CASE(m.constant<float>("s", {2}, {1, 0}))), "scale");
    expect_bad(one(op, {data, "s"}, CASE(m.constant<float>("s", {3}, {1, 1, 1}))));
    expect_bad(one(op, {data, "s"}, CASE(m.constant<float>("s", {0}, {}))));
    expect_bad(one(op, {data, "s", "z"}, CASE(m.constant<float>("s", {}, {1}).constant<float>("z", {}, {1}))));
    expect_bad(one(op, {data, "s", "z"}, CASE(m.constant<float>("s", {}, {1}).constant<uint8_t>("z", {2}, {1, 2}))));
    for (int64_t block : {int64_t{-1}, INT64_MIN})
      expect_bad(one(op, {data, "s"}, CASE(m.constant<float>("s", {1, 1, 8, 8}, std::vector<float>(64, 1)); n.integer("block_size", block)), 21), "block");
  }
}

TEST(BadModels, QuantisedLayers) {
  const auto conv = [](float scale) {
    return one("QLinearConv", {"q", "s", "z", "w", "s", "wz", "s", "z"}, [&](ModelMaker& m, NodeMaker&) {
      m.constant<float>("s", {}, {scale}).constant<uint8_t>("z", {}, {1}).constant<int8_t>("w", {2, 2, 1, 1}, {1, 2, 3, 4}).constant<int8_t>("wz", {}, {0});
    });
  };
  for (float scale : {0.0f, -1.0f, NAN, INFINITY}) expect_bad(conv(scale), "scale");
  expect_bad(one("MatMulInteger", {"q", "m"}));
  expect_bad(one("MatMulInteger", {"m", "m"}));
}

TEST(BadModels, Einsum) {
  const auto einsum = [](const std::string& equation) { return one("Einsum", {"m"}, [&](ModelMaker&, NodeMaker& n) { n.text("equation", equation); }); };
  for (const char* equation : {"", "ij->k", "ijk", "i", "ij->ii", "i.j", "ij,ij->i", "->", "ij->j.", "ij->i,j", "....", "ij->ij->ij", "1j", "\xff\x01"})
    expect_bad(einsum(equation));
  expect_bad(einsum(std::string(5000, 'i')), "too long");
  expect_bad(one("Einsum", {"m"}));
}

TEST(BadModels, Resizes) {
  const auto resize = [](const char* name, const char* value) { return one("Resize", {"x", "", "s"}, [&](ModelMaker& m, NodeMaker& n) { m.constant<float>("s", {4}, {1, 1, 2, 2}); n.text(name, value); }); };
  expect_bad(resize("mode", "best"), "mode");
  expect_bad(resize("coordinate_transformation_mode", "none"), "coordinate_transformation_mode");
  expect_bad(resize("nearest_mode", "up"), "nearest_mode");
  for (float scale : {0.0f, -1.0f, NAN, INFINITY, 3e38f})
    expect_bad(one("Resize", {"x", "", "s"}, CASE(m.constant<float>("s", {4}, {1, 1, scale, 1}))), "resize");
  expect_bad(one("Resize", {"x", "", "s"}, CASE(m.constant<float>("s", {3}, {1, 1, 1}))));
  expect_bad(one("Resize", {"x", "", "", "s"}, CASE(m.constant<int64_t>("s", {4}, {1, 2, -1, 4}))));
  expect_bad(one("Resize", {"x"}));
  expect_bad(one("Resize", {"x", "r", "s"}, CASE(m.constant<float>("s", {4}, {1, 1, 2, 2}).constant<float>("r", {2}, {0, 1}); n.text("coordinate_transformation_mode", "tf_crop_and_resize"))), "roi");
}

TEST(BadModels, Casts) {
  for (int64_t to : {int64_t{0}, int64_t{8}, int64_t{14}, int64_t{99}, int64_t{-1}, INT64_MAX, INT64_MIN, (int64_t{1} << 32) + 1})
    expect_bad(one("Cast", {"x"}, CASE(n.integer("to", to))));
  expect_bad(one("Cast", {"x"}));
}

TEST(BadModels, OperandsThatDoNotBroadcast) {
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Equal", "Less", "Max", "Min", "Mean", "Sum"}) expect_bad(one(op, {"x", "m"}));
  expect_bad(one("Add", {"x", "q"}));
  expect_bad(one("Add", {"x"}));
  expect_bad(one("Add", {"x", "x", "x"}));
  expect_bad(one("Where", {"x", "x", "x"}));
  expect_bad(one("Not", {"x"}));
  expect_bad(one("And", {"x", "x"}));
  expect_bad(one("PRelu", {"x", "m"}));
}

TEST(BadModels, Recurrent) {
  const auto lstm = [](auto fill, int64_t hidden = 2) {
    return one("LSTM", {"s", "w", "r"}, [&](ModelMaker& m, NodeMaker& n) {
      m.input("s", {int64_t{3}, int64_t{1}, int64_t{2}}).constant<float>("w", {1, 8, 2}, std::vector<float>(16, 1)).constant<float>("r", {1, 8, 2}, std::vector<float>(16, 1));
      n.integer("hidden_size", hidden);
      fill(n);
    });
  };
  expect_readable(lstm([](NodeMaker&) {}));
  for (int64_t hidden : {int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN}) expect_bad(lstm([](NodeMaker&) {}, hidden));
  expect_bad(lstm([](NodeMaker& n) { n.text("direction", "sideways"); }));
  expect_bad(lstm([](NodeMaker& n) { n.text("direction", "bidirectional"); }));
  expect_bad(lstm([](NodeMaker& n) { n.integer("layout", 7); }));
  expect_bad(lstm([](NodeMaker& n) { n.attribute("activations", onnx::AttributeProto::STRINGS).add_strings("Nothing"); }));
  expect_readable(lstm([](NodeMaker& n) { n.number("clip", NAN); }));
  expect_readable(lstm([](NodeMaker& n) { n.number("clip", -1); }));
}

TEST(BadModels, BlocksAndWindows) {
  for (int64_t block : {int64_t{0}, int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN, int64_t{1} << 32}) {
    expect_bad(one("DepthToSpace", {"x"}, CASE(n.integer("blocksize", block))));
    if (block != 2) expect_bad(one("SpaceToDepth", {"x"}, CASE(n.integer("blocksize", block))));
  }
  expect_bad(one("Trilu", {"i"}));
  expect_bad(one("TopK", {"x", "k"}, CASE(m.constant<int64_t>("k", {1}, {9}))));
  expect_bad(one("TopK", {"x", "k"}, CASE(m.constant<int64_t>("k", {1}, {-1}))));
  expect_bad(one("TopK", {"x", "k"}, CASE(m.constant<int64_t>("k", {2}, {1, 1}))));
  expect_bad(one("Pad", {"m", "p"}, CASE(m.constant<int64_t>("p", {4}, {INT64_MIN, 0, 0, 0}))));
  expect_bad(one("Pad", {"m", "p"}, CASE(m.constant<int64_t>("p", {4}, {-3, 0, -3, 0}))));
  expect_bad(one("Pad", {"m", "p"}, CASE(m.constant<int64_t>("p", {3}, {1, 1, 1}))));
  expect_readable(one("Pad", {"m", "p"}, CASE(m.constant<int64_t>("p", {4}, {100, 0, 100, 0}); n.text("mode", "reflect"))));
  expect_bad(one("Range", {"a", "b", "z"}, CASE(m.constant<int64_t>("a", {}, {0}).constant<int64_t>("b", {}, {9}).constant<int64_t>("z", {}, {0}))), "delta");
  expect_bad(one("ConstantOfShape", {"n"}, CASE(m.constant<int64_t>("n", {2}, {-1, 4}))));
  expect_bad(one("Col2Im", {"m", "a", "b"}, CASE(m.constant<int64_t>("a", {2}, {INT64_MAX, 2}).constant<int64_t>("b", {2}, {0, 1}))));
  expect_bad(one("GridSample", {"x", "m"}));
  expect_bad(one("RoiAlign", {"x", "m", "i"}, CASE(n.integer("output_height", INT64_MAX))));
}

}  // namespace
}  // namespace ingot
