// Candidates in order: a number, one of the inputs' dims, what the op is known for (a concat adds, a reshape divides), one dim
// scaled and rounded down, several added, several multiplied, the smaller or larger of two.
#include "builder/graph/infer_dims.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "builder/graph/element_formulas.h"

namespace ingot {
namespace {

using Points = SymbolicDims::Points;
constexpr size_t kPoints = SymbolicDims::kPoints, kProbePoints = SymbolicDims::kProbePoints;
constexpr int64_t kNoValue = SymbolicDims::kNoValue;
// Answers at fewer points away from the probes, where all dims grow together, prove nothing.
constexpr size_t kFewestPoints = 6;
constexpr size_t kMostVariables = 12, kMostAdded = 8, kMostMultiplied = 6;
constexpr int64_t kMostSteps = 512, kMostDivisor = 64;
constexpr size_t kMostRemembered = size_t{1} << 16, kLongestName = 64;

// A node whose type rule can be asked at any point.
class Node {
 public:
  Node(const Graph& graph, SymbolicDims& symbols, const OpParams& params, std::span<const ValueId> inputs, size_t outputs)
      : symbols_(symbols), params_(params), made_(outputs) {
    for (ValueId id : inputs) {
      Input& input = inputs_.emplace_back();
      if (id == kNone) continue;
      const Value& value = graph.value(id);
      input.value = &value;
      if (value.constant) continue;
      input.elements = value.elements;
      for (const auto& list : {value.dims, value.elements})
        for (DimId dim : list)
          if (!symbols.constant_value(dim) && std::find(variables_.begin(), variables_.end(), dim) == variables_.end()) variables_.push_back(dim);
    }
  }

  const std::vector<DimId>& variables() const { return variables_; }
  DimId dim(size_t input, int d) {
    const Value& value = *inputs_[input].value;
    return value.dims.empty() ? symbols_.constant(value.type.shape[d]) : value.dims[static_cast<size_t>(d)];
  }
  const Value* input(size_t i) const { return i < inputs_.size() ? inputs_[i].value : nullptr; }

  // The outputs at a point; false where the node cannot be there. `changed` has another value than the formula gives.
  bool ask(size_t point, DimId changed = kNoDim, int64_t changed_to = 0) {
    std::vector<OpInput> operands;
    std::vector<Blob> held;
    held.reserve(inputs_.size());
    for (const Input& input : inputs_) {
      OpInput& operand = operands.emplace_back();
      if (!input.value) continue;
      operand = {input.value->type.dtype, input.value->type.shape, input.value->constant ? input.value->constant->data() : nullptr, true};
      for (size_t d = 0; d < input.value->dims.size(); ++d) {
        const DimId dim = input.value->dims[d];
        const int64_t size = dim == changed ? changed_to : symbols_.values(dim)[point];
        if (size == kNoValue || size < 0 || symbols_.divisor(dim) != 1) return false;
        operand.shape[static_cast<int>(d)] = size;
      }
      if (!checked_elements(operand.shape.span())) return false;
      if (input.elements.empty()) continue;
      held.push_back(elements_at(symbols_, input.elements, operand.dtype, point));
      if (held.back().empty()) return false;
      for (size_t i = 0; i < input.elements.size(); ++i)
        if (input.elements[i] == changed && !set_element(held.back(), i, operand.dtype, changed_to)) return false;
      operand.data = held.back().data();
    }
    std::fill(made_.begin(), made_.end(), OpOutput{});
    return infer_types(params_, operands, made_).ok();
  }
  const std::vector<OpOutput>& made() const { return made_; }
  const OpParams& params() const { return params_; }

 private:
  struct Input {
    const Value* value = nullptr;
    std::vector<DimId> elements;
  };
  static bool set_element(Blob& bytes, size_t i, DataType dtype, int64_t value) {
    const auto as_s32 = static_cast<int32_t>(value);
    if (dtype == DataType::kS64) std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    else if (dtype == DataType::kS32 && as_s32 == value) std::memcpy(bytes.data() + i * sizeof as_s32, &as_s32, sizeof as_s32);
    else return false;
    return true;
  }

  SymbolicDims& symbols_;
  const OpParams& params_;
  std::vector<Input> inputs_;
  std::vector<DimId> variables_;
  std::vector<OpOutput> made_;
};

// One output dim: its sizes at the points where the node can be.
struct Answers {
  Points sizes;
  std::vector<size_t> points;
};

class Fitter {
 public:
  Fitter(SymbolicDims& symbols, Node& node) : symbols_(symbols), node_(node) {}

  // Of dim d of an output; `others`: formulas found for the dims before it, kNoDim for those to come.
  DimId fit(const Answers& answers, size_t output, int d, std::span<const DimId> others) {
    const int64_t first = answers.sizes[answers.points[0]];
    if (std::all_of(answers.points.begin(), answers.points.end(), [&](size_t p) { return answers.sizes[p] == first; })) return symbols_.constant(first);
    if (static_cast<size_t>(std::count_if(answers.points.begin(), answers.points.end(), [](size_t p) { return p >= kProbePoints; })) < kFewestPoints)
      return kNoDim;
    if (const DimId same = copy(answers, d); same != kNoDim) return same;
    const std::vector<DimId>& variables = node_.variables();
    if (const DimId known = known_for(d, others); holds(known, answers)) return known;
    if (variables.size() > kMostVariables || symbols_.questions_left <= 0) return kNoDim;
    symbols_.questions_left -= 64;
    for (DimId variable : variables)
      if (const DimId scaled = scaled_from(variable, answers, output, d); holds(scaled, answers)) return scaled;
    if (const DimId added = added_from(answers); holds(added, answers)) return added;
    if (const DimId multiplied = multiplied_from(answers); multiplied != kNoDim) return multiplied;
    return extreme_from(answers);
  }

 private:
  bool holds(DimId id, const Answers& answers) const {
    if (id == kNoDim || symbols_.divisor(id) != 1) return false;
    return std::all_of(answers.points.begin(), answers.points.end(), [&](size_t p) { return symbols_.values(id)[p] == answers.sizes[p]; });
  }

  // The same dim of an input before others: where two inputs must agree, the first names both.
  DimId copy(const Answers& answers, int d) {
    for (size_t i = 0; node_.input(i); ++i)
      if (const Value& value = *node_.input(i); static_cast<size_t>(d) < value.dims.size() && holds(value.dims[static_cast<size_t>(d)], answers))
        return value.dims[static_cast<size_t>(d)];
    for (DimId variable : node_.variables())
      if (holds(variable, answers)) return variable;
    return kNoDim;
  }

  DimId known_for(int d, std::span<const DimId> others) {
    if (std::holds_alternative<ConcatParams>(node_.params())) {
      DimId total = symbols_.constant(0);
      for (size_t i = 0; node_.input(i); ++i) total = symbols_.sum(total, node_.dim(i, d));
      return total;
    }
    if (const auto* flatten = std::get_if<FlattenParams>(&node_.params())) {
      const int rank = node_.input(0)->type.shape.rank, axis = static_cast<int>(flatten->axis < 0 ? flatten->axis + rank : flatten->axis);
      DimId total = symbols_.constant(1);
      for (int k = d == 0 ? 0 : axis; k < (d == 0 ? axis : rank); ++k) total = symbols_.product(total, node_.dim(0, k));
      return total;
    }
    if (!std::holds_alternative<ReshapeParams>(node_.params()) || !node_.input(0)) return kNoDim;
    DimId total = symbols_.constant(1);
    for (int k = 0; k < node_.input(0)->type.shape.rank; ++k) total = symbols_.product(total, node_.dim(0, k));
    for (size_t k = 0; k < others.size(); ++k)
      if (k != static_cast<size_t>(d)) total = symbols_.quotient(total, others[k]);
    return total;
  }

  // ⌊(a·v + b) / c⌋: found on many sizes of v, one after the other, with all else as at the largest probe.
  DimId scaled_from(DimId variable, const Answers& answers, size_t output, int d) {
    const SymbolicDims::Range range = symbols_.range(variable);
    const auto low = static_cast<int64_t>(std::max(range.low, 0.0)), high = static_cast<int64_t>(std::min(range.high, 1e9));
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (size_t p : answers.points) pairs.emplace_back(symbols_.values(variable)[p], answers.sizes[p]);
    std::sort(pairs.begin(), pairs.end());
    for (size_t i = 1; i < pairs.size(); ++i)
      if (pairs[i].first == pairs[i - 1].first && pairs[i].second != pairs[i - 1].second) return kNoDim;
    symbols_.questions_left -= std::min(kMostSteps, high - low + 1);
    for (int64_t i = 0; i < std::min(kMostSteps, high - low + 1); ++i) {
      const int64_t size = high - low < kMostSteps ? low + i : i < kMostSteps / 2 ? low + i : i < kMostSteps * 5 / 8 ? high - (i - kMostSteps / 2) : symbols_.random_between(low, high);
      if (node_.ask(kProbeMax, variable, size) && node_.made()[output].shape.rank > d) pairs.emplace_back(size, node_.made()[output].shape[d]);
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    // Few sizes tell a line from others, but no steps.
    const size_t enough = static_cast<size_t>(std::min<int64_t>(high - low + 1, 8));
    if (pairs.size() < std::min<size_t>(enough, 3) || pairs.front().first == pairs.back().first) return kNoDim;
    const double slope = static_cast<double>(pairs.back().second - pairs.front().second) / static_cast<double>(pairs.back().first - pairs.front().first);
    for (int64_t c = 1; c <= (pairs.size() < enough ? 1 : kMostDivisor); ++c)
      for (int64_t a : {std::llround(slope * static_cast<double>(c)), std::llround(slope * static_cast<double>(c)) - 1, std::llround(slope * static_cast<double>(c)) + 1}) {
        if (a == 0) continue;
        int64_t least = INT64_MIN, most = INT64_MAX;
        for (const auto& [v, y] : pairs) {
          least = std::max(least, c * y - a * v);
          most = std::min(most, c * y + c - 1 - a * v);
        }
        if (least > most) continue;
        const int64_t b = least <= 0 && most >= 0 ? 0 : least > 0 ? least : most;
        const DimId top = symbols_.sum(symbols_.product(variable, symbols_.constant(a)), symbols_.constant(b));
        return symbols_.floor(symbols_.quotient(top, symbols_.constant(c)));
      }
    return kNoDim;
  }

  // Σ aᵢ·vᵢ + b with whole aᵢ, by elimination.
  DimId added_from(const Answers& answers) {
    const std::vector<DimId>& variables = node_.variables();
    const size_t count = variables.size() + 1;
    if (variables.size() < 2 || variables.size() > kMostAdded || answers.points.size() < count + 2) return kNoDim;
    std::vector<std::vector<double>> rows;
    for (size_t p : answers.points) {
      std::vector<double>& row = rows.emplace_back();
      for (DimId variable : variables) row.push_back(static_cast<double>(symbols_.values(variable)[p]));
      row.push_back(1);
      row.push_back(static_cast<double>(answers.sizes[p]));
    }
    std::vector<size_t> pivot_of(count, SIZE_MAX);
    size_t next = 0;
    for (size_t k = 0; k < count; ++k) {
      size_t best = next;
      for (size_t r = next; r < rows.size(); ++r)
        if (std::abs(rows[r][k]) > std::abs(rows[best][k])) best = r;
      if (best >= rows.size() || std::abs(rows[best][k]) < 1e-9) continue;
      std::swap(rows[best], rows[next]);
      for (size_t r = 0; r < rows.size(); ++r) {
        if (r == next || rows[r][k] == 0) continue;
        const double factor = rows[r][k] / rows[next][k];
        for (size_t j = k; j <= count; ++j) rows[r][j] -= factor * rows[next][j];
      }
      pivot_of[k] = next++;
    }
    DimId total = symbols_.constant(0);
    for (size_t k = 0; k < count; ++k) {
      if (pivot_of[k] == SIZE_MAX) continue;
      const double factor = rows[pivot_of[k]][count] / rows[pivot_of[k]][k];
      if (!(std::abs(factor) < 1e9)) return kNoDim;
      const DimId scale = symbols_.constant(std::llround(factor));
      total = symbols_.sum(total, k + 1 == count ? scale : symbols_.product(scale, variables[k]));
    }
    return total;
  }

  // A fraction of the product of some of the variables.
  DimId multiplied_from(const Answers& answers) {
    const std::vector<DimId>& variables = node_.variables();
    if (variables.size() > kMostMultiplied) return kNoDim;
    size_t largest = answers.points[0];
    for (size_t p : answers.points)
      if (answers.sizes[p] > answers.sizes[largest]) largest = p;
    for (uint32_t chosen = 3; chosen < (1u << variables.size()); ++chosen) {
      DimId total = symbols_.constant(1);
      for (size_t k = 0; k < variables.size(); ++k)
        if (chosen >> k & 1) total = symbols_.product(total, variables[k]);
      if (total == kNoDim || symbols_.values(total)[largest] == kNoValue || symbols_.values(total)[largest] == 0) continue;
      total = symbols_.quotient(symbols_.product(total, symbols_.constant(answers.sizes[largest])), symbols_.constant(symbols_.values(total)[largest]));
      if (holds(total, answers)) return total;
    }
    return kNoDim;
  }

  DimId extreme_from(const Answers& answers) {
    std::vector<DimId> ends = node_.variables();
    if (ends.size() > kMostMultiplied) return kNoDim;
    int64_t least = INT64_MAX, most = 0;
    for (size_t p : answers.points) least = std::min(least, answers.sizes[p]), most = std::max(most, answers.sizes[p]);
    ends.push_back(symbols_.constant(least));
    ends.push_back(symbols_.constant(most));
    for (size_t i = 0; i < ends.size(); ++i)
      for (size_t k = i + 1; k < ends.size(); ++k) {
        if (const DimId smaller = symbols_.least(ends[i], ends[k]); holds(smaller, answers)) return smaller;
        if (const DimId larger = symbols_.greatest(ends[i], ends[k]); holds(larger, answers)) return larger;
      }
    return kNoDim;
  }

  SymbolicDims& symbols_;
  Node& node_;
};

std::array<int64_t, kProbePoints> at_probes(const OutputFacts& output, int d) {
  std::array<int64_t, kProbePoints> sizes{};
  for (size_t p = 0; p < kProbePoints; ++p) sizes[p] = output.shapes[std::min(p, output.shapes.size() - 1)][d];
  return sizes;
}

bool is_late(const OutputFacts& output, int d) { return (output.late >> d & 1) != 0; }

DimId unknown_dim(SymbolicDims& symbols, const OutputFacts& output, int d, Points sizes) {
  const std::string name = output.name.substr(0, kLongestName) + '.' + std::to_string(d);
  if (is_late(output, d)) return symbols.late(name, at_probes(output, d));
  const auto probes = at_probes(output, d);
  std::copy(probes.begin(), probes.end(), sizes.begin());
  return symbols.unknown(name, sizes);
}

std::vector<std::vector<DimId>> fit_dims(const Graph& graph, SymbolicDims& symbols, const OpParams& params, std::span<const ValueId> inputs,
                                         std::span<const OutputFacts> outputs) {
  Node node(graph, symbols, params, inputs, outputs.size());
  std::vector<std::vector<Answers>> answers(outputs.size());
  std::vector<uint32_t> counted(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) answers[i].assign(static_cast<size_t>(outputs[i].shapes[0].rank), Answers());
  for (auto& list : answers)
    for (Answers& one : list) one.sizes.fill(kNoValue);
  for (size_t p = 0; p < kPoints; ++p) {
    if (!node.ask(p)) continue;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const OpOutput& made = node.made()[i];
      if (made.shape.rank != outputs[i].shapes[0].rank) continue;
      counted[i] |= made.counted;
      for (int d = 0; d < made.shape.rank; ++d) {
        Answers& one = answers[i][static_cast<size_t>(d)];
        one.sizes[p] = made.shape[d];
        one.points.push_back(p);
      }
    }
  }
  Fitter fitter(symbols, node);
  std::vector<std::vector<DimId>> dims(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    dims[i].assign(answers[i].size(), kNoDim);
    // Those that a reshape leaves to be computed come last.
    for (const bool last : {false, true})
      for (int d = 0; d < outputs[i].shapes[0].rank; ++d) {
        DimId& found = dims[i][static_cast<size_t>(d)];
        const Answers& one = answers[i][static_cast<size_t>(d)];
        const auto probes = at_probes(outputs[i], d);
        const bool agrees = is_late(outputs[i], d) || (one.points.size() >= outputs[i].shapes.size() && std::equal(probes.begin(), probes.end(), one.sizes.begin()));
        if (found != kNoDim) continue;
        if (!(counted[i] >> d & 1) && agrees && !one.points.empty()) found = fitter.fit(one, i, d, dims[i]);
        if (found == kNoDim && last) {
          const auto is_first = [&](int64_t size) { return size == probes[0]; };
          const bool same = std::all_of(probes.begin(), probes.end(), is_first) &&
                            std::all_of(one.points.begin(), one.points.end(), [&](size_t p) { return is_first(one.sizes[p]); });
          found = same && !is_late(outputs[i], d) ? symbols.constant(probes[0]) : unknown_dim(symbols, outputs[i], d, one.sizes);
        }
      }
  }
  return dims;
}

// What both branches make alike; a loop's states that keep their shape.
std::vector<std::vector<DimId>> control_flow_dims(const Graph& graph, SymbolicDims& symbols, const OpParams& params,
                                                  std::span<const ValueId> inputs, std::span<const Graph> bodies,
                                                  std::span<const OutputFacts> outputs) {
  const auto dim_of = [&](const Value& value, int d) {
    if (!value.dims.empty()) return value.dims[static_cast<size_t>(d)];
    return d < value.type.shape.rank && value.type.shape[d] != Shape::kDynamic ? symbols.constant(value.type.shape[d]) : kNoDim;
  };
  const auto* loop = std::get_if<LoopParams>(&params);
  std::vector<std::vector<DimId>> dims(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    for (int d = 0; d < outputs[i].shapes[0].rank; ++d) {
      DimId found = kNoDim;
      if (!loop) {
        const Value &a = bodies[0].value(bodies[0].outputs()[i]), &b = bodies[1].value(bodies[1].outputs()[i]);
        if (const DimId one = dim_of(a, d); one == dim_of(b, d)) found = one;
      } else if (i < static_cast<size_t>(loop->states)) {
        const Value &taken = bodies[0].value(bodies[0].inputs()[loop->body_first_state() + i]);
        const Value& made = bodies[0].value(bodies[0].outputs()[loop->body_result_state() + i]);
        const Value& initial = graph.value(inputs[LoopParams::kFirstState + i]);
        if (const DimId one = dim_of(initial, d); one == dim_of(taken, d) && one == dim_of(made, d)) found = one;
      }
      const auto probes = at_probes(outputs[i], d);
      const bool varies = !std::all_of(probes.begin(), probes.end(), [&](int64_t size) { return size == probes[0]; });
      if (found == kNoDim && !varies && !is_late(outputs[i], d)) found = symbols.constant(probes[0]);
      Points sizes;
      sizes.fill(kNoValue);
      dims[i].push_back(found == kNoDim ? unknown_dim(symbols, outputs[i], d, sizes) : found);
    }
  return dims;
}

bool fits_probes(const SymbolicDims& symbols, std::span<const std::vector<DimId>> dims, std::span<const OutputFacts> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (dims[i].size() != static_cast<size_t>(outputs[i].shapes[0].rank)) return false;
    for (size_t d = 0; d < dims[i].size(); ++d) {
      const auto probes = at_probes(outputs[i], static_cast<int>(d));
      if (!std::equal(probes.begin(), probes.end(), symbols.values(dims[i][d]).begin())) return false;
    }
  }
  return true;
}

// Whatever the type rule may look at.
std::vector<int64_t> key_of(const Graph& graph, const OpParams& params, std::span<const ValueId> inputs, std::span<const OutputFacts> outputs) {
  constexpr int64_t kMostHashed = 256;
  constexpr size_t kMostKept = 64;
  std::vector<int64_t> key = {static_cast<int64_t>(kind_of(params)), static_cast<int64_t>(hash_of(params)), static_cast<int64_t>(outputs.size())};
  for (ValueId id : inputs) {
    if (id == kNone) {
      key.push_back(-1);
      continue;
    }
    const Value& value = graph.value(id);
    key.push_back(static_cast<int64_t>(value.type.dtype));
    key.push_back(value.type.shape.rank);
    if (value.dims.empty()) key.insert(key.end(), value.type.shape.span().begin(), value.type.shape.span().end());
    else key.insert(key.end(), value.dims.begin(), value.dims.end());
    key.push_back(value.dims.empty() ? 0 : 1);
    key.push_back(static_cast<int64_t>(value.elements.size()));
    key.insert(key.end(), value.elements.begin(), value.elements.end());
    if (!value.constant) continue;
    if (value.type.shape.elements() > kMostHashed) {
      key.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(value.constant.get())));
      continue;
    }
    uint64_t hash = 1469598103934665603ull;
    for (std::byte b : *value.constant) hash = (hash ^ static_cast<uint64_t>(b)) * 1099511628211ull;
    key.push_back(static_cast<int64_t>(hash));
    for (size_t i = 0; i < std::min(kMostKept, value.constant->size()); ++i) key.push_back(static_cast<int64_t>((*value.constant)[i]));
  }
  for (const OutputFacts& output : outputs) key.push_back(output.late);
  return key;
}

}  // namespace

std::vector<OutputFormulas> infer_formulas(const Graph& graph, SymbolicDims& symbols, const OpParams& params,
                                           std::span<const ValueId> inputs, std::span<const Graph> bodies,
                                           std::span<const OutputFacts> outputs) {
  std::vector<OutputFormulas> result(outputs.size());
  bool varies = false, late = false;
  for (ValueId id : inputs) varies = varies || (id != kNone && (!graph.value(id).dims.empty() || !graph.value(id).elements.empty()));
  for (const OutputFacts& output : outputs) {
    late = late || output.late != 0;
    for (const Shape& shape : output.shapes) varies = varies || !(shape == output.shapes[0]);
  }
  if (!varies && !late) return result;
  std::vector<std::vector<DimId>> dims;
  if (is_control_flow(kind_of(params))) {
    dims = control_flow_dims(graph, symbols, params, inputs, bodies, outputs);
  } else if (late) {
    dims = fit_dims(graph, symbols, params, inputs, outputs);
  } else {
    std::vector<int64_t> key = key_of(graph, params, inputs, outputs);
    const auto known = symbols.inferred.find(key);
    if (known != symbols.inferred.end() && fits_probes(symbols, known->second, outputs)) dims = known->second;
    else dims = fit_dims(graph, symbols, params, inputs, outputs);
    if (symbols.inferred.size() < kMostRemembered) symbols.inferred[std::move(key)] = dims;
  }
  std::vector<std::vector<DimId>> elements;
  if (!is_control_flow(kind_of(params))) elements = infer_elements(graph, symbols, params, inputs, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool constant = std::all_of(dims[i].begin(), dims[i].end(), [&](DimId id) { return symbols.constant_value(id).has_value(); });
    if (!constant || outputs[i].late != 0) result[i].dims = std::move(dims[i]);
    if (i < elements.size()) result[i].elements = std::move(elements[i]);
  }
  return result;
}

}  // namespace ingot
