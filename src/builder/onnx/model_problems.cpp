// Bodies of model_problems.h.
#include "builder/onnx/model_problems.h"

namespace ingot {
namespace {

constexpr size_t kMostShown = 200;
constexpr size_t kLongestText = 2000;  // names inside are short already; a node may have a thousand inputs

// Malformed before unsupported before what other options would mend.
int weight(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return 0;
    case StatusCode::kInvalidArgument: return 1;
    case StatusCode::kUnsupported: return 2;
    default: return 3;
  }
}

std::string_view remedy(StatusCode code) {
  return code == StatusCode::kUnsupported ? "; replace it by what docs/onnx-support.md lists" : "; mend it, or export the model again";
}

// Not in the middle of a UTF-8 sequence.
void cut(std::string& text) {
  if (text.size() <= kLongestText) return;
  size_t end = kLongestText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  text += "…";
}

}  // namespace

void ModelProblems::keep(StatusCode code, bool is_node, std::string text) {
  if (weight(code) > weight(worst_)) worst_ = code;
  ++count_;
  nodes_ += is_node;
  if (problems_.size() < kMostShown) problems_.push_back({code, is_node, std::move(text)});
}

void ModelProblems::add_node(StatusCode code, std::string where, std::string_view reason) {
  cut(where);
  std::string text(reason);
  cut(text);
  if (reason.find("; ") == std::string_view::npos) text += remedy(code);
  keep(code, true, std::move(where) + ": " + text);
}

void ModelProblems::add(StatusCode code, std::string_view text) {
  std::string copy(text);
  cut(copy);
  keep(code, false, std::move(copy));
}

Status ModelProblems::status(size_t nodes) const {
  if (count_ == 0) return {};
  if (count_ == 1) return Status(worst_, (problems_[0].is_node ? "node " : "") + problems_[0].text);
  std::string text =
      nodes_ == count_ ? std::to_string(count_) + " of " + std::to_string(nodes) + " nodes cannot be imported"
                     : std::to_string(count_) + " problems" + (nodes_ ? ", among them " + std::to_string(nodes_) + " of " + std::to_string(nodes) + " nodes" : "");
  for (const Problem& problem : problems_) text += "\n  " + problem.text;
  if (count_ > problems_.size()) text += "\n  … and " + std::to_string(count_ - problems_.size()) + " more";
  return Status(worst_, std::move(text));
}

}  // namespace ingot
