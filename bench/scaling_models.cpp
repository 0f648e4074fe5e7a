// Each family repeats a block that real models have, as exporters spell it.
#include "scaling_models.h"

#include <cmath>

#include "builder/onnx/onnx_proto.h"

namespace ingot::scaling {
namespace {

class ModelWriter {
 public:
  ModelWriter() {
    model_.set_ir_version(9);
    auto* opset = model_.add_opset_import();
    opset->set_domain("");
    opset->set_version(17);
    graph_ = model_.mutable_graph();
    graph_->set_name("scaling");
  }

  int64_t nodes() const { return graph_->node_size(); }

  std::string input(const std::string& name, const std::vector<int64_t>& dims) {
    describe(*graph_->add_input(), name, dims);
    return name;
  }
  std::string floats(const std::vector<int64_t>& dims, float low = -0.3f, float high = 0.3f) {
    auto* tensor = tensor_of(dims, 1);
    int64_t count = 1;
    for (int64_t dim : dims) count *= dim;
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) {
      state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
      value = low + (high - low) * static_cast<float>(state_ >> 40) / static_cast<float>(1 << 24);
    }
    tensor->set_raw_data(values.data(), values.size() * sizeof(float));
    return tensor->name();
  }
  std::string number(float value) { return floats({}, value, value); }
  std::string integers(const std::vector<int64_t>& values, bool scalar = false) {
    auto* tensor = tensor_of(scalar ? std::vector<int64_t>{} : std::vector<int64_t>{static_cast<int64_t>(values.size())}, 7);
    tensor->set_raw_data(values.data(), values.size() * sizeof(int64_t));
    return tensor->name();
  }

  // Adds a node and gives the name of its result.
  std::string node(const char* op, const std::vector<std::string>& inputs) {
    auto* made = graph_->add_node();
    made->set_op_type(op);
    made->set_name(std::string(op) + "_" + std::to_string(graph_->node_size()));
    for (const std::string& in : inputs) made->add_input(in);
    made->add_output("t" + std::to_string(graph_->node_size()));
    last_ = made;
    return made->output(0);
  }
  ModelWriter& ints(const char* name, const std::vector<int64_t>& values) {
    auto* attribute = last_->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INTS);
    for (int64_t value : values) attribute->add_ints(value);
    return *this;
  }
  ModelWriter& integer(const char* name, int64_t value) {
    auto* attribute = last_->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(value);
    return *this;
  }

  std::string finish(const std::string& output) {
    auto* info = graph_->add_output();
    info->set_name(output);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(1);
    return model_.SerializeAsString();
  }

 private:
  onnx::TensorProto* tensor_of(const std::vector<int64_t>& dims, int type) {
    auto* tensor = graph_->add_initializer();
    tensor->set_name("c" + std::to_string(graph_->initializer_size()));
    tensor->set_data_type(type);
    for (int64_t dim : dims) tensor->add_dims(dim);
    return tensor;
  }
  static void describe(onnx::ValueInfoProto& info, const std::string& name, const std::vector<int64_t>& dims) {
    info.set_name(name);
    auto* type = info.mutable_type()->mutable_tensor_type();
    type->set_elem_type(1);
    for (int64_t dim : dims) {
      auto* made = type->mutable_shape()->add_dim();
      if (dim < 0) made->set_dim_param("n" + std::to_string(-dim));
      else made->set_dim_value(dim);
    }
  }

  onnx::ModelProto model_;
  onnx::GraphProto* graph_;
  onnx::NodeProto* last_ = nullptr;
  uint64_t state_ = 1;
};

std::string conv(ModelWriter& m, const std::string& x, int64_t from, int64_t to, int64_t kernel) {
  const std::string y = m.node("Conv", {x, m.floats({to, from, kernel, kernel})});
  m.ints("pads", {kernel / 2, kernel / 2, kernel / 2, kernel / 2});
  return y;
}

std::string conv_chain(int64_t nodes) {
  ModelWriter m;
  std::string x = m.input("x", {1, 4, 4, 4});
  while (m.nodes() + 3 <= nodes) {
    x = m.node("BatchNormalization", {conv(m, x, 4, 4, 1), m.floats({4}, 0.9f, 1.1f), m.floats({4}), m.floats({4}), m.floats({4}, 0.5f, 1)});
    x = m.node("Relu", {x});
  }
  return m.finish(x);
}

// Sixteen branches from one value, summed, and a way around them.
std::string wide_residual(int64_t nodes) {
  ModelWriter m;
  std::string x = m.input("x", {1, 4, 4, 4});
  while (m.nodes() + 49 <= nodes) {
    std::string sum = x;
    for (int branch = 0; branch < 16; ++branch) sum = m.node("Add", {sum, m.node("Relu", {conv(m, x, 4, 4, 1)})});
    x = m.node("Mul", {sum, m.number(0.25f)});
  }
  return m.finish(x);
}

std::string layer_norm(ModelWriter& m, const std::string& x) {
  const std::string mean = m.node("ReduceMean", {x});
  m.ints("axes", {-1});
  const std::string d = m.node("Sub", {x, mean}), square = m.node("Pow", {d, m.number(2)});
  const std::string variance = m.node("ReduceMean", {square});
  m.ints("axes", {-1});
  const std::string root = m.node("Sqrt", {m.node("Add", {variance, m.number(1e-5f)})});
  return m.node("Add", {m.node("Mul", {m.node("Div", {d, root}), m.floats({8}, 0.9f, 1.1f)}), m.floats({8})});
}

std::string transformer(int64_t nodes) {
  ModelWriter m;
  std::string x = m.input("x", {1, 4, 8});
  const std::string shape = m.integers({1, 4, 2, 4}), flat = m.integers({1, 4, 8});
  while (m.nodes() + 60 <= nodes) {
    const std::string normed = layer_norm(m, x);
    const auto heads = [&](const std::vector<int64_t>& perm) {
      const std::string y = m.node("Add", {m.node("MatMul", {normed, m.floats({8, 8})}), m.floats({8})});
      const std::string turned = m.node("Transpose", {m.node("Reshape", {y, shape})});
      m.ints("perm", perm);
      return turned;
    };
    const std::string q = heads({0, 2, 1, 3}), k = heads({0, 2, 3, 1}), v = heads({0, 2, 1, 3});
    const std::string p = m.node("Softmax", {m.node("Mul", {m.node("MatMul", {q, k}), m.number(0.5f)})});
    m.integer("axis", -1);
    const std::string back = m.node("Transpose", {m.node("MatMul", {p, v})});
    m.ints("perm", {0, 2, 1, 3});
    const std::string projected = m.node("Add", {m.node("MatMul", {m.node("Reshape", {back, flat}), m.floats({8, 8})}), m.floats({8})});
    x = m.node("Add", {x, projected});
    const std::string h = m.node("Add", {m.node("MatMul", {layer_norm(m, x), m.floats({8, 16})}), m.floats({16})});
    const std::string e = m.node("Add", {m.node("Erf", {m.node("Div", {h, m.number(static_cast<float>(std::sqrt(2.0)))})}), m.number(1)});
    const std::string gelu = m.node("Mul", {m.node("Mul", {h, e}), m.number(0.5f)});
    x = m.node("Add", {x, m.node("Add", {m.node("MatMul", {gelu, m.floats({16, 8})}), m.floats({8})})});
  }
  return m.finish(x);
}

// Reshapes whose shapes are taken from the tensors, with two dims open.
std::string shape_arithmetic(int64_t nodes) {
  ModelWriter m;
  std::string x = m.input("x", {-1, -2, 8});
  while (m.nodes() + 15 <= nodes) {
    const std::string shape = m.node("Shape", {x});
    const auto dim = [&](int64_t i) {
      const std::string taken = m.node("Gather", {shape, m.integers({i}, true)});
      m.integer("axis", 0);
      return taken;
    };
    const auto vector = [&](const std::string& value) { return m.node("Unsqueeze", {value, m.integers({0})}); };
    const std::string batch = dim(0), length = dim(1);
    const std::string split = m.node("Concat", {vector(batch), vector(length), m.integers({2}), m.integers({4})});
    m.integer("axis", 0);
    const std::string turned = m.node("Transpose", {m.node("Reshape", {x, split})});
    m.ints("perm", {0, 2, 1, 3});
    const std::string together = m.node("Concat", {vector(m.node("Mul", {batch, length})), m.integers({8})});
    m.integer("axis", 0);
    const std::string back = m.node("Concat", {m.node("Shape", {x})});
    m.integer("axis", 0);
    const std::string y = m.node("Reshape", {m.node("Relu", {m.node("Reshape", {turned, together})}), back});
    x = m.node("Add", {x, y});
  }
  return m.finish(x);
}

// One input and one constant that every block reads.
std::string shared_values(int64_t nodes) {
  ModelWriter m;
  const std::string mask = m.input("mask", {4, 8}), factor = m.floats({8});
  std::string x = m.input("x", {4, 8});
  while (m.nodes() + 3 <= nodes) x = m.node("Tanh", {m.node("Add", {m.node("Mul", {x, factor}), mask})});
  return m.finish(x);
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> list = {
      {"conv_chain", "convolution, batch norm, ReLU, one after the other"},
      {"wide_residual", "sixteen branches from one value, summed, with a way around"},
      {"transformer", "pre-norm blocks with LayerNorm, attention and GELU spelled in primitives"},
      {"shape_arithmetic", "reshapes by computed shapes, two dims open"},
      {"shared_values", "one input and one constant that every block reads"},
  };
  return list;
}

std::string make_model(std::string_view family, int64_t nodes) {
  if (family == "conv_chain") return conv_chain(nodes);
  if (family == "wide_residual") return wide_residual(nodes);
  if (family == "transformer") return transformer(nodes);
  if (family == "shape_arithmetic") return shape_arithmetic(nodes);
  if (family == "shared_values") return shared_values(nodes);
  return {};
}

std::vector<ShapeProfile> profiles_of(std::string_view family) {
  if (family != "shape_arithmetic") return {};
  return {{"x", Shape{1, 2, 8}, Shape{2, 4, 8}, Shape{3, 6, 8}}};
}

}  // namespace ingot::scaling
