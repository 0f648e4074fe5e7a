// Graph ↔ text. Only what the type rules cannot say is written: names, parameters, inputs, constants and storage.
#include "builder/graph/graph_text.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "builder/graph/graph_editor.h"
#include "builder/graph/infer_outputs.h"
#include "builder/graph/text_statement.h"

namespace ingot {
namespace {

constexpr int kMostBodiesWithin = 16;
constexpr int64_t kMaxListedElements = 16;
constexpr int64_t kMaxConstantBytes = int64_t{1} << 28;  // text comes from people and fuzzers

int64_t between(int64_t min, int64_t max) { return min + (max - min) / 2; }

// Calls f with a zero of the element's C++ type; false for types without one.
template <class F>
bool with_element(DataType dtype, F&& f) {
  switch (dtype) {
    case DataType::kF32: f(float{}); return true;
    case DataType::kF64: f(double{}); return true;
    case DataType::kS8: case DataType::kS4: case DataType::kS2: f(int8_t{}); return true;
    case DataType::kU8: case DataType::kU4: case DataType::kU2: case DataType::kBool: f(uint8_t{}); return true;
    case DataType::kS16: f(int16_t{}); return true;
    case DataType::kU16: f(uint16_t{}); return true;
    case DataType::kS32: f(int32_t{}); return true;
    case DataType::kU32: f(uint32_t{}); return true;
    case DataType::kS64: f(int64_t{}); return true;
    case DataType::kU64: f(uint64_t{}); return true;
    default: return false;
  }
}

std::string real_text(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

std::string storage_text(DataType dtype, const std::optional<QuantParams>& quant) {
  std::string text(to_string(dtype));
  if (!quant) return text;
  const auto list = [](const auto& values, auto&& print) {
    std::string out = values.size() == 1 ? "" : "[";
    for (size_t i = 0; i < values.size(); ++i) out += (i ? "," : "") + print(values[i]);
    return values.size() == 1 ? out : out + "]";
  };
  text += " s=" + list(quant->scales, [](float s) { return real_text(s, 9); });
  text += " z=" + list(quant->zero_points, [](int32_t z) { return std::to_string(z); });
  if (quant->axis >= 0) text += " axis=" + std::to_string(quant->axis);
  if (quant->trained) text += " trained";
  return text;
}

std::string type_text(const Value& value) {
  std::string text = std::string(to_string(value.type.dtype)) + '[';
  const auto& shapes = value.probe_shapes;
  for (int i = 0; i < shapes[0].rank; ++i) {
    if (i) text += 'x';
    text += std::to_string(shapes[0][i]);
    bool varies = false;
    for (const Shape& shape : shapes) varies = varies || shape[i] != shapes[0][i];
    if (!varies || shapes.size() < 4) continue;
    text += ':' + std::to_string(shapes[kProbeOpt][i]) + ':' + std::to_string(shapes[kProbeMax][i]);
    if (shapes[kProbeBetween][i] != between(shapes[0][i], shapes[kProbeMax][i]))
      text += ':' + std::to_string(shapes[kProbeBetween][i]);
  }
  return text + ']';
}

std::string data_text(const Value& value) {
  const int64_t count = value.type.shape.elements();
  std::string text;
  const bool listed = count <= kMaxListedElements && with_element(value.type.dtype, [&]<class T>(T) {
    text = "[";
    for (int64_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, value.constant->data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
      if (i) text += ',';
      if constexpr (std::is_floating_point_v<T>) text += real_text(element, std::numeric_limits<T>::max_digits10);
      else text += std::to_string(element);
    }
    text += ']';
  });
  if (listed) return text;
  char hash[32];
  std::snprintf(hash, sizeof hash, "hash(%016" PRIx64 ")", hash_of(*value.constant));
  return hash;
}

std::string constant_text(const Value& value) {
  std::string text = quoted_value_name(value.name) + " = const " + type_text(value) + ' ' + data_text(value);
  if (value.type.quant) text += " : " + storage_text(value.type.dtype, value.type.quant);
  return text + '\n';
}

std::string name_or_blank(const Graph& graph, ValueId id) {
  return id == kNone ? "_" : quoted_value_name(graph.value(id).name);
}

// What the type rule would store, to see whether the storage must be written.
DataType natural_dtype(const Graph& graph, const Node& node, size_t output) {
  std::vector<BoundedOutput> outputs(node.outputs.size());
  if (!infer_node(graph, node.params, node.inputs, 0, outputs, node.bodies).ok()) return graph.value(node.outputs[output]).type.dtype;
  return outputs[output].dtype;
}

std::string node_text(const Graph& graph, const Node& node) {
  std::string text, storage, default_name;
  bool has_storage = false;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (i) text += ", ", storage += ", ";
    text += name_or_blank(graph, node.outputs[i]);
    if (node.outputs[i] == kNone) {
      storage += '_';
      continue;
    }
    const Value& value = graph.value(node.outputs[i]);
    if (default_name.empty()) default_name = value.name;
    const bool own = value.type.quant || natural_dtype(graph, node, i) != value.type.dtype;
    storage += own ? storage_text(value.type.dtype, value.type.quant) : "_";
    has_storage = has_storage || own;
  }
  text += " = " + std::string(to_string(node.kind())) + '(';
  for (size_t i = 0; i < node.inputs.size(); ++i) text += (i ? ", " : "") + name_or_blank(graph, node.inputs[i]);
  text += ')';
  if (const std::string fields = to_string(node.params); !fields.empty()) text += ' ' + fields;
  if (node.name != default_name && !node.name.empty()) text += " @" + quoted_value_name(node.name).substr(1);
  if (has_storage) text += " : " + storage;
  return text;
}

uint64_t next_random(uint64_t& state) {  // splitmix64
  uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

Status fill_constant(const TextStatement& statement, int64_t count, Blob& bytes) {
  const std::string where = "graph text line " + std::to_string(statement.line);
  const TextData& data = statement.data;
  if (data.kind == TextData::kList && static_cast<int64_t>(data.numbers.size()) != count)
    return Status(StatusCode::kInvalidArgument, where + ": wrong number of elements: got " +
                                                    std::to_string(data.numbers.size()) + ", need " + std::to_string(count));
  const bool known = with_element(statement.dtype, [&]<class T>(T) {
    const auto to_element = [](const TextNumber& n) {
      if constexpr (std::is_integral_v<T>) {
        if (n.is_whole) return static_cast<T>(n.whole);
        return std::abs(n.real) < 9e18 ? static_cast<T>(static_cast<int64_t>(n.real)) : T{};
      } else {
        return static_cast<T>(n.real);
      }
    };
    const bool is_bool = statement.dtype == DataType::kBool;
    double low = std::is_integral_v<T> ? (std::is_signed_v<T> ? -8 : 0) : -1, high = std::is_integral_v<T> ? (is_bool ? 2 : 8) : 1;
    if (data.kind == TextData::kRandom && data.numbers.size() == 3) low = data.numbers[1].real, high = data.numbers[2].real;
    uint64_t state = data.numbers.empty() ? 0 : static_cast<uint64_t>(data.numbers[0].whole);
    for (int64_t i = 0; i < count; ++i) {
      T element{};
      if (data.kind == TextData::kList) element = to_element(data.numbers[static_cast<size_t>(i)]);
      if (data.kind == TextData::kFill) element = to_element(data.numbers[0]);
      if (data.kind == TextData::kRandom)
        element = to_element({low + (high - low) * static_cast<double>(next_random(state) >> 11) * 0x1p-53, 0, false});
      std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &element, sizeof(T));
    }
  });
  if (known || data.kind == TextData::kAny || data.kind == TextData::kHash) return Status();
  return Status(StatusCode::kUnsupported, where + ": data of this element type: got " +
                                              std::string(to_string(statement.dtype)) + ", need f32, f64, an integer type or bool");
}

class GraphReader {
 public:
  GraphReader(ParsedGraph& parsed, bool allow_unspecified)
      : parsed_(parsed), editor_(parsed.graph), allow_unspecified_(allow_unspecified) {}

  // Reads to the end of the text, or of the body that it is in.
  Status read_all(std::span<const TextStatement> statements, size_t& at, int depth) {
    for (; at < statements.size(); ++at) {
      const TextStatement& statement = statements[at];
      if (statement.kind == TextStatement::kEnd && depth > 0) return Status();
      std::vector<Graph> bodies;
      while (statement.kind == TextStatement::kOp && at + 1 < statements.size() && statements[at + 1].kind == TextStatement::kBody) {
        if (depth == kMostBodiesWithin) return error(statements[at + 1], "bodies within bodies", "more", "at most 16");
        ParsedGraph body;
        GraphEditor(body.graph).begin_body(parsed_.graph);
        at += 2;
        INGOT_TRY(GraphReader(body, allow_unspecified_).read_all(statements, at, depth + 1));
        if (at == statements.size()) return error(statement, "body", "no end", "a line 'end'");
        bodies.push_back(std::move(body.graph));
      }
      INGOT_TRY(statement.kind == TextStatement::kOp ? op(statement, std::move(bodies)) : read(statement));
    }
    return Status();
  }

  Status read(const TextStatement& statement) {
    switch (statement.kind) {
      case TextStatement::kInput: return input(statement);
      case TextStatement::kConst: return constant(statement);
      case TextStatement::kOp: return op(statement, {});
      case TextStatement::kBody: case TextStatement::kEnd: return error(statement, "body", "one without its op", "an op before it");
      case TextStatement::kOutput: break;
    }
    for (const TextOperand& operand : statement.operands) {
      INGOT_ASSIGN(const ValueId value, find(operand, statement));
      if (value == kNone || parsed_.graph.value(value).is_output) return error(statement, "output", "_ or a repeated name", "new names");
      editor_.mark_output(value);
    }
    return Status();
  }

 private:
  Status error(const TextStatement& at, const std::string& what, const std::string& got, const std::string& need) {
    return Status(StatusCode::kInvalidArgument,
                  "graph text line " + std::to_string(at.line) + ": " + what + ": got " + got + ", need " + need);
  }
  Expected<ValueId> find(const TextOperand& operand, const TextStatement& at) {
    if (operand.literal || operand.constant || operand.once || operand.optional)
      return error(at, "pattern syntax in a graph", "a mark or a number as operand", "%name or _");
    if (operand.name.empty()) return ValueId{kNone};
    const auto place = values_.find(operand.name);
    if (place == values_.end()) return error(at, "unknown value", '\'' + operand.name + '\'', "a name defined above");
    return place->second;
  }
  Status define(const TextStatement& at, const std::string& name, ValueId value) {
    if (values_.emplace(name, value).second) return Status();
    return error(at, "name defined twice", '\'' + name + '\'', "unique names");
  }

  Status input(const TextStatement& statement) {
    std::vector<Shape> shapes(1);
    for (const auto& dim : statement.dims)
      if (dim.size() > 1) shapes.resize(4);
    for (size_t p = 0; p < shapes.size(); ++p) {
      std::vector<int64_t> dims;
      for (const auto& dim : statement.dims)
        dims.push_back(dim.size() == 1 ? dim[0] : p < dim.size() ? dim[p] : between(dim[0], dim[2]));
      if (!checked_elements(dims)) return error(statement, "shape", "too many elements", "fewer");
      shapes[p] = Shape::of(dims);
    }
    const std::string& name = statement.results[0].name;
    return define(statement, name, editor_.add_input(name, statement.dtype, std::move(shapes)));
  }

  Status constant(const TextStatement& statement) {
    std::vector<int64_t> dims;
    for (const auto& dim : statement.dims) {
      if (dim.size() != 1) return error(statement, "shape of a constant", "a dynamic dim", "static dims");
      dims.push_back(dim[0]);
    }
    const auto count = checked_elements(dims);
    if (!count || *count > kMaxConstantBytes / static_cast<int64_t>(element_bytes(statement.dtype)))
      return error(statement, "size of a constant", "more than 256 MiB", "less");
    const bool unspecified = statement.data.kind == TextData::kAny || statement.data.kind == TextData::kHash;
    if (unspecified && !allow_unspecified_) return error(statement, "constant without data", "any or hash(…)", "data");
    Blob bytes(static_cast<size_t>(*count) * element_bytes(statement.dtype));
    INGOT_TRY(fill_constant(statement, *count, bytes));
    TensorType type{statement.dtype, Shape::of(dims), Layout::kLinear, {}};
    if (!statement.storage.empty() && statement.storage[0]) type.quant = statement.storage[0]->quant;
    const std::string& name = statement.results[0].name;
    const ValueId value = editor_.add_constant(name, std::move(type), std::move(bytes));
    if (unspecified) parsed_.unspecified.push_back(value);
    return define(statement, name, value);
  }

  Status op(const TextStatement& statement, std::vector<Graph> bodies) {
    if (statement.ops.size() != 1 || !statement.free_fields.empty())
      return error(statement, "pattern syntax in a graph", "'|' or '*'", "one op and plain fields");
    const std::string where = "graph text line " + std::to_string(statement.line);
    auto params = params_from_fields(statement.ops[0], statement.fields);
    if (!params.ok()) return params.take_status().with_context(where);
    std::vector<ValueId> inputs;
    for (const TextOperand& operand : statement.operands) {
      INGOT_ASSIGN(const ValueId value, find(operand, statement));
      inputs.push_back(value);
    }
    std::vector<std::string> names;
    std::string node_name = statement.node_name;
    for (const TextOperand& result : statement.results) {
      names.push_back(result.name);
      if (node_name.empty()) node_name = result.name;
    }
    auto added = editor_.add_node(node_name, *std::move(params), std::move(inputs), names, std::move(bodies));
    if (!added.ok()) return added.take_status().with_context(where);
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) continue;
      const ValueId value = added->outputs[i];
      INGOT_TRY(define(statement, names[i], value));
      if (i < statement.storage.size() && statement.storage[i])
        editor_.set_storage(value, statement.storage[i]->dtype, statement.storage[i]->quant);
    }
    return Status();
  }

  ParsedGraph& parsed_;
  GraphEditor editor_;
  const bool allow_unspecified_;
  std::unordered_map<std::string, ValueId> values_;
};

}  // namespace

uint64_t hash_of(const Blob& bytes) {
  uint64_t hash = 1469598103934665603ull;
  for (std::byte b : bytes) hash = (hash ^ static_cast<uint64_t>(b)) * 1099511628211ull;
  return hash;
}

namespace {

std::string comment(const Graph& graph, std::span<const ValueId> values) {
  std::string text;
  for (ValueId id : values)
    if (id != kNone && !graph.value(id).dims.empty()) text += (text.empty() ? "  # " : ", ") + graph.formula_text(id);
  return text;
}

void print(const Graph& graph, const std::string& indent, bool with_formulas, std::string& text) {
  const auto end_line = [&](std::span<const ValueId> values) { text += (with_formulas ? comment(graph, values) : std::string()) + '\n'; };
  std::vector<bool> written(graph.value_count(), false);
  for (ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    text += indent + quoted_value_name(value.name) + " = input " + type_text(value);
    end_line({&id, 1});
  }
  const auto write_constant = [&](ValueId id) {
    if (!graph.is_constant(id) || written[id]) return;
    written[id] = true;
    text += indent + constant_text(graph.value(id));
  };
  for (NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    for (ValueId input : node.inputs) write_constant(input);
    text += indent + node_text(graph, node);
    end_line(node.outputs);
    for (const Graph& body : node.bodies) {
      text += indent + "body\n";
      print(body, indent + "  ", with_formulas, text);
      text += indent + "end\n";
    }
  }
  for (ValueId id : graph.outputs()) write_constant(id);
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    text += (i ? ", " : indent + "output ") + quoted_value_name(graph.value(graph.outputs()[i]).name);
  if (!graph.outputs().empty()) text += '\n';
}

}  // namespace

std::string to_text(const Graph& graph, bool with_formulas) {
  std::string text;
  print(graph, "", with_formulas, text);
  return text;
}

Expected<ParsedGraph> parse_graph(std::string_view text, bool allow_unspecified) {
  INGOT_ASSIGN(const auto statements, parse_statements(text));
  ParsedGraph parsed;
  size_t at = 0;
  INGOT_TRY(GraphReader(parsed, allow_unspecified).read_all(statements, at, 0));
  return parsed;
}

}  // namespace ingot
