// Two passes over the samples, both streaming: the first fills a histogram per tensor, the second, once scales are known,
// the means of each channel before and after quantisation.
#include "builder/calibrate.h"

#include <algorithm>
#include <cstring>

#include "builder/onnx/import_model.h"
#include "builder/passes/int8_roles.h"
#include "builder/plan/emit_plan.h"
#include "quant/activation_quantizer.h"
#include "quant/bias_correction.h"
#include "quant/clip_threshold.h"
#include "quant/range_observer.h"
#include "runtime/step_observer.h"

namespace ingot {
namespace {

constexpr int64_t kMaxMeanSamples = 128;   // the second pass: means settle quickly

struct Observed {
  RangeObserver values;
  int channel_axis = -1;  // of the readers; −1: no bias correction
  bool by_channel = false;  // a scale for each index of dim 1
  std::optional<ChannelRangeObserver> channel_values;
  ActivationQuant quant;
  std::vector<ActivationQuant> channel_quants;
  std::optional<ChannelMean> clipped, quantized;
};
using ObservedMap = std::map<std::string, Observed, std::less<>>;

// Which values to observe, and along which dim their readers sum: dim 1 for convolutions, the last for matrix products.
ObservedMap observed_values(const Graph& graph, const BuildOptions& options) {
  ObservedMap observed;
  const Int8Roles roles = find_int8_roles(graph, options);
  const std::vector<bool> by_channel = channel_scaled_values(graph, roles);
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (!roles.wanted[id] || value.type.dtype != DataType::kF32) continue;
    Observed& entry = observed[value.name];
    entry.by_channel = by_channel[id];
    for (NodeId user : value.users) {
      const Node& node = graph.node(user);
      if (roles.node[user] != Int8Role::kCore || node.inputs[0] != id) continue;
      entry.channel_axis = node.kind() == OpKind::kConv ? 1 : value.type.shape.rank - 1;
    }
  }
  return observed;
}

class Observer final : public StepObserver {
 public:
  Observer(ObservedMap& observed, const Plan& plan) : observed_(observed), plan_(plan) {}
  bool means = false;

  void see(std::string_view name, const TensorType& type, const void* data) {
    const auto found = observed_.find(name);
    if (found == observed_.end() || type.dtype != DataType::kF32) return;
    const std::span<const float> values(static_cast<const float*>(data), static_cast<size_t>(type.shape.elements()));
    if (means) return add_means(found->second, type, values);
    found->second.values.observe(values);
    if (found->second.by_channel) add_channel_ranges(found->second, type, values);
  }

  void after_step(size_t, const Step& step, std::span<const ConstTensorRef>, std::span<const ConstTensorRef> outputs,
                  double) override {
    if (std::holds_alternative<IdentityParams>(step.params)) return;  // a reformat shows the same values again
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] && step.outputs[i] != kNoIndex) see(plan_.slots[step.outputs[i]].name, *outputs[i].type, outputs[i].data);
  }

 private:
  // Elements from one index of `axis` to the next; 0 where they cannot be told apart.
  static int64_t inner_of(const TensorType& type, int axis) {
    if (axis < 0 || axis >= type.shape.rank) return 0;
    if (type.layout == Layout::kChannelsLast) return axis == 1 ? 1 : 0;
    int64_t inner = 1;
    for (int i = axis + 1; i < type.shape.rank; ++i) inner *= type.shape[i];
    return inner;
  }

  void add_channel_ranges(Observed& entry, const TensorType& type, std::span<const float> values) {
    const int64_t inner = inner_of(type, 1);
    if (inner == 0 || values.empty()) return;
    if (!entry.channel_values) entry.channel_values.emplace(type.shape[1]);
    entry.channel_values->observe(values, inner);
  }

  void add_means(Observed& entry, const TensorType& type, std::span<const float> values) {
    const int axis = entry.channel_axis;
    const int64_t inner = inner_of(type, axis);
    if (inner == 0 || values.empty()) return;
    const int64_t channels = type.shape[axis];
    if (!entry.clipped) {
      entry.clipped.emplace(channels);
      entry.quantized.emplace(channels);
    }
    clipped_.resize(values.size());
    quantized_.resize(values.size());
    if (entry.channel_quants.empty()) fake_quantize(values, entry.quant, clipped_, quantized_);
    else fake_quantize_channels(values, entry.channel_quants, inner, clipped_, quantized_);
    entry.clipped->add(clipped_, inner);
    entry.quantized->add(quantized_, inner);
  }

  ObservedMap& observed_;
  const Plan& plan_;
  std::vector<float> clipped_, quantized_;
};

}  // namespace

Expected<CalibrationTable> calibrate_graph(const Graph& graph, const BuildOptions& options) {
  SampleSource& source = *options.calibration;
  ObservedMap observed = observed_values(graph, options);
  const DeviceInfo device = cpu_device({options.threads, options.cpu_level, true});
  const auto costs = make_estimated_cost(device);
  BuildOptions quiet = options;
  quiet.progress = nullptr;
  quiet.tactic_libraries.clear();
  INGOT_ASSIGN(const Selection selection, select_tactics(graph, *costs, device, quiet));
  INGOT_ASSIGN(EmittedPlan plan, emit_plan(graph, selection, device));
  INGOT_ASSIGN(const Engine engine, make_engine(std::move(plan.owned), {options.threads, options.cpu_level, true}));
  INGOT_ASSIGN(ExecutionContext context, engine.create_context());
  Observer observer(observed, engine.plan());
  context.set_observer(&observer);
  for (const TensorInfo& output : engine.outputs()) (void)context.output_buffer(output.name);

  const auto run_samples = [&](int64_t limit, std::string_view stage) -> Expected<int64_t> {
    INGOT_TRY(source.rewind());
    std::vector<NamedTensor> sample;
    int64_t count = 0;
    const int64_t total = limit == 0 ? source.size() : source.size() < 0 ? limit : std::min(limit, source.size());
    while (limit == 0 || count < limit) {
      if (options.stop && *options.stop) return Status(StatusCode::kInterrupted, "calibration: interrupted");
      INGOT_ASSIGN(const bool more, source.next(sample));
      if (!more) break;
      if (Status status = feed_sample(context, engine, sample); !status.ok())
        return std::move(status).with_context("calibration sample " + std::to_string(count));
      for (const TensorInfo& input : engine.inputs()) {
        INGOT_ASSIGN(const Shape shape, context.shape(input.name));
        observer.see(input.name, {input.dtype, shape, Layout::kLinear, {}}, context.input_buffer(input.name).data);
      }
      INGOT_TRY(context.run());
      ++count;
      if (options.progress) options.progress({stage, count, total, -1});
    }
    return count;
  };

  INGOT_ASSIGN(const int64_t samples, run_samples(options.max_calibration_samples, "calibrating"));
  if (samples == 0)
    return Status(StatusCode::kInvalidArgument, "calibration: no samples: got 0, need at least 1 (a few hundred are usual)");

  CalibrationTable table;
  table.model_hash = graph.model_hash();
  table.method = to_string(options.method);
  if (options.method == CalibrationMethod::kPercentile) {
    char text[32];
    std::snprintf(text, sizeof text, " %.6g", options.percentile);
    table.method += text;
  }
  table.samples = samples;
  for (auto& [name, entry] : observed) {
    if (entry.values.non_finite() > 0)
      return Status(StatusCode::kInvalidArgument, "calibration: tensor '" + name + "' holds NaN or infinite values: got " +
                                                      std::to_string(entry.values.non_finite()) + ", need none; look at the data, or keep its readers in float");
    if (entry.values.count() == 0) continue;
    CalibrationRange range = clip_range(entry.values.histogram(), options.method, options.percentile);
    entry.quant = quantize_range_u8(range);
    if (entry.channel_values) {
      // Infinities count as the largest finite values.
      for (float low : entry.channel_values->low()) range.channel_low.push_back(std::max(low, std::min(range.observed_min, 0.0f)));
      for (float high : entry.channel_values->high()) range.channel_high.push_back(std::min(high, std::max(range.observed_max, 0.0f)));
      entry.channel_quants = quantize_channels_u8(range);
    }
    table.ranges[name] = range;
  }
  observer.means = true;
  const int64_t mean_samples = options.max_calibration_samples > 0 ? std::min(kMaxMeanSamples, options.max_calibration_samples) : kMaxMeanSamples;
  INGOT_TRY(run_samples(mean_samples, "measuring rounding bias").take_status());
  for (auto& [name, entry] : observed) {
    const auto range = table.ranges.find(name);
    if (!entry.clipped || range == table.ranges.end()) continue;
    const std::vector<double> clipped = entry.clipped->mean(), quantized = entry.quantized->mean();
    range->second.clipped_mean.assign(clipped.begin(), clipped.end());
    range->second.quantized_mean.assign(quantized.begin(), quantized.end());
  }
  return table;
}

Expected<std::vector<ShapeProfile>> derive_profiles(const std::string& model_path, const BuildOptions& options) {
  std::vector<ShapeProfile> profiles = options.profiles;
  if (!options.calibration) return profiles;
  INGOT_ASSIGN(const std::vector<ModelInput> inputs, read_model_inputs(model_path));
  std::vector<const ModelInput*> open;
  for (const ModelInput& input : inputs) {
    const bool given = std::any_of(profiles.begin(), profiles.end(), [&](const ShapeProfile& p) { return p.input == input.name; });
    if (!given && !input.shape.is_static()) open.push_back(&input);
  }
  if (open.empty()) return profiles;
  std::map<std::string, std::map<std::vector<int64_t>, int64_t>> seen;  // input → shape → how often
  INGOT_TRY(options.calibration->rewind());
  std::vector<NamedTensor> sample;
  while (true) {
    INGOT_ASSIGN(const bool more, options.calibration->next(sample));
    if (!more) break;
    for (const NamedTensor& tensor : sample) {
      const std::string name = tensor.name.empty() && inputs.size() == 1 ? inputs[0].name : tensor.name;
      const auto dims = tensor.shape.span();
      ++seen[name][std::vector<int64_t>(dims.begin(), dims.end())];
    }
  }
  for (const ModelInput* input : open) {
    const auto& shapes = seen[input->name];
    if (shapes.empty()) continue;  // the importer says what is missing
    ShapeProfile profile{input->name, Shape::of(shapes.begin()->first), Shape::of(shapes.begin()->first), Shape::of(shapes.begin()->first)};
    int64_t most = 0;
    bool ranks_agree = true;
    for (const auto& [dims, count] : shapes) {
      const Shape shape = Shape::of(dims);
      ranks_agree = ranks_agree && shape.rank == profile.min.rank;
      for (int i = 0; ranks_agree && i < shape.rank; ++i) {
        profile.min[i] = std::min(profile.min[i], shape[i]);
        profile.max[i] = std::max(profile.max[i], shape[i]);
      }
      if (count > most) {
        most = count;
        profile.opt = shape;
      }
    }
    if (!ranks_agree || profile.min.rank != input->shape.rank)
      return Status(StatusCode::kInvalidArgument, "calibration data for input '" + input->name + "' has the wrong rank: got " +
                                                      std::to_string(profile.min.rank) + ", need " + std::to_string(input->shape.rank));
    // A lone dynamic batch may grow to 8, as without data.
    bool only_batch = input->shape.rank > 0 && input->shape[0] < 0;
    for (int i = 1; i < input->shape.rank; ++i) only_batch = only_batch && input->shape[i] >= 0;
    if (only_batch) {
      profile.min[0] = 1;
      profile.max[0] = std::max<int64_t>(8, profile.max[0]);
    }
    profiles.push_back(profile);
  }
  return profiles;
}

}  // namespace ingot
