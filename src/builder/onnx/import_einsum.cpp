// Einsum by Transpose, ReduceSum, Reshape, Mul and MatMul: operands are joined from left to right, and each letter is summed
// as soon as nothing behind needs it. A letter's dims may be known to the run only.
#include "builder/onnx/shared_attributes.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace ingot {
namespace {

constexpr size_t kLongestEquation = 1000;

// A letter, or −1 − i for the i-th dim from the right of those that an ellipsis stands for.
using Label = int;
using Labels = std::vector<Label>;

bool contains(const Labels& labels, Label label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

struct Term {
  Labels labels;
  ValueId value = kNone;
};

class Einsum {
 public:
  explicit Einsum(NodeImporter& node) : node_(node) {}

  void run() {
    std::string equation = node_.text("equation", "");
    const std::vector<ValueId> inputs = node_.all_inputs();
    if (!node_.ok()) return;
    if (equation.size() > kLongestEquation)
      return node_.unsupported("attribute 'equation' is too long: got " + std::to_string(equation.size()) + " characters, need at most 1000");
    std::erase_if(equation, [](char c) { return std::isspace(static_cast<unsigned char>(c)); });
    const size_t arrow = equation.find("->");
    read_terms(equation.substr(0, arrow), inputs);
    if (!node_.ok()) return;
    read_output(arrow == std::string::npos ? std::optional<std::string>() : equation.substr(arrow + 2));
    if (!node_.ok()) return;
    for (Term& term : terms_) take_diagonals(term);
    Term joined = terms_[0];
    for (size_t i = 1; i < terms_.size() && node_.ok(); ++i) joined = join(joined, terms_[i], i + 1);
    sum_unneeded(joined, terms_.size(), nullptr);
    finish(joined);
  }

 private:
  void read_terms(const std::string& left, const std::vector<ValueId>& inputs) {
    size_t from = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const size_t comma = left.find(',', from);
      if ((comma == std::string::npos) != (i + 1 == inputs.size()))
        return node_.invalid("equation and inputs differ in number: got " + std::to_string(std::count(left.begin(), left.end(), ',') + 1) +
                             " terms, need " + std::to_string(inputs.size()));
      const std::string text = left.substr(from, comma - from);
      from = comma + 1;
      terms_.push_back({read_labels(text, node_.rank(inputs[i])), inputs[i]});
      if (!node_.ok()) return;
      for (size_t d = 0; d < terms_[i].labels.size(); ++d) {
        const Label label = terms_[i].labels[d];
        if (label < 0) ellipsis_dims_ = std::max(ellipsis_dims_, -label);
        const int64_t dim = node_.type(inputs[i]).shape[static_cast<int>(d)];
        const auto [place, is_new] = dims_.emplace(label, dim);
        if (is_new || place->second == 1) place->second = dim;
        else if (dim > 1 && place->second > 1 && dim != place->second)
          return node_.invalid("dims of one letter differ: got " + std::to_string(dim) + " and " + std::to_string(place->second));
      }
    }
  }

  // rank < 0: the output, whose ellipsis is all there is.
  Labels read_labels(const std::string& text, int rank) {
    Labels labels;
    const auto letters = static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return c != '.'; }));
    bool ellipsis = false;
    for (size_t i = 0; i < text.size() && node_.ok(); ++i) {
      if (std::isalpha(static_cast<unsigned char>(text[i]))) {
        labels.push_back(text[i]);
      } else if (text.compare(i, 3, "...") == 0 && !ellipsis) {
        ellipsis = true;
        i += 2;
        for (int k = rank < 0 ? ellipsis_dims_ : rank - letters; k > 0; --k) labels.push_back(-k);
      } else {
        node_.invalid("attribute 'equation' is malformed: got '" + std::string(1, std::isprint(static_cast<unsigned char>(text[i])) ? text[i] : '?') +
                      "', need letters, commas, '->' and one '...' in a term");
      }
    }
    if (rank >= 0 && node_.ok() && static_cast<int>(labels.size()) != rank)
      node_.invalid("a term of the equation has a wrong length: got " + std::to_string(letters) + " letters, need " + std::to_string(rank));
    return labels;
  }

  void read_output(const std::optional<std::string>& text) {
    if (text) {
      output_ = read_labels(*text, -1);
      for (size_t i = 0; i < output_.size(); ++i)
        if (!dims_.contains(output_[i]) || std::count(output_.begin(), output_.end(), output_[i]) > 1)
          return node_.invalid("a letter of the result is in no term, or is there twice");
      return;
    }
    // The ellipsis, then the letters that are there once, in alphabetical order.
    for (int k = ellipsis_dims_; k > 0; --k) output_.push_back(-k);
    std::map<Label, int> uses;
    for (const Term& term : terms_)
      for (Label label : term.labels) ++uses[label];
    for (const auto& [label, count] : uses)
      if (label > 0 && count == 1) output_.push_back(label);
  }

  // A letter twice in a term takes the diagonal: of the two dims made one, every (d + 1)-th element.
  void take_diagonals(Term& term) {
    for (size_t i = 0; i < term.labels.size() && node_.ok(); ++i) {
      const auto again = std::find(term.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, term.labels.end(), term.labels[i]);
      if (again == term.labels.end()) continue;
      const auto j = static_cast<size_t>(again - term.labels.begin());
      const Shape& shape = node_.type(term.value).shape;
      const int64_t d = shape[static_cast<int>(i)];
      if (d < 0 || d != shape[static_cast<int>(j)])
        return node_.unsupported("a letter that a term repeats needs equal, fixed dims");
      std::vector<int64_t> perm;
      Labels rest;
      std::vector<ValueId> dims;
      for (size_t k = 0; k < term.labels.size(); ++k)
        if (k != i && k != j) {
          perm.push_back(static_cast<int64_t>(k));
          rest.push_back(term.labels[k]);
          dims.push_back(node_.dims_of(term.value, static_cast<int64_t>(k), static_cast<int64_t>(k) + 1));
        }
      perm.push_back(static_cast<int64_t>(i));
      perm.push_back(static_cast<int64_t>(j));
      dims.push_back(node_.integers_constant("square", {d * d}));
      rest.push_back(term.labels[i]);
      const ValueId flat = node_.add(ReshapeParams{true}, {node_.transpose(term.value, perm), node_.concat(dims, 0)});
      term.value = node_.slice(flat, static_cast<int64_t>(rest.size()) - 1, 0, d * d, d + 1);
      term.labels = rest;
      i = static_cast<size_t>(-1);  // a letter may be there three times
    }
  }

  bool needed_from(Label label, size_t term) const {
    if (contains(output_, label)) return true;
    for (size_t i = term; i < terms_.size(); ++i)
      if (contains(terms_[i].labels, label)) return true;
    return false;
  }

  // Sums the letters that neither the result, nor a term from `next` on, nor `other` has.
  void sum_unneeded(Term& term, size_t next, const Term* other) {
    std::vector<int64_t> axes;
    Labels kept;
    for (size_t i = 0; i < term.labels.size(); ++i) {
      const Label label = term.labels[i];
      if (needed_from(label, next) || (other && contains(other->labels, label))) kept.push_back(label);
      else axes.push_back(static_cast<int64_t>(i));
    }
    term.value = node_.reduce(ReduceFunction::kSum, term.value, axes, false);
    term.labels = kept;
  }

  int64_t dim_of(const Term& term, Label label) const {
    const auto place = std::find(term.labels.begin(), term.labels.end(), label);
    return place == term.labels.end() ? -1 : node_.type(term.value).shape[static_cast<int>(place - term.labels.begin())];
  }

  // Drops a dim of size 1 that the other term has in full: it is broadcast, so its letter belongs to the other alone.
  void drop_broadcast(Term& term, const Term& other) {
    std::vector<int64_t> axes;
    Labels kept;
    for (size_t i = 0; i < term.labels.size(); ++i) {
      const bool drop = dim_of(term, term.labels[i]) == 1 && contains(other.labels, term.labels[i]) && dim_of(other, term.labels[i]) != 1;
      if (drop) axes.push_back(static_cast<int64_t>(i));
      else kept.push_back(term.labels[i]);
    }
    term.value = node_.squeeze(term.value, axes);
    term.labels = kept;
  }

  ValueId arranged(const Term& term, const Labels& order) {
    std::vector<int64_t> perm;
    for (Label label : order)
      perm.push_back(std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin());
    if (std::is_sorted(perm.begin(), perm.end())) return term.value;
    return node_.transpose(term.value, perm);
  }

  // The product of dims `from` … `to` of a value, as a list of one.
  ValueId product_of_dims(ValueId value, size_t from, size_t to) {
    if (from == to) return node_.integers_constant("one", {1});
    const ValueId dims = node_.dims_of(value, static_cast<int64_t>(from), static_cast<int64_t>(to));
    return to - from == 1 ? dims : node_.add(ReduceParams{ReduceFunction::kProd, true, false}, {dims});
  }

  // x with dims [0, batch) as they are, [batch, middle) made one, the rest made one.
  ValueId as_matrix(ValueId x, size_t batch, size_t middle, size_t rank) {
    if (middle - batch == 1 && rank - middle == 1) return x;
    std::vector<ValueId> dims;
    if (batch > 0) dims.push_back(node_.dims_of(x, 0, static_cast<int64_t>(batch)));
    dims.push_back(product_of_dims(x, batch, middle));
    dims.push_back(product_of_dims(x, middle, rank));
    return node_.add(ReshapeParams{true}, {x, node_.concat(dims, 0)});
  }

  Term join(Term a, Term b, size_t next) {
    drop_broadcast(a, b);
    drop_broadcast(b, a);
    sum_unneeded(a, next, &b);
    sum_unneeded(b, next, &a);
    if (!node_.ok()) return a;
    Labels batch, summed, only_a, only_b;
    for (Label label : a.labels)
      (!contains(b.labels, label) ? only_a : needed_from(label, next) ? batch : summed).push_back(label);
    for (Label label : b.labels)
      if (!contains(a.labels, label)) only_b.push_back(label);
    const auto chain = [](std::initializer_list<const Labels*> parts) {
      Labels all;
      for (const Labels* part : parts) all.insert(all.end(), part->begin(), part->end());
      return all;
    };
    const ValueId left = arranged(a, chain({&batch, &only_a, &summed})), right = arranged(b, chain({&batch, &summed, &only_b}));
    const size_t head = batch.size();
    Term result{chain({&batch, &only_a, &only_b}), kNone};
    if (summed.empty()) {
      std::vector<int64_t> tail, middle;
      for (size_t i = 0; i < only_b.size(); ++i) tail.push_back(static_cast<int64_t>(head + only_a.size() + i));
      for (size_t i = 0; i < only_a.size(); ++i) middle.push_back(static_cast<int64_t>(head + i));
      result.value = node_.binary(BinaryFunction::kMul, node_.unsqueeze(left, tail), node_.unsqueeze(right, middle));
      return result;
    }
    const ValueId product = node_.add(MatMulParams{}, {as_matrix(left, head, head + only_a.size(), a.labels.size()),
                                                       as_matrix(right, head, head + summed.size(), b.labels.size())});
    if (only_a.size() == 1 && only_b.size() == 1) {
      result.value = product;
      return result;
    }
    std::vector<ValueId> dims;
    if (head > 0) dims.push_back(node_.dims_of(product, 0, static_cast<int64_t>(head)));
    if (!only_a.empty()) dims.push_back(node_.dims_of(left, static_cast<int64_t>(head), static_cast<int64_t>(head + only_a.size())));
    if (!only_b.empty())
      dims.push_back(node_.dims_of(right, static_cast<int64_t>(head + summed.size()), static_cast<int64_t>(b.labels.size())));
    result.value = dims.empty() ? node_.reshape(product, {}) : node_.add(ReshapeParams{true}, {product, node_.concat(dims, 0)});
    return result;
  }

  void finish(const Term& term) {
    if (!node_.ok()) return;
    node_.alias(arranged(term, output_));
  }

  NodeImporter& node_;
  std::vector<Term> terms_;
  Labels output_;
  std::map<Label, int64_t> dims_;
  int ellipsis_dims_ = 0;
};

}  // namespace

void import_einsum(NodeImporter& node) { Einsum(node).run(); }

}  // namespace ingot
