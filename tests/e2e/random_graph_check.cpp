// A difference beyond the tight bound is weighed against the program's own sensitivity: evaluations with errors of some ulps in
// all that float arithmetic reads and makes show how far a legal reordering can move each output.
#include "e2e/random_graph_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "builder/calibrate.h"
#include "builder/graph/graph_text.h"
#include "builder/graph/graph_verifier.h"
#include "builder/pipeline.h"
#include "builder/plan/emit_plan.h"
#include "builder/verify_engine.h"
#include "e2e/random_generator.h"
#include "runtime/format/engine_file.h"
#include "tolerance.h"

namespace ingot::random_graphs {
namespace {

// Costs that say nothing about speed: each seed selects other tactics and layouts.
class DrawnCost final : public CostModel {
 public:
  explicit DrawnCost(uint64_t seed) : seed_(seed) {}
  Expected<double> microseconds(const OwnedProblem& problem, const Tactic& tactic) override {
    const std::string text = problem_key(problem) + std::string(tactic.info().name);
    uint64_t hash = 14695981039346656037ull ^ seed_;
    for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    return 1.0 + Random(hash).real(0, 20);
  }

 private:
  uint64_t seed_;
};

// The program's own data: one sample for each probe.
class OwnSamples final : public SampleSource {
 public:
  explicit OwnSamples(const Program& program) : program_(program) {}
  Expected<bool> next(std::vector<NamedTensor>& inputs) override {
    inputs.clear();
    if (at_ >= program_.probes) return false;
    for (uint32_t input : program_.inputs()) {
      const Tensor tensor = make_input(program_, input, program_.values[input].shapes[at_]);
      inputs.push_back({value_name(input), tensor.type.dtype, tensor.type.shape, *tensor.data});
    }
    ++at_;
    return true;
  }
  Status rewind() override { return at_ = 0, Status(); }

 private:
  const Program& program_;
  size_t at_ = 0;
};

// What the plan did not foresee: it must say so, and may.
struct Unforeseen {};
struct Failure {
  std::string text;
};
void fail(const std::string& kind, const std::string& what) { throw Failure{kind + ": " + what}; }
void must(const Status& status, const std::string& kind) {
  if (!status.ok()) fail(kind, std::string(status.message()));
}
template <class T>
T must(Expected<T> value, const std::string& kind) {
  if (!value.ok()) fail(kind, std::string(value.status().message()));
  return *std::move(value);
}

struct BuiltEngine {
  EmittedPlan emitted;
  Engine load(int threads, const std::string& level, const std::string& kind) const {
    return must(make_engine(OwnedPlan{emitted.owned.plan, emitted.owned.owners, {}}, {threads, level, true}), kind);
  }
};

BuiltEngine build(const Graph& graph, CostModel& costs, const std::string& level, bool reference_only, const std::string& kind) {
  const DeviceInfo device = cpu_device({1, level, true});
  BuildOptions options;
  options.reference_only = reference_only;
  const Selection selection = must(select_tactics(graph, costs, device, options), kind);
  return {must(emit_plan(graph, selection, device), kind)};
}

using Results = std::vector<Tensor>;

Results run(ExecutionContext& context, const Engine& engine, const Program& program, const std::vector<Shape>& shapes, const std::string& kind,
            bool may_be_unforeseen) {
  size_t next = 0;
  for (uint32_t input : program.inputs()) must(context.set_shape(value_name(input), shapes[next++]), kind + ", set_shape");
  next = 0;
  for (uint32_t input : program.inputs()) {
    const Tensor tensor = make_input(program, input, shapes[next++]);
    const Buffer buffer = context.input_buffer(value_name(input));
    if (buffer.bytes < tensor.data->size()) fail(kind, "input buffer of " + value_name(input) + " is too small");
    if (!tensor.data->empty()) std::memcpy(buffer.data, tensor.data->data(), tensor.data->size());
  }
  std::vector<Buffer> buffers;
  for (const TensorInfo& output : engine.outputs()) buffers.push_back(context.output_buffer(output.name));
  // What a run leaves unwritten must not look right by chance.
  for (const Buffer& buffer : buffers)
    if (buffer.bytes > 0) std::memset(buffer.data, 0xa5, buffer.bytes);
  const Status status = context.run();
  if (!status.ok() && may_be_unforeseen && status.message().find(" within ") != std::string_view::npos) throw Unforeseen();
  must(status, kind + ", run");
  Results results;
  next = 0;
  for (const TensorInfo& output : engine.outputs()) {
    Tensor tensor{{output.dtype, must(context.shape(output.name), kind + ", shape"), Layout::kLinear, {}}, nullptr};
    const auto* data = static_cast<const std::byte*>(buffers[next++].data);
    tensor.data = std::make_shared<const Blob>(data, data + tensor.type.bytes());
    results.push_back(std::move(tensor));
  }
  return results;
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> found(tensor.data->size() / element_bytes(tensor.type.dtype));
  const auto fill = [&]<class T>(T) {
    for (size_t i = 0; i < found.size(); ++i) {
      T element;
      std::memcpy(&element, tensor.data->data() + i * sizeof(T), sizeof(T));
      found[i] = static_cast<double>(element);
    }
  };
  switch (tensor.type.dtype) {
    case DataType::kF32: fill(float{}); break;
    case DataType::kF64: fill(double{}); break;
    case DataType::kS64: fill(int64_t{}); break;
    case DataType::kS32: fill(int32_t{}); break;
    case DataType::kS8: fill(int8_t{}); break;
    default: fill(uint8_t{}); break;
  }
  return found;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (double v : values) most = std::max(most, std::abs(v));
  return most;
}
// Infinite where one is NaN and the other is not.
double distance(const std::vector<double>& a, const std::vector<double>& b, size_t* place = nullptr) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double d = std::abs(a[i] - b[i]);
    if (!(d <= most)) {
      most = std::isnan(d) ? INFINITY : d;
      if (place) *place = i;
    }
  }
  return most;
}

// Whether all tactics must give the same bytes: integers, and floats that no sum in floats went into.
std::vector<bool> exact_outputs(const Graph& graph) {
  std::vector<bool> exact(graph.value_count(), true);
  for (NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    bool all = true;
    for (ValueId input : node.inputs) all = all && (input == kNone || exact[input]);
    const ValueId x = graph.input(node, 0);
    const bool integers = x != kNone && !is_float(graph.value(x).type.dtype);
    switch (node.kind()) {
      case OpKind::kConv: case OpKind::kConvTranspose: case OpKind::kMatMul: case OpKind::kReduce: case OpKind::kResize:
      case OpKind::kCumulate: all = all && integers; break;
      case OpKind::kPool: all = all && (integers || std::get<PoolParams>(node.params).function == PoolFunction::kMax); break;
      case OpKind::kBatchNorm: case OpKind::kLayerNorm: case OpKind::kInstanceNorm: case OpKind::kSoftmax: case OpKind::kAttention:
      case OpKind::kRecurrent: case OpKind::kGridSample: case OpKind::kRoiAlign: all = false; break;
      case OpKind::kUnary: {
        const auto f = std::get<UnaryParams>(node.params).function;
        all = all && (is_activation(f) || integers || f == UnaryFunction::kAbs || f == UnaryFunction::kNeg || f == UnaryFunction::kNot);
        break;
      }
      case OpKind::kBinary: all = all && (integers || std::get<BinaryParams>(node.params).function != BinaryFunction::kPow); break;
      default: break;
    }
    for (ValueId output : node.outputs)
      if (output != kNone) exact[output] = all;
  }
  std::vector<bool> found;
  for (ValueId output : graph.outputs()) found.push_back(exact[output]);
  return found;
}

void compare_bytes(const Results& got, const Results& want, const std::vector<bool>* which, const std::string& kind) {
  if (got.size() != want.size()) fail(kind, "number of outputs");
  for (size_t i = 0; i < got.size(); ++i) {
    if (which && !(*which)[i]) continue;
    if (!(got[i].type.shape == want[i].type.shape)) fail(kind, "shape of output " + std::to_string(i) + ": got " + to_string(got[i].type) + ", need " + to_string(want[i].type));
    if (got[i].type.dtype != want[i].type.dtype) fail(kind, "type of output " + std::to_string(i));
    if (*got[i].data == *want[i].data) continue;
    const auto a = numbers(got[i]), b = numbers(want[i]);
    size_t place = 0;
    if (distance(a, b, &place) == 0) continue;  // −0, or NaNs of other bits
    fail(kind, "output " + std::to_string(i) + " element " + std::to_string(place) + ": got " + std::to_string(a[place]) + ", need " + std::to_string(b[place]));
  }
}

class Checker {
 public:
  Checker(const Program& program, const CheckOptions& options, CheckResult& result) : program_(program), options_(options), result_(result), random_(options.seed) {}

  void run_all(bool between) {
    for (size_t probe = 0; probe < program_.probes; ++probe) shapes_.push_back(shapes_at(program_, probe));
    if (program_.probes > 1 && between) add_shape_between();
    for (const auto& shapes : shapes_) wanted_.push_back(outputs_of(must(evaluate(program_, shapes), "evaluate")));
    const Graph raw = must(to_graph(program_), "import");
    must(verify_graph(raw), "import");
    result_.nodes_before = raw.topological_order().size();
    DrawnCost costs(options_.seed);
    // Unoptimised and by reference code, the plan must give what the program evaluates to, to the bit.
    const BuiltEngine plain = build(raw, costs, "", true, "unoptimised plan");
    const auto unoptimised = run_everywhere(plain.load(1, "", "unoptimised plan"), "unoptimised plan");
    for (size_t i = 0; i < wanted_.size(); ++i) compare_bytes(unoptimised[i], wanted_[i], nullptr, "unoptimised plan");

    Graph graph = raw;
    optimise(program_, options_, graph);
    result_.nodes_after = graph.topological_order().size();
    // Calibrated INT8 changes the function; all else may not.
    const std::vector<bool> exact = exact_outputs(graph);
    const BuiltEngine reference = build(graph, costs, "", true, "reference plan");
    const auto by_reference = run_everywhere(reference.load(1, "", "reference plan"), "reference plan");
    if (!options_.int8) compare_all(by_reference, "optimised, reference tactics");

    const std::string level = draw_level();
    const BuiltEngine drawn = build(graph, costs, level, false, "plan for " + level);
    const Engine engine = drawn.load(1, level, "engine for " + level);
    for (const Step& step : drawn.emitted.owned.plan.steps) result_.integer_steps += computes_in_int8(drawn.emitted.owned.plan, step);
    const auto results = run_everywhere(engine, "tactics for " + level);
    for (size_t i = 0; i < results.size(); ++i) compare_bytes(results[i], by_reference[i], &exact, "exact results of tactics for " + level);
    if (!options_.int8) compare_all(results, "optimised, tactics for " + level);
    const auto threaded = run_everywhere(drawn.load(2, level, "engine"), "two threads, " + level);
    for (size_t i = 0; i < results.size(); ++i) compare_bytes(threaded[i], results[i], nullptr, "two threads against one, " + level);
    OwnSamples samples(program_);
    std::vector<NamedTensor> sample;
    while (*samples.next(sample)) must(verify_engine(graph, drawn.emitted, engine, sample).take_status(), "steps for " + level);
    if (random_.chance(0.2)) check_file(drawn, level, results);
  }

  static void optimise(const Program& program, const CheckOptions& options, Graph& graph) {
    BuildOptions build_options;
    build_options.disabled_passes = options.disabled_passes;
    must(run_float_passes(graph, build_options), "float passes");
    if (options.int8) {
      OwnSamples samples(program);
      build_options.int8 = true;
      build_options.tune = false;
      build_options.calibration = &samples;
      build_options.method = Random(options.seed).one_of({CalibrationMethod::kMinMax, CalibrationMethod::kPercentile, CalibrationMethod::kMeanSquaredError});
      build_options.calibration_table = must(calibrate_graph(graph, build_options), "calibration");
    }
    must(run_quantise_passes(graph, build_options), "quantise passes");
  }

 private:
  // A shape that the passes never saw; the program may not allow it.
  void add_shape_between() {
    const double t = random_.real(0, 1);
    std::vector<Shape> shapes = shapes_[kProbeMin];
    for (size_t i = 0; i < shapes.size(); ++i)
      for (int d = 0; d < shapes[i].rank; ++d) shapes[i][d] += static_cast<int64_t>(std::lround(t * static_cast<double>(shapes_[kProbeMax][i][d] - shapes[i][d])));
    if (evaluate(program_, shapes).ok()) shapes_.push_back(shapes);
  }

  Results outputs_of(const std::vector<Tensor>& values) const {
    Results results;
    for (uint32_t output : program_.outputs) results.push_back(values[output]);
    return results;
  }

  std::vector<Results> run_everywhere(const Engine& engine, const std::string& kind) const {
    ExecutionContext context = must(engine.create_context(), kind);
    std::vector<Results> results(shapes_.size());
    // The largest first: what a smaller run leaves behind may not show.
    for (size_t i = 0; i < shapes_.size(); ++i) {
      const size_t at = shapes_.size() > 2 ? (i + kProbeMax) % shapes_.size() : i;
      results[at] = run(context, engine, program_, shapes_[at], kind, at >= program_.probes);
    }
    return results;
  }

  void compare_all(const std::vector<Results>& results, const std::string& kind) {
    for (size_t i = 0; i < results.size(); ++i)
      for (size_t o = 0; o < results[i].size(); ++o) compare(results[i][o], i, o, kind);
  }

  void compare(const Tensor& got, size_t at, size_t output, const std::string& kind) {
    const Tensor& want = wanted_[at][output];
    const std::string where = "output " + std::to_string(output) + " (" + value_name(program_.outputs[output]) + ") of run " + std::to_string(at);
    if (got.type.dtype != want.type.dtype || !(got.type.shape == want.type.shape))
      fail(kind, where + " type: got " + to_string(got.type) + ", need " + to_string(want.type));
    ++result_.compared;
    const auto a = numbers(got), b = numbers(want);
    size_t place = 0;
    const double error = distance(a, b, &place), scale = largest(b);
    const bool floats = is_float(got.type.dtype);
    if (error <= (floats ? kGraphTolerance.relative * scale : 0)) return;
    const double spread = sensitivity(at, output);
    if (spread > (floats ? kGraphTolerance.chaotic * scale : INFINITY) || std::isnan(spread)) {
      ++result_.unstable;
      return;
    }
    if (error <= (floats ? kGraphTolerance.relative * scale : 0) + kGraphTolerance.spread * spread) return;
    fail(kind, where + " element " + std::to_string(place) + ": got " + std::to_string(a[place]) + ", need " + std::to_string(b[place]) +
                   "; error " + std::to_string(error) + ", errors of rounding alone reach " + std::to_string(spread) + ", values " + std::to_string(scale));
  }

  // How far rounding errors move an output.
  double sensitivity(size_t at, size_t output) {
    auto& known = spreads_[at];
    if (known.empty()) {
      known.assign(program_.outputs.size(), 0);
      for (uint64_t seed = 1; seed <= kGraphTolerance.noise_runs; ++seed) {
        auto noisy = evaluate(program_, shapes_[at], {kGraphTolerance.noise, seed});
        if (!noisy.ok()) {
          known.assign(known.size(), NAN);
          break;
        }
        const Results results = outputs_of(*noisy);
        for (size_t o = 0; o < results.size(); ++o) {
          if (!(results[o].type.shape == wanted_[at][o].type.shape)) known[o] = NAN;
          else known[o] = std::max(known[o], distance(numbers(results[o]), numbers(wanted_[at][o])));
        }
      }
    }
    return known[output];
  }

  std::string draw_level() {
    std::vector<std::string> levels;
    for (const CpuLevel level : {CpuLevel::kScalar, CpuLevel::kAvx2, CpuLevel::kAvxVnni, CpuLevel::kAvx512Vnni})
      if (level <= detect_cpu_features().level) levels.emplace_back(to_string(level));
    return random_.pick(levels);
  }

  static bool computes_in_int8(const Plan& plan, const Step& step) {
    const OpKind kind = kind_of(step.params);
    if (kind != OpKind::kConv && kind != OpKind::kMatMul && kind != OpKind::kBinary && kind != OpKind::kPool && kind != OpKind::kUnary) return false;
    const DataType type = plan.slots[step.inputs[0]].type.dtype;
    return type == DataType::kU8 || type == DataType::kS8;
  }

  void check_file(const BuiltEngine& built, const std::string& level, const std::vector<Results>& want) {
    const EngineTarget target{&built.emitted.owned.plan};
    const auto bytes = must(encode_engine({&target, 1}, "{}"), "engine file");
    const std::unique_ptr<std::byte, decltype(&std::free)> memory(static_cast<std::byte*>(std::aligned_alloc(64, (bytes.size() + 63) / 64 * 64)), &std::free);
    std::memcpy(memory.get(), bytes.data(), bytes.size());
    // The kernels of another instruction set sum in the same order: floats too are equal to the bit.
    for (const std::string& other : {level, draw_level()}) {
      const Engine engine = must(Engine::load({memory.get(), bytes.size()}, {1, other, true}), "engine file");
      const auto got = run_everywhere(engine, "engine file");
      for (size_t i = 0; i < got.size(); ++i) compare_bytes(got[i], want[i], nullptr, "engine file at level " + other);
    }
  }

  const Program& program_;
  const CheckOptions& options_;
  CheckResult& result_;
  Random random_;
  std::vector<std::vector<Shape>> shapes_;
  std::vector<Results> wanted_;
  std::map<size_t, std::vector<double>> spreads_;
};

}  // namespace

CheckResult check(const Program& program, const CheckOptions& options) {
  CheckResult result;
  try {
    try {
      Checker(program, options, result).run_all(true);
    } catch (const Unforeseen&) {
      result = {};
      Checker(program, options, result).run_all(false);
    }
  } catch (const Failure& failure) {
    result.failure = failure.text;
  }
  return result;
}

std::string optimised_text(const Program& program, const CheckOptions& options) {
  try {
    Graph graph = must(to_graph(program), "import");
    Checker::optimise(program, options, graph);
    return to_text(graph);
  } catch (const Failure& failure) {
    return failure.text + "\n";
  }
}

}  // namespace ingot::random_graphs
