// Bodies of onnx_case.h.
#include "onnx_case.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "builder/onnx/import_model.h"
#include "builder/pipeline.h"
#include "data/tensor_proto.h"
#include "fast_types.h"
#include "ingot/builder.h"
#include "onnx/onnx.pb.h"
#include "run_samples.h"
#include "runtime/ops/half.h"
#include "runtime/ops/small_float.h"

namespace ingot {
namespace {

constexpr int64_t kMostBoundElements = 64;

Status failure(std::string what) { return Status(StatusCode::kInternal, std::move(what)); }

Expected<std::string> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status(StatusCode::kNotFound, "'" + path + "': cannot be opened");
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

// input_0.pb, input_1.pb … of one data set.
Expected<std::vector<NamedTensor>> read_data(const std::string& folder, const std::string& kind) {
  std::vector<NamedTensor> tensors;
  for (int i = 0;; ++i) {
    const std::string path = folder + "/" + kind + "_" + std::to_string(i) + ".pb";
    if (!std::filesystem::exists(path)) return tensors;
    INGOT_ASSIGN(const std::string bytes, read_bytes(path));
    INGOT_ASSIGN(NamedTensor tensor, parse_tensor_proto(std::as_bytes(std::span(bytes)), kind + " " + std::to_string(i)));
    tensors.push_back(std::move(tensor));
  }
}

template <class T>
T element(const NamedTensor& tensor, size_t i) {
  T value;
  std::memcpy(&value, tensor.data.data() + i * sizeof(T), sizeof(T));
  return value;
}

double float_element(const NamedTensor& tensor, size_t i) {
  switch (tensor.dtype) {
    case DataType::kF32: return static_cast<double>(element<float>(tensor, i));
    case DataType::kF64: return element<double>(tensor, i);
    case DataType::kF16: return static_cast<double>(f16_to_f32(element<uint16_t>(tensor, i)));
    default: return static_cast<double>(bf16_to_f32(element<uint16_t>(tensor, i)));
  }
}

// Floats of 8 bits and fewer are equal as numbers: −0 is 0, and any NaN is one.
bool same_small_float(DataType type, std::byte a, std::byte b) {
  if (!is_small_float(type)) return false;
  const double x = small_float_to_real(type, std::to_integer<uint8_t>(a)), y = small_float_to_real(type, std::to_integer<uint8_t>(b));
  return x == y || (std::isnan(x) && std::isnan(y));
}

// The error in units of the wanted value's last place; near 0 in those of a thousandth of the tensor's largest value.
double ulp_error(DataType type, double got, double want, double largest) {
  if (got == want || !std::isfinite(want) || !std::isfinite(got)) return 0;
  const int digits = type == DataType::kF64 ? 53 : type == DataType::kF32 ? 24 : type == DataType::kF16 ? 11 : 8;
  const int least = type == DataType::kF64 ? -1021 : type == DataType::kF16 ? -13 : -125;
  int exponent = 0;
  std::frexp(std::max(std::fabs(want), largest / 1000), &exponent);
  return std::fabs(got - want) / std::ldexp(1, std::max(exponent, least) - digits);
}

// As numpy.testing.assert_allclose for floats, with ONNX's wider tolerance for bfloat16; everything else to the byte.
Status compare(const NamedTensor& got, const NamedTensor& want, const OnnxCase& test, size_t index, double& ulp) {
  const std::string where = "output " + std::to_string(index) + ": ";
  if (got.dtype != want.dtype)
    return failure(where + "wrong type: got " + std::string(to_string(got.dtype)) + ", need " + std::string(to_string(want.dtype)));
  if (!(got.shape == want.shape))
    return failure(where + "wrong shape: got " + to_string(got.shape) + ", need " + to_string(want.shape));
  if (got.data.size() != want.data.size()) return failure(where + "wrong number of bytes");
  const bool floats = is_float(want.dtype) && !is_small_float(want.dtype);
  if (!floats) {
    const auto same = [&](size_t i) { return got.data[i] == want.data[i] || same_small_float(want.dtype, got.data[i], want.data[i]); };
    size_t at = 0;
    while (at < got.data.size() && same(at)) ++at;
    if (at == got.data.size()) return {};
    return failure(where + "wrong value: got byte " + std::to_string(std::to_integer<int>(got.data[at])) + ", need " +
                   std::to_string(std::to_integer<int>(want.data[at])) + " at " + std::to_string(at));
  }
  const double rtol = want.dtype == DataType::kBF16 ? std::max(test.rtol, 0x1p-6) : test.rtol;
  size_t wrong = 0;
  std::string first;
  const auto count = static_cast<size_t>(want.shape.elements());
  double largest = 0;
  for (size_t i = 0; i < count; ++i)
    if (const double value = std::fabs(float_element(want, i)); std::isfinite(value)) largest = std::max(largest, value);
  for (size_t i = 0; i < count; ++i) {
    ulp = std::max(ulp, ulp_error(want.dtype, float_element(got, i), float_element(want, i), largest));
    const double a = float_element(got, i), b = float_element(want, i);
    const bool close = a == b || (std::isnan(a) && std::isnan(b)) || (std::isfinite(a) && std::isfinite(b) && std::fabs(a - b) <= test.atol + rtol * std::fabs(b));
    if (close) continue;
    if (wrong++ == 0) {
      char text[100];
      std::snprintf(text, sizeof text, "got %.7g, need %.7g at %zu", a, b, i);
      first = text;
    }
  }
  if (wrong == 0) return {};
  return failure(where + "wrong value: " + first + ", " + std::to_string(wrong) + " of " + std::to_string(count));
}

struct LoadedCase {
  onnx::ModelProto model;
  std::vector<std::string> inputs;  // that are fed, in order
  std::vector<std::string> sets;    // folders
};

Expected<LoadedCase> load_case(const OnnxCase& test) {
  LoadedCase loaded;
  INGOT_ASSIGN(const std::string bytes, read_bytes(test.folder + "/model.onnx"));
  if (!loaded.model.ParseFromString(bytes)) return failure("model.onnx cannot be parsed");
  std::set<std::string> made;
  for (const auto& tensor : loaded.model.graph().initializer()) made.insert(tensor.name());
  for (const auto& input : loaded.model.graph().input())
    if (!made.contains(input.name())) loaded.inputs.push_back(input.name());
  for (int n = 0;; ++n) {
    std::string set = test.folder + "/test_data_set_" + std::to_string(n);
    if (!std::filesystem::exists(set)) break;
    loaded.sets.push_back(std::move(set));
  }
  if (loaded.sets.empty()) return failure("no data");
  return loaded;
}

// The element types with fast code for the model's optimised graph; none where it cannot be imported by itself.
std::string fast_types_of(const std::string& model_path) {
  auto graph = import_model(model_path, {});
  if (!graph.ok() || !run_float_passes(*graph, {}).ok() || !run_quantise_passes(*graph, {}).ok()) return {};
  std::string text;
  for (const std::string& type : fast_types(*graph)) text += (text.empty() ? "" : ",") + type;
  return text;
}

Status check(const OnnxCase& test, const std::string& model_path, const std::vector<NamedTensor>& sample,
             const std::vector<NamedTensor>& wanted, CaseMode mode, CaseResult& result, std::vector<ShapeProfile> profiles = {}) {
  cli::MemorySource source({sample});
  BuildOptions options;
  options.tune = false;
  options.verify = false;
  options.optimize = mode != CaseMode::kPlain;
  options.reference_only = mode == CaseMode::kPlain;
  options.profiles = std::move(profiles);
  if (options.profiles.empty()) options.calibration = &source;  // for the shapes only
  // Where a size depends on data, the answer's is the limit that a user would give.
  for (const NamedTensor& tensor : wanted) options.limits.push_back({tensor.name, tensor.shape});
  if (mode == CaseMode::kCuda) options.targets = {"cuda-sm_80"};
  auto loaded = build_and_load(model_path, options);
  if (mode == CaseMode::kCuda && !loaded.ok() && loaded.status().message().find("no kernel for ") != std::string::npos) {
    result.is_static = true;
    result.reason = loaded.status().message();
    return {};
  }
  INGOT_ASSIGN(const Engine engine, std::move(loaded));
  if (mode == CaseMode::kCuda && engine.target() == "cpu-x86-64") return failure("runs on the CPU: " + std::string(engine.remark()));
  const auto run = [&]() -> Status {
    INGOT_ASSIGN(ExecutionContext context, engine.create_context());
    cli::own_outputs(context, engine);
    INGOT_TRY(feed_sample(context, engine, sample));
    INGOT_TRY(context.run());
    INGOT_ASSIGN(const std::vector<NamedTensor> outputs, cli::outputs_of(context, engine));
    if (outputs.size() != wanted.size())
      return failure("wrong number of outputs: got " + std::to_string(outputs.size()) + ", need " + std::to_string(wanted.size()));
    for (size_t i = 0; i < outputs.size(); ++i) INGOT_TRY(compare(outputs[i], wanted[i], test, i, result.ulp));
    return {};
  };
  Status status = run();
  // What was built for open dims must run inside them.
  if (mode == CaseMode::kDynamic && !status.ok() && status.code() != StatusCode::kInternal) return failure(std::string(status.message()));
  if (mode == CaseMode::kOptimized && status.ok()) result.fast = fast_types_of(model_path);
  return status;
}

std::string write_model(const onnx::ModelProto& model) {
  const std::string path = std::filesystem::temp_directory_path() / ("onnx_case_" + std::to_string(::getpid()) + ".onnx");
  std::ofstream file(path, std::ios::binary);
  return model.SerializeToOstream(&file) && file.flush() ? path : std::string();
}

// Short tensors of rank ≤ 1 give shapes, axes, limits: what exporters write as constants. Their values move into the model.
bool may_bind(const NamedTensor& tensor) { return tensor.shape.rank <= 1 && tensor.shape.elements() <= kMostBoundElements; }

bool may_bind_any(const NamedTensor&) { return true; }

Expected<std::string> bind_inputs(LoadedCase& loaded, const std::string& set, std::vector<NamedTensor>& sample, size_t first,
                                  bool (*may)(const NamedTensor&)) {
  std::set<std::string> bound;
  std::vector<NamedTensor> kept;
  for (size_t i = 0; i < sample.size(); ++i) {
    if (i < first || !may(sample[i])) {
      kept.push_back(std::move(sample[i]));
      continue;
    }
    INGOT_ASSIGN(const std::string bytes, read_bytes(set + "/input_" + std::to_string(i) + ".pb"));
    onnx::TensorProto& tensor = *loaded.model.mutable_graph()->add_initializer();
    if (!tensor.ParseFromString(bytes)) return failure("an input cannot be parsed");
    tensor.set_name(loaded.inputs[i]);
    bound.insert(loaded.inputs[i]);
  }
  sample = std::move(kept);
  if (bound.empty()) return std::string();
  auto& inputs = *loaded.model.mutable_graph()->mutable_input();
  for (int i = inputs.size(); i-- > 0;)
    if (bound.contains(inputs[i].name())) inputs.DeleteSubrange(i, 1);
  const std::string path = write_model(loaded.model);
  if (path.empty()) return failure("a model cannot be written to the temporary folder");
  return path;
}

// One line, without the model's path; of several issues the first.
std::string one_line(std::string_view message) {
  std::string text(message);
  if (text.starts_with("model '"))
    if (const size_t end = text.find("': "); end != std::string::npos) text.erase(0, end + 3);
  if (const size_t line = text.find("\n  "); line != std::string::npos) {
    text.erase(0, line + 3);
    text.erase(std::min(text.size(), text.find('\n')));
  }
  if (text.starts_with("node '")) text.erase(0, 5);
  if (const size_t end = text.find("): "); text.starts_with('\'') && end != std::string::npos) {
    const size_t open = text.find(" (");
    const std::string op = open == std::string::npos ? "" : text.substr(open + 2, text.find(',', open) - open - 2);
    text = op + ": " + text.substr(end + 3);
  }
  for (std::string_view remedy : {"; replace it by what docs/onnx-support.md lists", "; mend it, or export the model again"})
    if (text.ends_with(remedy)) text.erase(text.size() - remedy.size());
  for (char& c : text)
    if (c == '\n' || c == '\t') c = ' ';
  return text;
}

// Dims of 2 and more get a name by their size, so that equal dims stay equal; each may be 1 smaller or 1 larger than in the case.
std::vector<ShapeProfile> open_dims(onnx::ModelProto& model, const std::vector<NamedTensor>& sample, bool only_first) {
  std::vector<ShapeProfile> profiles;
  for (auto& input : *model.mutable_graph()->mutable_input()) {
    const auto tensor = std::find_if(sample.begin(), sample.end(), [&](const NamedTensor& t) { return t.name == input.name(); });
    if (tensor == sample.end()) continue;
    auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    ShapeProfile profile{input.name(), tensor->shape, tensor->shape, tensor->shape};
    bool is_open = false;
    for (int i = 0; i < shape.dim_size() && i < tensor->shape.rank && i < (only_first ? 1 : Shape::kMaxRank); ++i) {
      const int64_t size = tensor->shape[i];
      if (size < 2) continue;
      shape.mutable_dim(i)->set_dim_param("d" + std::to_string(size));
      profile.min[i] = size - 1;
      profile.max[i] = size + 1;
      is_open = true;
    }
    if (is_open) profiles.push_back(profile);
  }
  return profiles;
}

// All dims open, then only the first of each input; shape-giving inputs as they are, then as constants.
Status run_dynamic(const OnnxCase& test, const LoadedCase& loaded, const std::string& set, const std::vector<NamedTensor>& sample,
                   const std::vector<NamedTensor>& wanted, CaseResult& result) {
  for (const bool only_first : {false, true})
    for (const bool bind : {false, true}) {
      LoadedCase open = loaded;
      std::vector<NamedTensor> fed = sample;
      if (bind) {
        INGOT_ASSIGN(const std::string path, bind_inputs(open, set, fed, 1, may_bind));
        if (path.empty()) continue;
      }
      std::vector<ShapeProfile> profiles = open_dims(open.model, fed, only_first);
      if (profiles.empty()) continue;
      const std::string path = write_model(open.model);
      Status status = check(test, path, fed, wanted, CaseMode::kDynamic, result, std::move(profiles));
      std::filesystem::remove(path);
      if (status.ok() || status.code() == StatusCode::kInternal) return status;
    }
  result.is_static = true;
  return {};
}

Status run_set(const OnnxCase& test, const std::string& set, CaseMode mode, CaseResult& result) {
  INGOT_ASSIGN(LoadedCase loaded, load_case(test));
  for (const auto* list : {&loaded.model.graph().input(), &loaded.model.graph().output()})
    for (const auto& info : *list)
      if (!info.type().has_tensor_type()) return failure("sequences, maps and optional values are not supported");
  INGOT_ASSIGN(std::vector<NamedTensor> sample, read_data(set, "input"));
  INGOT_ASSIGN(std::vector<NamedTensor> wanted, read_data(set, "output"));
  for (size_t i = 0; i < wanted.size() && i < static_cast<size_t>(loaded.model.graph().output_size()); ++i)
    wanted[i].name = loaded.model.graph().output(static_cast<int>(i)).name();
  if (sample.size() > loaded.inputs.size()) return failure("more data than inputs");
  for (size_t i = 0; i < sample.size(); ++i) sample[i].name = loaded.inputs[i];
  if (mode == CaseMode::kConstants) {
    INGOT_ASSIGN(const std::string path, bind_inputs(loaded, set, sample, 1, may_bind_any));
    if (!path.empty()) {
      Status status = check(test, path, sample, wanted, mode, result);
      std::filesystem::remove(path);
      if (status.ok() || status.code() == StatusCode::kInternal) return status;
    }
    INGOT_ASSIGN(loaded, load_case(test));  // the first input gives shapes too
    INGOT_ASSIGN(sample, read_data(set, "input"));
    for (size_t i = 0; i < sample.size(); ++i) sample[i].name = loaded.inputs[i];
  }
  if (mode == CaseMode::kDynamic) return run_dynamic(test, loaded, set, sample, wanted, result);
  Status status = check(test, test.folder + "/model.onnx", sample, wanted, mode, result);
  // Only what could not be built may be built otherwise; a wrong result stands.
  for (size_t first : {size_t{1}, size_t{0}}) {
    if (status.ok() || status.code() == StatusCode::kInternal || sample.size() <= first) continue;
    LoadedCase again = loaded;
    std::vector<NamedTensor> rest = sample;
    INGOT_ASSIGN(const std::string path, bind_inputs(again, set, rest, first, may_bind));
    if (path.empty()) continue;
    Status retried = check(test, path, rest, wanted, mode, result);
    std::filesystem::remove(path);
    // With everything in the model the second attempt says more about the operator than the first.
    if (retried.ok()) result.bound = true;
    if (retried.ok() || status.message().find("needs its value") == std::string_view::npos || first == 1) status = std::move(retried);
  }
  return status;
}

}  // namespace

Expected<std::vector<OnnxCase>> read_onnx_cases(const std::string& folder) {
  INGOT_ASSIGN(const std::string text, read_bytes(folder + "/index.tsv"));
  std::istringstream lines(text);
  std::vector<OnnxCase> cases;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    OnnxCase test;
    if (!(fields >> test.group >> test.name >> test.rtol >> test.atol >> test.op >> test.version))
      return Status(StatusCode::kInvalidArgument, "index.tsv: a line is not group, case, rtol, atol, operator, version: got '" + line + "'");
    if (test.op == "-") test.op.clear();
    std::getline(fields >> std::ws, test.line);
    test.folder = folder + "/" + test.group + "/" + test.name;
    cases.push_back(std::move(test));
  }
  return cases;
}

CaseResult run_onnx_case(const OnnxCase& test, CaseMode mode) {
  CaseResult result;
  Status status;
  auto loaded = load_case(test);
  if (!loaded.ok()) status = loaded.take_status();
  else
    for (const std::string& set : loaded->sets)
      if (status.ok()) status = run_set(test, set, mode, result);
  result.passed = status.ok();
  if (!result.passed) result.reason = one_line(status.message());
  return result;
}

}  // namespace ingot
