// Loss functions as some models carry them: the negative log-likelihood of a class, also straight from scores.
#include "builder/onnx/shared_attributes.h"

namespace ingot {
namespace {

// −weight[t] · log_probability[n, t, …] for each place, then reduced. Places of the class to ignore count for nothing.
ValueId add_loss(NodeImporter& node, ValueId log_probability, ValueId target, ValueId weight) {
  const size_t reduction = node.choice("reduction", "mean", {"mean", "sum", "none"});
  const bool ignores = node.has_attribute("ignore_index");
  const int64_t ignored = node.integer("ignore_index", 0);
  if (!node.ok()) return kNone;
  const DataType dtype = node.dtype(log_probability);
  const ValueId zero = node.scalar_constant("zero", dtype, 0);
  ValueId skip = kNone, classes = target;
  if (ignores) {
    skip = node.binary(BinaryFunction::kEqual, target, node.scalar_constant("ignored", node.dtype(target), static_cast<double>(ignored)));
    classes = node.add(WhereParams{}, {skip, node.scalar_constant("any_class", node.dtype(target), 0), target});
  }
  const ValueId picked = node.add(GatherElementsParams{1}, {log_probability, node.unsqueeze(classes, {1})});
  ValueId loss = node.unary(UnaryFunction::kNeg, node.squeeze(picked, {1}));
  ValueId weights = kNone;
  if (weight != kNone) weights = node.add(GatherParams{0}, {weight, classes});
  if (ignores) weights = node.add(WhereParams{}, {skip, zero, weights != kNone ? weights : node.scalar_constant("one", dtype, 1)});
  if (weights != kNone) loss = node.binary(BinaryFunction::kMul, loss, weights);
  if (reduction == 2) return loss;
  const auto total = [&](ValueId x) { return node.add(ReduceParams{ReduceFunction::kSum, false, false}, {x}); };
  if (reduction == 1) return total(loss);
  if (weights == kNone) return node.add(ReduceParams{ReduceFunction::kMean, false, false}, {loss});
  return node.binary(BinaryFunction::kDiv, total(loss), total(weights));
}

}  // namespace

void import_nll_loss(NodeImporter& node) {
  node.alias(add_loss(node, node.required(0), node.required(1), node.input(2)));
}

void import_softmax_cross_entropy_loss(NodeImporter& node) {
  SoftmaxParams softmax;
  softmax.axis = 1;
  softmax.log = true;
  const ValueId scores = node.required(0), target = node.required(1);
  const ValueId log_probability = node.add(softmax, {scores});
  node.alias(add_loss(node, log_probability, target, node.input(2)), 0);
  node.alias(log_probability, 1);
}

}  // namespace ingot
