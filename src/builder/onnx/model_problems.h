// What is wrong with a model, collected on the way, so that all of it is said at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ingot/status.h"

namespace ingot {

class ModelProblems {
 public:
  // `where` is "'conv1' (Conv, ai.onnx 13, inputs f32[2x3])". A reason without "; <what to do>" gets one by its code.
  void add_node(StatusCode code, std::string where, std::string_view reason);
  // A whole sentence about something else than a node: "initialiser 'w': is there twice".
  void add(StatusCode code, std::string_view text);
  bool empty() const { return problems_.empty(); }
  size_t count() const { return count_; }

  // One line for one problem, else a list below a line that counts them. What is malformed outweighs what is unsupported.
  Status status(size_t nodes) const;

 private:
  struct Problem {
    StatusCode code;
    bool is_node;
    std::string text;
  };
  void keep(StatusCode code, bool is_node, std::string text);
  std::vector<Problem> problems_;  // the first ones
  size_t count_ = 0, nodes_ = 0;   // all of them; those about nodes
  StatusCode worst_ = StatusCode::kOk;
};

}  // namespace ingot
