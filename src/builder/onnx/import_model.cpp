// Bodies of import_model.h: checks the model as a whole, then lets each node's importer add its ops to the graph.
#include "builder/onnx/import_model.h"

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <optional>
#include <unordered_map>

#include "builder/onnx/graph_importer.h"
#include "builder/onnx/inline_functions.h"
#include "builder/onnx/text.h"

namespace ingot {
namespace {

Status invalid(std::string what) { return Status(StatusCode::kInvalidModel, std::move(what)); }

Expected<ModelInput> read_input(const onnx::ValueInfoProto& info) {
  const std::string where = "input " + quoted(info.name());
  if (!info.has_type()) return invalid(where + ": has no type");
  if (!info.type().has_tensor_type())
    return Status(StatusCode::kUnsupported, where + ": only tensors are supported: got a sequence, map or optional value");
  const auto& tensor = info.type().tensor_type();
  ModelInput input;
  input.name = info.name();
  auto dtype = data_type_from_onnx(tensor.elem_type());
  if (!dtype.ok()) return dtype.take_status().with_context(where);
  input.dtype = *dtype;
  if (!tensor.has_shape())
    return Status(StatusCode::kUnsupported, where + ": has no shape, not even a number of dims; export the model with input shapes");
  if (tensor.shape().dim_size() > Shape::kMaxRank)
    return Status(StatusCode::kUnsupported, where + ": too many dims: got " + std::to_string(tensor.shape().dim_size()) +
                                                ", need ≤ " + std::to_string(Shape::kMaxRank));
  std::vector<int64_t> dims;
  for (const auto& dim : tensor.shape().dim()) {
    const bool fixed = dim.has_dim_value() && dim.dim_value() != Shape::kDynamic;
    if (fixed && dim.dim_value() < 0)
      return invalid(where + ": has a negative dim: got " + std::to_string(dim.dim_value()));
    dims.push_back(fixed ? dim.dim_value() : Shape::kDynamic);
    input.dim_names.push_back(dim.has_dim_param() ? dim.dim_param() : "");
  }
  std::vector<int64_t> fixed_dims = dims;
  std::replace(fixed_dims.begin(), fixed_dims.end(), Shape::kDynamic, int64_t{1});
  if (!checked_elements(fixed_dims)) return invalid(where + ": has more elements than can be counted");
  input.shape = Shape::of(dims);
  return input;
}

// The graph's inputs without those that have an initialiser: IR 3 lists the weights among the inputs.
std::vector<ModelInput> read_inputs(const onnx::GraphProto& graph, ModelProblems& problems) {
  std::unordered_set<std::string> initialisers, seen;
  for (const auto& tensor : graph.initializer()) initialisers.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) initialisers.insert(tensor.values().name());
  std::vector<ModelInput> inputs;
  for (const auto& info : graph.input()) {
    if (info.name().empty()) {
      problems.add(StatusCode::kInvalidModel, "an input has no name");
    } else if (!seen.insert(info.name()).second) {
      problems.add(StatusCode::kInvalidModel, "input " + quoted(info.name()) + " is there twice");
    } else if (!initialisers.contains(info.name())) {
      auto input = read_input(info);
      if (input.ok()) inputs.push_back(*std::move(input));
      else problems.add(input.status().code(), input.status().message());
    }
  }
  return inputs;
}

Status read_opsets(ModelImport& model, const onnx::GraphProto& graph) {
  for (const auto& opset : model.loaded.proto.opset_import()) {
    const std::string domain = opset.domain() == "ai.onnx" ? "" : opset.domain();
    const auto [place, is_new] = model.opsets.emplace(domain, opset.version());
    if (!is_new && place->second != opset.version())
      return invalid("opset of domain " + quoted(opset.domain()) + " is given twice: got " + std::to_string(place->second) +
                     " and " + std::to_string(opset.version()));
  }
  const auto place = model.opsets.find("");
  if (place == model.opsets.end()) {
    const auto is_default = [](const onnx::NodeProto& node) { return node.domain().empty() || node.domain() == "ai.onnx"; };
    if (std::none_of(graph.node().begin(), graph.node().end(), is_default)) return {};
    return invalid("names no opset version for the domain ai.onnx");
  }
  return {};
}

Expected<Graph> to_graph(LoadedModel& loaded, const ImportOptions& options) {
  if (!loaded.proto.has_graph()) return invalid("has no graph");
  ModelImport model{loaded, options, {}, {}, {}, {}};
  INGOT_ASSIGN(model.origins, inline_functions(loaded.proto));
  const onnx::GraphProto& proto = loaded.proto.graph();
  INGOT_TRY(read_opsets(model, proto));
  GraphImporter network(model, proto, nullptr);
  std::map<std::string, Shape> limits;
  for (const TensorLimit& limit : options.limits) limits[limit.tensor] = limit.shape;
  network.graph().set_limits(std::move(limits));
  network.check_names();
  const std::vector<ModelInput> inputs = read_inputs(proto, model.problems);
  std::unordered_set<std::string> initialisers;
  for (const auto& tensor : proto.initializer()) initialisers.insert(tensor.name());
  for (const auto& tensor : proto.sparse_initializer()) initialisers.insert(tensor.values().name());
  for (const auto& input : proto.input()) {
    if (!initialisers.contains(input.name())) continue;
    // A declaration that cannot be read, as one without a shape, declares nothing.
    if (auto declared = read_input(input); declared.ok()) network.declare(input.name(), *std::move(declared));
  }
  if (Status status = network.add_inputs(inputs); !status.ok()) model.problems.add(status.code(), status.message());
  // What a malformed part would have made is unknown; the nodes that do not need it are looked at all the same.
  INGOT_TRY(network.import_nodes(0));
  if (!model.problems.empty()) return model.problems.status(model.nodes);
  for (const auto& output : proto.output()) INGOT_TRY(network.add_output(output.name()));
  if (!model.problems.empty()) return model.problems.status(model.nodes);
  network.graph().set_model_hash(loaded.hash);
  return std::move(network.graph());
}

// Runs a stage that uses protobuf, turning what it throws into a status, and says which model it was.
template <class Function>
auto guarded(const std::string& label, Function function) -> decltype(function()) {
  try {
    auto result = function();
    if (!result.ok()) return result.take_status().with_context(label);
    return result;
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, label + ": not enough memory to import it");
  } catch (const std::exception& error) {
    return Status(StatusCode::kInvalidModel, label + ": cannot be read: " + error.what());
  }
}

std::string label_of(const std::string& path) { return "model " + quoted(path); }

}  // namespace

Expected<Graph> import_model(const std::string& path, const ImportOptions& options) {
  return guarded(label_of(path), [&]() -> Expected<Graph> {
    INGOT_ASSIGN(LoadedModel model, load_model(path, options.max_model_bytes));
    return to_graph(model, options);
  });
}

Expected<Graph> import_model_bytes(std::span<const std::byte> bytes, const std::string& base_dir,
                                   const ImportOptions& options) {
  return guarded("model", [&]() -> Expected<Graph> {
    INGOT_ASSIGN(LoadedModel model, load_model_bytes(bytes, base_dir, options.max_model_bytes));
    return to_graph(model, options);
  });
}

Expected<std::vector<ModelInput>> read_model_inputs(const std::string& path) {
  return guarded(label_of(path), [&]() -> Expected<std::vector<ModelInput>> {
    INGOT_ASSIGN(const LoadedModel model, load_model(path, INT32_MAX));
    if (!model.proto.has_graph()) return invalid("has no graph");
    ModelProblems problems;
    std::vector<ModelInput> inputs = read_inputs(model.proto.graph(), problems);
    INGOT_TRY(problems.status(0));
    return inputs;
  });
}

Expected<std::string> model_hash(const std::string& path) {
  return guarded(label_of(path), [&]() -> Expected<std::string> {
    INGOT_ASSIGN(LoadedModel model, load_model(path, INT32_MAX));
    return std::move(model.hash);
  });
}

}  // namespace ingot
