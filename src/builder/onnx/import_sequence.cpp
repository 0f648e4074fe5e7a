// Sequences and optional values, which no engine has: they fold away where their lengths and the places asked for are known
// at import.
#include <algorithm>

#include "builder/onnx/shared_attributes.h"

namespace ingot {
namespace {

constexpr int64_t kLongestSequence = 1 << 12;

// The sequence that an input is; null and an error where it is none.
const Aggregate* sequence(NodeImporter& node, size_t input) {
  const ValueId id = node.required(input);
  if (!node.ok()) return nullptr;
  const Aggregate* found = node.aggregate(id);
  if (found && found->is_sequence) {
    if (std::find(found->items.begin(), found->items.end(), kNone) == found->items.end()) return found;
    node.unsupported("an item of the sequence is the result of a node that was refused");
    return nullptr;
  }
  node.invalid("input " + std::to_string(input) + " is not a sequence");
  return nullptr;
}

// A place counted from either end, as 0 … size − 1.
int64_t read_place(NodeImporter& node, ValueId id, int64_t size) {
  const auto value = node.constant_scalar(id);
  if (!value) {
    node.unsupported("its place in the sequence must be constant");
    return 0;
  }
  const double n = static_cast<double>(size);
  if (!(*value >= -n && *value < n)) {
    node.invalid("place is outside the sequence: got " + std::to_string(*value) + ", need " + std::to_string(-size) + " to " +
                 std::to_string(size - 1));
    return 0;
  }
  return static_cast<int64_t>(*value) + (*value < 0 ? size : 0);
}

}  // namespace

void import_sequence_construct(NodeImporter& node) {
  node.ignore({"dtype"});
  if (node.op_type() == "SequenceEmpty") return node.result_aggregate({});
  node.result_aggregate({true, node.all_inputs()});
}

void import_sequence_insert(NodeImporter& node) {
  const Aggregate* given = sequence(node, 0);
  const ValueId item = node.required(1);
  if (!node.ok()) return;
  if (node.aggregate(item)) return node.unsupported("a sequence of sequences is not supported");
  Aggregate longer = *given;
  const auto size = static_cast<int64_t>(longer.items.size());
  if (size == kLongestSequence) return node.unsupported("sequence is too long: need at most " + std::to_string(kLongestSequence));
  int64_t place = size;
  // Behind the end is a place too, but −1 is the last item.
  if (node.input(2) != kNone && node.constant_scalar(node.input(2)) != static_cast<double>(size)) place = read_place(node, node.input(2), size);
  longer.items.insert(longer.items.begin() + place, item);
  node.result_aggregate(std::move(longer));
}

void import_sequence_erase(NodeImporter& node) {
  const Aggregate* given = sequence(node, 0);
  if (!node.ok()) return;
  Aggregate shorter = *given;
  const auto size = static_cast<int64_t>(shorter.items.size());
  if (size == 0) return node.invalid("the sequence is empty");
  const int64_t place = node.input(1) == kNone ? size - 1 : read_place(node, node.input(1), size);
  shorter.items.erase(shorter.items.begin() + place);
  node.result_aggregate(std::move(shorter));
}

void import_sequence_at(NodeImporter& node) {
  const Aggregate* given = sequence(node, 0);
  const ValueId at = node.required(1);
  if (!node.ok()) return;
  const int64_t place = read_place(node, at, static_cast<int64_t>(given->items.size()));
  if (node.ok()) node.alias(given->items[static_cast<size_t>(place)]);
}

void import_sequence_length(NodeImporter& node) {
  if (const Aggregate* given = sequence(node, 0)) node.alias(node.scalar_constant("length", DataType::kS64, static_cast<double>(given->items.size())));
}

// The body once for each item. The other sequences go along with the first; tensors are the same each time.
void import_sequence_map(NodeImporter& node) {
  const Aggregate* first = sequence(node, 0);
  if (!first) return;
  const size_t length = first->items.size();
  std::vector<Aggregate> results(node.output_count());
  for (size_t i = 0; i < length && node.ok(); ++i) {
    std::vector<ValueId> inputs;
    for (size_t k = 0; k < node.input_count(); ++k) {
      const ValueId id = node.input(k);
      const Aggregate* given = node.aggregate(id);
      if (given && given->items.size() < length) return node.invalid("sequences differ in length");
      inputs.push_back(given ? given->items[i] : id);
    }
    const std::vector<ValueId> outputs = node.inline_body("body", inputs);
    if (!node.ok()) return;
    if (outputs.size() != results.size())
      return node.invalid("wrong number of outputs: got " + std::to_string(results.size()) + ", need " + std::to_string(outputs.size()));
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (node.aggregate(outputs[k])) return node.unsupported("a sequence of sequences is not supported");
      results[k].items.push_back(outputs[k]);
    }
  }
  node.attribute("body");
  for (size_t k = 0; k < results.size(); ++k) node.result_aggregate(std::move(results[k]), k);
}

// Parts of given sizes, or all of one size with a smaller one at the end; without sizes single slices.
void import_split_to_sequence(NodeImporter& node) {
  const ValueId x = node.required(0), sizes = node.input(1);
  int64_t axis = node.integer("axis", 0);
  const bool keepdims = node.flag("keepdims", true);
  if (!node.ok()) return;
  axis = node.axis(axis, node.rank(x));
  if (!node.ok()) return;
  const int64_t dim = node.type(x).shape[static_cast<int>(axis)];
  std::vector<int64_t> parts;
  if (sizes == kNone || node.rank(sizes) == 0) {
    const auto size = sizes == kNone ? std::optional(1.0) : node.constant_scalar(sizes);
    if (dim < 0 || !size) return node.unsupported("the length of the sequence must be fixed: need a fixed dim and constant sizes");
    if (!(*size >= 1)) return node.invalid("size of a part is wrong: got " + std::to_string(*size) + ", need 1 or more");
    const int64_t step = static_cast<int64_t>(std::min(*size, static_cast<double>(std::max<int64_t>(dim, 1))));
    if (dim / step > kLongestSequence) return node.unsupported("sequence is too long: need at most " + std::to_string(kLongestSequence));
    for (int64_t at = 0; at < dim; at += step) parts.push_back(std::min(step, dim - at));
  } else {
    const auto given = node.constant_numbers(sizes, kLongestSequence);
    if (!given) return node.unsupported("the length of the sequence must be fixed: need constant sizes");
    for (double size : *given) {
      if (!(size >= 0 && size <= static_cast<double>(INT32_MAX))) return node.invalid("size of a part is wrong: got " + std::to_string(size));
      parts.push_back(static_cast<int64_t>(size));
    }
  }
  Aggregate sequence;
  if (!parts.empty()) sequence.items = node.add_all(SplitParams{axis}, {x, node.integers_constant("sizes", parts)}, parts.size());
  if (sizes == kNone && !keepdims)
    for (ValueId& item : sequence.items) item = node.squeeze(item, {axis});
  node.result_aggregate(std::move(sequence));
}

void import_concat_from_sequence(NodeImporter& node) {
  const Aggregate* given = sequence(node, 0);
  int64_t axis = node.integer("axis", 0);
  const bool is_new = node.flag("new_axis", false);
  if (!node.ok()) return;
  if (given->items.empty()) return node.invalid("the sequence is empty");
  std::vector<ValueId> items = given->items;
  axis = node.axis(axis, node.rank(items[0]) + is_new);
  if (!node.ok()) return;
  if (is_new)
    for (ValueId& item : items) item = node.unsqueeze(item, {axis});
  node.alias(node.concat(std::move(items), axis));
}

// Optional values hold what they were made from; nothing else tells them apart.
void import_optional(NodeImporter& node) {
  node.attribute("type");
  if (node.input(0) != kNone) return node.alias(node.input(0));
  node.result_aggregate({false, {}});
}

void import_optional_has_element(NodeImporter& node) {
  const Aggregate* given = node.aggregate(node.input(0));
  const bool has = node.input(0) != kNone && (!given || given->is_sequence);
  node.alias(node.scalar_constant("has_element", DataType::kBool, has));
}

void import_optional_get_element(NodeImporter& node) {
  const ValueId id = node.required(0);
  if (const Aggregate* given = node.aggregate(id); given && !given->is_sequence) return node.invalid("the optional value is empty");
  node.alias(id);
}

}  // namespace ingot
