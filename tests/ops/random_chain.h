// Random programs of PointwiseChain over all its element types, with operands that broadcast; the same for a seed everywhere.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include "runtime/ops/pointwise_chain.h"

namespace ingot {

class ChainRandom {
 public:
  explicit ChainRandom(uint32_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<uint32_t>(n)); }
  float number() { return static_cast<float>(below(2001) - 1000) / 256; }

 private:
  std::mt19937 engine_;
};

struct ChainInput {
  DataType dtype;
  Shape shape;
};

// Each statement reads the one before.
inline ChainProgram random_chain(ChainRandom& random, std::vector<ChainInput>& inputs) {
  using Kind = ChainOperand::Kind;
  ChainProgram program;
  const Shape shapes[] = {{3, 1, 5}, {1, 7, 5}, {3, 7, 1}, {5}, {}, {7, 5}, {3, 7, 5}};
  const auto input = [&](DataType dtype) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].dtype == dtype && (random.below(2) || inputs.size() == static_cast<size_t>(kMaxChainInputs)))
        return ChainOperand{Kind::kInput, static_cast<uint8_t>(i), 0};
    inputs.push_back({dtype, shapes[random.below(7)]});
    return ChainOperand{Kind::kInput, static_cast<uint8_t>(inputs.size() - 1), 0};
  };
  static constexpr UnaryFunction kFloat[] = {UnaryFunction::kRelu, UnaryFunction::kSilu, UnaryFunction::kGelu, UnaryFunction::kAbs, UnaryFunction::kExp,
                                             UnaryFunction::kLog, UnaryFunction::kSqrt, UnaryFunction::kRound, UnaryFunction::kTanh};
  static constexpr BinaryFunction kPair[] = {BinaryFunction::kAdd, BinaryFunction::kSub, BinaryFunction::kMul, BinaryFunction::kDiv,
                                             BinaryFunction::kMin, BinaryFunction::kMax, BinaryFunction::kPow};
  static constexpr DataType kTypes[] = {DataType::kF32, DataType::kS32, DataType::kS64, DataType::kBool};
  DataType type = kTypes[random.below(4)];
  ChainOperand last = input(type);
  const int length = 1 + random.below(8);
  for (int i = 0; i < length && inputs.size() < 6; ++i) {
    ChainStatement& s = program.code[static_cast<size_t>(program.length)];
    switch (random.below(type == DataType::kBool ? 2 : 4)) {
      case 0:
        s.kind = ChainStatement::Kind::kCast;
        s.to = type = kTypes[random.below(4)];
        s.operands[0] = last;
        break;
      case 1:
        if (type != DataType::kBool) {
          s.kind = ChainStatement::Kind::kBinary;
          s.binary = static_cast<BinaryFunction>(static_cast<int>(BinaryFunction::kEqual) + random.below(5));
          s.operands[0] = last, s.operands[1] = input(type);
          type = DataType::kBool;
          break;
        }
        s.kind = ChainStatement::Kind::kWhere;
        type = kTypes[random.below(4)];
        s.operands[0] = last, s.operands[1] = input(type), s.operands[2] = input(type);
        if (type == DataType::kF32 && random.below(2)) s.operands[1] = {Kind::kNumber, 0, random.number()};
        break;
      case 2:
        if (type == DataType::kF32) {
          s.function = random.below(4) == 0 ? UnaryFunction::kClip : kFloat[random.below(9)];
          if (s.function == UnaryFunction::kClip) s.alpha = -0.3, s.beta = 1.1;
        } else {
          s.function = random.below(2) ? UnaryFunction::kAbs : UnaryFunction::kNeg;
        }
        s.operands[0] = last;
        break;
      default:
        s.kind = ChainStatement::Kind::kBinary;
        s.binary = kPair[random.below(type == DataType::kF32 ? 7 : 6)];
        s.operands[0] = last;
        s.operands[1] = type == DataType::kF32 && random.below(3) == 0 ? ChainOperand{Kind::kNumber, 0, random.number()} : input(type);
        if (random.below(2)) std::swap(s.operands[0], s.operands[1]);
        if (type == DataType::kF32 && random.below(3) == 0) s.function = UnaryFunction::kHardSwish;
        break;
    }
    last = {Kind::kResult, static_cast<uint8_t>(program.length++), 0};
  }
  // What an exchange by a number left without a reader.
  ChainProgram read;
  program.inputs = static_cast<int>(inputs.size());
  if (!parse_chain(to_string(program), read).ok() || read.inputs != program.inputs) {
    inputs.clear();
    return random_chain(random, inputs);
  }
  return program;
}

}  // namespace ingot
