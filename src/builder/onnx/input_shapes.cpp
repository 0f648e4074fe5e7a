// Bodies of input_shapes.h.
#include "builder/onnx/input_shapes.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "builder/onnx/dim_expression.h"
#include "builder/onnx/text.h"
#include "builder/graph/graph.h"

namespace ingot {
namespace {

constexpr int64_t kDefaultMaxBatch = 8;
constexpr int64_t kMaxDim = int64_t{1} << 31;

struct DimRange {
  int64_t min, opt, max;
  int64_t middle = Shape::kDynamic;  // of the probe between
};

std::string dims_text(const ModelInput& input) {
  std::string text;
  for (int i = 0; i < input.shape.rank; ++i) {
    if (i) text += "x";
    const std::string& name = input.dim_names[static_cast<size_t>(i)];
    if (input.shape[i] != Shape::kDynamic) text += std::to_string(input.shape[i]);
    else text += name.empty() ? "?" : printable(name);
  }
  return text;
}

// A profile the user could type: open dims get a plausible size.
std::string example(const ModelInput& input) {
  const auto shape = [&](int64_t batch, int64_t size) {
    Shape result = input.shape;
    for (int i = 0; i < result.rank; ++i)
      if (result[i] == Shape::kDynamic) result[i] = i == 0 ? batch : size;
    return to_string(result);
  };
  return "--profile '" + printable(input.name) + "=" + shape(1, 32) + ":" + shape(1, 320) + ":" + shape(kDefaultMaxBatch, 960) + "'";
}

// Strictly between min and max where there is room, not opt, and a multiple of what all three are multiples of: networks
// with strides often need sizes that divide well, so a size off their common power of two is never tried.
int64_t between(const DimRange& range) {
  const int64_t common = std::gcd(std::gcd(range.min, range.opt), range.max);
  for (int64_t step : {common, common & -common}) {
    if (step <= 0) continue;
    const int64_t first = (range.min / step + 1) * step, last = ((range.max - 1) / step) * step;
    if (first > last) continue;
    int64_t middle = (range.min + (range.max - range.min) / 2) / step * step;
    middle = std::clamp(middle, first, last);
    if (middle != range.opt) return middle;
    if (middle + step <= last) return middle + step;
    if (middle - step >= first) return middle - step;
  }
  return range.opt;
}

DimRange with_middle(DimRange range) {
  if (range.middle == Shape::kDynamic) range.middle = between(range);
  return range;
}

Status check_profile(const ShapeProfile& profile, const ModelInput& input) {
  const std::string where = "profile of input " + quoted(input.name);
  for (const Shape* shape : {&profile.min, &profile.opt, &profile.max})
    if (shape->rank != input.shape.rank)
      return Status(StatusCode::kInvalidArgument, where + ": wrong number of dims: got " + to_string(*shape) + ", need " +
                                                      std::to_string(input.shape.rank) + " as in " + dims_text(input));
  for (int i = 0; i < input.shape.rank; ++i) {
    const int64_t fixed = input.shape[i], min = profile.min[i], opt = profile.opt[i], max = profile.max[i];
    const std::string got = "dim " + std::to_string(i) + ": got " + std::to_string(min) + ":" + std::to_string(opt) + ":" +
                            std::to_string(max);
    if (fixed != Shape::kDynamic && (min != fixed || opt != fixed || max != fixed))
      return Status(StatusCode::kInvalidArgument, where + ": the model fixes " + got + ", need " + std::to_string(fixed));
    if (fixed == Shape::kDynamic && !(0 <= min && min <= opt && opt <= max && max <= kMaxDim))
      return Status(StatusCode::kInvalidArgument, where + ": wrong order or size of " + got + ", need 0 ≤ min ≤ opt ≤ max");
  }
  return {};
}

}  // namespace

Expected<std::vector<std::vector<Shape>>> resolve_input_shapes(std::span<const ModelInput> inputs,
                                                               std::span<const ShapeProfile> profiles) {
  std::vector<const ShapeProfile*> profile_of(inputs.size(), nullptr);
  std::map<std::string, DimRange> named;
  for (const ShapeProfile& profile : profiles) {
    size_t at = 0;
    while (at < inputs.size() && inputs[at].name != profile.input) ++at;
    if (profile.input.empty() && inputs.size() == 1) at = 0;
    if (at == inputs.size()) {
      std::string known;
      for (const ModelInput& input : inputs) known += (known.empty() ? "" : ", ") + quoted(input.name);
      return Status(StatusCode::kInvalidArgument, "profile names no input of the model: got " + quoted(profile.input) +
                                                      ", need one of " + known);
    }
    if (profile_of[at])
      return Status(StatusCode::kInvalidArgument, "profile of input " + quoted(profile.input) + " is given twice");
    INGOT_TRY(check_profile(profile, inputs[at]));
    profile_of[at] = &profile;
    for (int i = 0; i < inputs[at].shape.rank; ++i)
      if (const std::string& name = inputs[at].dim_names[static_cast<size_t>(i)]; !name.empty())
        named.emplace(name, with_middle({profile.min[i], profile.opt[i], profile.max[i]}));
  }

  // A dim that is named a sum of others follows from these.
  const auto at = [&](int64_t DimRange::*end) {
    return [&named, end](const std::string& name) {
      const auto known = named.find(name);
      return known == named.end() ? std::nullopt : std::optional(known->second.*end);
    };
  };
  const auto followed = [&](const std::string& name) -> std::optional<DimRange> {
    const auto terms = parse_dim_expression(name);
    if (!terms) return std::nullopt;
    const auto min = value_of(*terms, at(&DimRange::min)), opt = value_of(*terms, at(&DimRange::opt)), max = value_of(*terms, at(&DimRange::max));
    const auto middle = value_of(*terms, at(&DimRange::middle));
    if (!min || !opt || !max || !middle || *max > kMaxDim || *min > *opt || *opt > *max || *middle < *min || *middle > *max) return std::nullopt;
    return DimRange{*min, *opt, *max, *middle};
  };

  std::vector<std::vector<DimRange>> ranges(inputs.size());
  std::string missing;
  bool dynamic = false;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const ModelInput& input = inputs[k];
    bool complete = true;
    for (int i = 0; i < input.shape.rank; ++i) {
      const std::string& name = input.dim_names[static_cast<size_t>(i)];
      DimRange range{input.shape[i], input.shape[i], input.shape[i]};
      if (profile_of[k]) {
        range = {profile_of[k]->min[i], profile_of[k]->opt[i], profile_of[k]->max[i]};
        const auto sum = followed(name);
        if (sum && sum->min == range.min && sum->opt == range.opt && sum->max == range.max) range = *sum;
      } else if (range.min == Shape::kDynamic) {
        const auto learned = name.empty() ? named.end() : named.find(name);
        const bool only_batch = i == 0 && std::count(input.shape.span().begin(), input.shape.span().end(), Shape::kDynamic) == 1;
        if (learned != named.end()) range = learned->second;
        else if (const auto sum = followed(name)) range = *sum;
        else if (only_batch) range = {1, 1, kDefaultMaxBatch};
        else complete = false;
      }
      dynamic = dynamic || range.min != range.max;
      ranges[k].push_back(with_middle(range));
    }
    if (!complete) missing += "\n  input " + quoted(input.name) + " has dims " + dims_text(input) + ": give " + example(input);
  }
  if (!missing.empty())
    return Status(StatusCode::kInvalidArgument,
                  "dims of inputs are open, need a profile (smallest:usual:largest) for each:" + missing);

  std::vector<std::vector<Shape>> result(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    Shape min = inputs[k].shape, opt = min, max = min, middle = min;
    for (int i = 0; i < min.rank; ++i) {
      const DimRange& range = ranges[k][static_cast<size_t>(i)];
      min[i] = range.min, opt[i] = range.opt, max[i] = range.max, middle[i] = range.middle;
    }
    result[k] = dynamic ? std::vector<Shape>{min, opt, max, middle} : std::vector<Shape>{min};
  }
  return result;
}

}  // namespace ingot
