// RNN, GRU, LSTM.
#include "builder/onnx/shared_attributes.h"

#include <algorithm>
#include <cctype>

#include "builder/onnx/text.h"

namespace ingot {
namespace {

struct ActivationRow {
  std::string_view name;  // in lower case: ONNX compares without case
  RecurrentActivation activation;
  double alpha, beta;     // by default
  bool has_alpha, has_beta;
};
constexpr ActivationRow kActivations[] = {
    {"relu", RecurrentActivation::kRelu, 0, 0, false, false},
    {"tanh", RecurrentActivation::kTanh, 0, 0, false, false},
    {"sigmoid", RecurrentActivation::kSigmoid, 0, 0, false, false},
    {"affine", RecurrentActivation::kAffine, 1, 0, true, true},
    {"leakyrelu", RecurrentActivation::kLeakyRelu, 0.01f, 0, true, false},
    {"thresholdedrelu", RecurrentActivation::kThresholdedRelu, 1, 0, true, false},
    {"scaledtanh", RecurrentActivation::kScaledTanh, 1, 1, true, true},
    {"hardsigmoid", RecurrentActivation::kHardSigmoid, 0.2f, 0.5, true, true},
    {"elu", RecurrentActivation::kElu, 1, 0, true, false},
    {"softsign", RecurrentActivation::kSoftsign, 0, 0, false, false},
    {"softplus", RecurrentActivation::kSoftplus, 0, 0, false, false},
};

const ActivationRow* find_activation(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const ActivationRow& row : kActivations)
    if (row.name == name) return &row;
  return nullptr;
}

// alphas and betas are handed out in order to the activations that have one; where they run out, defaults stand.
void read_activations(NodeImporter& node, RecurrentParams& params) {
  std::vector<std::string> names;
  if (const auto* given = node.attribute("activations")) names.assign(given->strings().begin(), given->strings().end());
  const auto count = static_cast<size_t>(recurrent_activations(params.cell) * recurrent_directions(params.direction));
  if (names.empty())
    for (size_t i = 0; i < count; ++i)
      names.push_back(params.cell != RecurrentCell::kRnn && i % static_cast<size_t>(recurrent_activations(params.cell)) == 0 ? "Sigmoid" : "Tanh");
  if (names.size() != count)
    return node.invalid("attribute 'activations' has a wrong length: got " + std::to_string(names.size()) + ", need " + std::to_string(count));
  const std::vector<double> alphas = node.numbers("activation_alpha"), betas = node.numbers("activation_beta");
  size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    const ActivationRow* row = find_activation(name);
    if (!row) return node.unsupported("activation is not supported: got " + quoted(name));
    params.activations.push_back(static_cast<int64_t>(row->activation));
    params.alphas.push_back(row->has_alpha && alpha < alphas.size() ? alphas[alpha++] : row->alpha);
    params.betas.push_back(row->has_beta && beta < betas.size() ? betas[beta++] : row->beta);
  }
}

}  // namespace

void import_recurrent(NodeImporter& node) {
  RecurrentParams params;
  params.cell = node.op_type() == "LSTM" ? RecurrentCell::kLstm : node.op_type() == "GRU" ? RecurrentCell::kGru : RecurrentCell::kRnn;
  const bool lstm = params.cell == RecurrentCell::kLstm;
  params.direction = static_cast<RecurrentDirection>(node.choice("direction", "forward", {"forward", "reverse", "bidirectional"}));
  params.batch_first = node.flag("layout", false);
  params.input_forget = lstm && node.flag("input_forget", false);
  params.linear_before_reset = params.cell == RecurrentCell::kGru && node.flag("linear_before_reset", false);
  if (node.has_attribute("clip")) {
    params.clip = node.number("clip", 0);
    if (!(params.clip > 0)) node.invalid("attribute 'clip' is wrong: got " + std::to_string(params.clip) + ", need > 0");
  }
  node.ignore({"output_sequence"});  // before opset 7; the outputs that are named say it
  read_activations(node, params);
  std::vector<ValueId> inputs = {node.required(0), node.required(1), node.required(2)};
  const int64_t hidden = node.integer("hidden_size", 0);
  if (!node.ok()) return;
  if (node.rank(inputs[2]) == 3 && hidden != 0 && node.type(inputs[2]).shape[2] != hidden)
    return node.invalid("attribute 'hidden_size' is wrong: got " + std::to_string(hidden) + ", need " +
                        std::to_string(node.type(inputs[2]).shape[2]) + " as the recurrence weights have it");
  for (size_t i = 3; i < node.input_count(); ++i) inputs.push_back(node.input(i));
  // The op keeps its state in its outputs, so all of them exist, named by the node or not.
  const std::vector<ValueId> outputs = node.add_all(params, std::move(inputs), lstm ? 3 : 2);
  if (node.output_count() > outputs.size())
    return node.invalid("wrong number of outputs: got " + std::to_string(node.output_count()) + ", need at most " + std::to_string(outputs.size()));
  for (size_t i = 0; i < node.output_count(); ++i) node.alias(outputs[i], i);
}

}  // namespace ingot
