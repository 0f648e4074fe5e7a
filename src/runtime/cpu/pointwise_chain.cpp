// PointwiseChain piece by piece: all statements run on some hundred elements whose values stay in the first cache, each by the row
// kernels of the instruction set; what has none runs by reference code on the same piece. Results have the reference's bits, NaN
// payloads aside; reductions are summed in double in another order.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "runtime/chain_problem.h"
#include "runtime/cpu/broadcast_rows.h"
#include "runtime/cpu/rows_f32.h"
#include "runtime/cpu/s8_layer.h"
#include "runtime/cpu/sums_f64.h"
#include "runtime/ops/element.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kPiece = 512;      // elements
constexpr int64_t kGrainPieces = 8;  // below which another thread does not pay

// Where a statement finds an operand: in cell `index` of the piece's memory, in an input, or as a number.
struct Source {
  enum class Kind : uint8_t { kCell, kInput, kNumber } kind = Kind::kNumber;
  int index = 0;
  int cell = -1;  // of an input: where it is spread, or read as f32
  float number = 0;
  DataType type = DataType::kF32;
};

struct Operation {
  ChainStatement statement;
  std::array<Source, 3> sources{};
  DataType type = DataType::kF32;
  int cell = 0;      // of the result; the last goes to the output where that has its type
  bool rows = false; // f32 throughout, by row kernels
};

// Dims of the result in the order of memory, joined where every operand allows it, and each operand's strides.
struct Walk {
  int rank = 0;
  std::array<int64_t, Shape::kMaxRank> dims{};
  std::array<std::array<int64_t, Shape::kMaxRank>, kMaxChainInputs> strides{};
  std::array<bool, kMaxChainInputs> dense{}, single{};
  int64_t total = 1, row = 1;
};

Walk make_walk(const Shape& out, std::span<const Shape> in) {
  Walk walk;
  walk.total = out.elements();
  std::array<std::array<int64_t, Shape::kMaxRank>, kMaxChainInputs> strides{};
  for (size_t i = 0; i < in.size(); ++i) {
    int64_t stride = 1;
    for (int d = out.rank - 1; d >= 0; --d) {
      strides[i][static_cast<size_t>(d)] = in[i][d] == 1 ? 0 : stride;
      stride *= in[i][d];
    }
    walk.single[i] = in[i].elements() == 1;
    walk.dense[i] = in[i] == out && !walk.single[i];
  }
  for (int d = 0; d < out.rank; ++d) {
    const auto at = static_cast<size_t>(d);
    if (out[d] == 1) continue;
    bool joins = walk.rank > 0;
    const auto last = static_cast<size_t>(std::max(walk.rank - 1, 0));
    for (size_t i = 0; i < in.size(); ++i) joins = joins && walk.strides[i][last] == strides[i][at] * out[d];
    const size_t to = joins ? last : static_cast<size_t>(walk.rank++);
    walk.dims[to] = (joins ? walk.dims[to] : 1) * out[d];
    for (size_t i = 0; i < in.size(); ++i) walk.strides[i][to] = strides[i][at];
  }
  if (walk.rank > 0) walk.row = walk.dims[static_cast<size_t>(walk.rank - 1)];
  return walk;
}

// n elements of an operand from element `at` of the result on, as if it had the result's shape.
template <class T>
void spread(const Walk& walk, size_t i, int64_t at, int64_t n, const T* x, T* y) {
  std::array<int64_t, Shape::kMaxRank> index{};
  int64_t offset = 0;
  for (int d = walk.rank - 1; d >= 0; --d) {
    const auto dim = static_cast<size_t>(d);
    index[dim] = at % walk.dims[dim];
    at /= walk.dims[dim];
    offset += index[dim] * walk.strides[i][dim];
  }
  const auto last = static_cast<size_t>(std::max(walk.rank - 1, 0));
  const int64_t step = walk.strides[i][last];
  while (n > 0) {
    const int64_t count = std::min(n, walk.dims[last] - index[last]);
    if (step == 0) std::fill_n(y, count, x[offset]);
    else if (step == 1) std::copy_n(x + offset, count, y);
    else for (int64_t k = 0; k < count; ++k) y[k] = x[offset + k * step];
    y += count;
    n -= count;
    offset -= index[last] * step;
    index[last] = 0;
    for (int d = static_cast<int>(last) - 1; d >= 0; --d) {
      const auto dim = static_cast<size_t>(d);
      offset += walk.strides[i][dim];
      if (++index[dim] < walk.dims[dim]) break;
      offset -= walk.strides[i][dim] * walk.dims[dim];
      index[dim] = 0;
    }
  }
}

template <class F>
void with_size(size_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(uint8_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

// One operand of a piece; a step of 0 repeats one element.
struct Piece {
  const void* data = nullptr;
  int64_t step = 1;
  template <class T> const T* as() const { return static_cast<const T*>(data); }
};

template <class T>
void compare(BinaryFunction f, const Piece& a, const Piece& b, uint8_t* y, int64_t n) {
  const T *x = a.as<T>(), *z = b.as<T>();
  const auto each = [&](auto is) {
    if (a.step == 1 && b.step == 1) for (int64_t i = 0; i < n; ++i) y[i] = is(x[i], z[i]);
    else if (a.step == 1) for (int64_t i = 0; i < n; ++i) y[i] = is(x[i], z[0]);
    else for (int64_t i = 0; i < n; ++i) y[i] = is(x[i * a.step], z[i * b.step]);
  };
  switch (f) {
    case BinaryFunction::kEqual: return each([](T p, T q) { return p == q; });
    case BinaryFunction::kLess: return each([](T p, T q) { return p < q; });
    case BinaryFunction::kLessOrEqual: return each([](T p, T q) { return p <= q; });
    case BinaryFunction::kGreater: return each([](T p, T q) { return p > q; });
    default: return each([](T p, T q) { return p >= q; });
  }
}

template <class To, class From>
void cast(const From* x, To* y, int64_t n, bool to_bool, bool from_bool) {
  if (to_bool || from_bool)
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i] != 0);
  else if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>)
    for (int64_t i = 0; i < n; ++i) y[i] = saturate_cast<To>(static_cast<double>(x[i]));
  else
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i]);
}
template <class F>
void with_type(DataType type, F&& f) {
  switch (type) {
    case DataType::kF32: return f(float{});
    case DataType::kS32: return f(int32_t{});
    case DataType::kS64: return f(int64_t{});
    case DataType::kS8: return f(int8_t{});
    default: return f(uint8_t{});
  }
}

class ChainKernel final : public Kernel {
 public:
  ChainKernel(const Problem& problem, const ChainProblem& chain)
      : chain_(chain), rows_(row_kernels(problem.device.cpu)), bytes_(channelwise_kernels(problem.device.cpu.level)),
        layout_(problem.outputs[0].type.layout), cell_bytes_(cell_bytes(chain)), memory_bytes_(memory_bytes(chain)) {
    compile();
  }

  // A line more than the values, so that cells do not meet in one set of the cache.
  static size_t cell_bytes(const ChainProblem& chain) {
    size_t element = 4;
    for (int i = 0; i < chain.program.inputs; ++i) element = std::max(element, element_bytes(chain.inputs[static_cast<size_t>(i)]));
    for (int i = 0; i < chain.program.length; ++i) element = std::max(element, element_bytes(chain.results[static_cast<size_t>(i)]));
    return kPiece * element + 64;
  }
  // Of one thread: every input read or spread, every result, three operands spread for reference code.
  static size_t memory_bytes(const ChainProblem& chain) {
    return static_cast<size_t>(chain.program.inputs + chain.program.length + 3) * cell_bytes(chain);
  }

  Status run(const KernelArgs& args) noexcept override {
    Shape full;
    for (const Shape& shape : args.input_shapes) broadcast_shapes(full, shape, full);
    std::array<Shape, kMaxChainInputs> in;
    for (size_t i = 0; i < args.input_shapes.size(); ++i) in[i] = memory_shape(args.input_shapes[i], full.rank, layout_);
    const Shape out = memory_shape(full, full.rank, layout_);
    const Walk walk = make_walk(out, std::span<const Shape>(in).first(args.input_shapes.size()));
    if (args.output_shapes[0].elements() == 0) return {};
    return chain_.reduction.reduced_dims > 0 ? run_reduced(args, full, walk) : run_all(args, walk);
  }

 private:
  struct Task {
    const Walk& walk;
    const KernelArgs& args;
    char* memory;  // cells of this thread
    // Of an operand that repeats from row to row: where the rows that its cell holds begin, and how many elements they are.
    struct Held { int64_t offset = -1, count = 0; };
    std::array<Held, kMaxChainInputs> held{};
  };

  void compile() {
    const ChainProgram& program = chain_.program;
    int next = program.inputs;  // cells of inputs come first
    std::array<int, kMaxChainLength> last_use{}, cell_of{};
    for (int i = 0; i < program.length; ++i)
      for (int k = 0; k < program.code[static_cast<size_t>(i)].operand_count(); ++k)
        if (const ChainOperand& o = program.code[static_cast<size_t>(i)].operands[static_cast<size_t>(k)]; o.kind == ChainOperand::Kind::kResult)
          last_use[o.index] = i;
    std::array<int, kMaxChainLength> free_cells{};
    int free_count = 0;
    for (int i = 0; i < program.length; ++i) {
      Operation& op = operations_[static_cast<size_t>(i)];
      op.statement = program.code[static_cast<size_t>(i)];
      op.type = chain_.results[static_cast<size_t>(i)];
      op.cell = free_count > 0 ? free_cells[static_cast<size_t>(--free_count)] : next++;
      cell_of[static_cast<size_t>(i)] = op.cell;
      bool real = op.type == DataType::kF32;
      for (int k = 0; k < op.statement.operand_count(); ++k) {
        const ChainOperand& operand = op.statement.operands[static_cast<size_t>(k)];
        Source& source = op.sources[static_cast<size_t>(k)];
        source.type = chain_.type_of(operand);
        source.number = operand.number;
        source.kind = operand.kind == ChainOperand::Kind::kInput    ? Source::Kind::kInput
                      : operand.kind == ChainOperand::Kind::kResult ? Source::Kind::kCell
                                                                    : Source::Kind::kNumber;
        source.index = operand.kind == ChainOperand::Kind::kResult ? cell_of[operand.index] : operand.index;
        real = real && source.type == DataType::kF32;
        // A result is over with its last reader; the same cell twice in one statement is given back once.
        bool again = false;
        for (int j = 0; j < k; ++j) again = again || op.statement.operands[static_cast<size_t>(j)] == operand;
        if (operand.kind == ChainOperand::Kind::kResult && last_use[operand.index] == i && !again)
          free_cells[static_cast<size_t>(free_count++)] = source.index;
      }
      const ChainStatement& s = op.statement;
      if (s.kind == ChainStatement::Kind::kUnary) op.rows = real && is_defined_to_the_bit(s.function) && rows_know(s.function);
      if (s.kind == ChainStatement::Kind::kBinary) {
        op.rows = real && rows_know(s.binary) && rows_know(s.function);
        // x² is a product in the reference too; other powers are the C library's.
        const ChainOperand& exponent = s.operands[1];
        if (s.binary == BinaryFunction::kPow) {
          op.rows = real && exponent.kind == ChainOperand::Kind::kNumber && exponent.number == 2 && rows_know(s.function);
          if (op.rows) op.statement.binary = BinaryFunction::kMul, op.sources[1] = op.sources[0];
        }
      }
    }
    spread_cell_ = next;
  }

  char* cell(const Task& task, int index) const { return task.memory + static_cast<size_t>(index) * cell_bytes_; }

  // Elements [at, at + n) of an input as statements read them: f32 if quantised.
  Piece input_piece(Task& task, size_t i, int64_t at, int64_t n) const {
    const size_t element = element_bytes(chain_.inputs[i]);
    const auto* data = static_cast<const char*>(task.args.inputs[i]);
    const auto last = static_cast<size_t>(std::max(task.walk.rank - 1, 0));
    const int64_t in_row = at % task.walk.row;
    Piece piece{data, 0};
    char* const own = cell(task, static_cast<int>(i));
    if (task.walk.single[i]) {
    } else if (task.walk.dense[i]) {
      piece = {data + static_cast<size_t>(at) * element, 1};
    } else if (in_row + n <= task.walk.row && task.walk.strides[i][last] <= 1) {
      int64_t offset = in_row * task.walk.strides[i][last], rest = at / task.walk.row;
      for (int d = static_cast<int>(last) - 1; d >= 0; --d) {
        const auto dim = static_cast<size_t>(d);
        offset += rest % task.walk.dims[dim] * task.walk.strides[i][dim];
        rest /= task.walk.dims[dim];
      }
      piece = {data + static_cast<size_t>(offset) * element, task.walk.strides[i][last]};
    } else {
      const int64_t repeated = repeated_rows(task.walk, i, at, n);
      if (repeated >= 0 && task.held[i].offset == repeated && task.held[i].count >= n) return {own, 1};
      task.held[i] = {repeated, repeated >= 0 ? n : 0};
      char* const to = chain_.quantised[i] ? cell(task, spread_cell_) : own;
      with_size(element, [&]<class T>(T) {
        spread(task.walk, i, at, n, static_cast<const T*>(static_cast<const void*>(data)), static_cast<T*>(static_cast<void*>(to)));
      });
      piece = {to, 1};
    }
    if (!chain_.quantised[i]) return piece;
    if (piece.data != cell(task, spread_cell_)) task.held[i] = {};  // what it held is written over
    auto* real = static_cast<float*>(static_cast<void*>(own));
    bytes_.dequantize(piece.data, stored_as(chain_.inputs[i]), piece.step == 0 ? 1 : n, chain_.scale[i], chain_.zero[i], real);
    return {real, piece.step};
  }

  // Where an operand begins in the rows [at, at + n) if it is the same in each of them; −1 if it is not.
  static int64_t repeated_rows(const Walk& walk, size_t i, int64_t at, int64_t n) {
    if (walk.rank < 2 || at % walk.row != 0) return -1;
    const auto rows = static_cast<size_t>(walk.rank - 2);
    int64_t rest = at / walk.row, offset = 0;
    if (walk.strides[i][rows] != 0 || rest % walk.dims[rows] + (n + walk.row - 1) / walk.row > walk.dims[rows]) return -1;
    rest /= walk.dims[rows];
    for (int d = walk.rank - 3; d >= 0; --d) {
      const auto dim = static_cast<size_t>(d);
      offset += rest % walk.dims[dim] * walk.strides[i][dim];
      rest /= walk.dims[dim];
    }
    return offset;
  }

  // A piece without repetition, in cell `index` if it has to be copied.
  const void* spread_out(const Task& task, const Piece& piece, DataType type, int64_t n, int index) const {
    if (piece.step == 1) return piece.data;
    char* const to = cell(task, index);
    with_size(element_bytes(type), [&]<class T>(T) { std::fill_n(static_cast<T*>(static_cast<void*>(to)), n, *piece.as<T>()); });
    return to;
  }

  Status run_operation(const Task& task, const Operation& op, std::span<const Piece> inputs, void* result, int64_t n) const {
    const ChainStatement& s = op.statement;
    std::array<Piece, 3> operands;
    for (int k = 0; k < s.operand_count(); ++k) {
      const auto at = static_cast<size_t>(k);
      const Source& source = op.sources[at];
      operands[at] = source.kind == Source::Kind::kInput  ? inputs[static_cast<size_t>(source.index)]
                     : source.kind == Source::Kind::kCell ? Piece{cell(task, source.index), 1}
                                                          : Piece{&source.number, 0};
    }
    const RowActivation activation{s.function, static_cast<float>(s.alpha), static_cast<float>(s.beta)};
    if (op.rows && s.kind == ChainStatement::Kind::kUnary) {
      rows_.unary(activation, static_cast<const float*>(spread_out(task, operands[0], DataType::kF32, n, spread_cell_)), static_cast<float*>(result), n);
      return {};
    }
    if (op.rows) {
      rows_.binary(s.binary, activation, operands[0].as<float>(), operands[0].step, operands[1].as<float>(), operands[1].step,
                   static_cast<float*>(result), n);
      return {};
    }
    const DataType first = op.sources[0].type;
    if (s.kind == ChainStatement::Kind::kWhere) {
      const Piece &c = operands[0], &a = operands[1], &b = operands[2];
      if (op.type == DataType::kF32 && c.step == 1) {
        rows_.select(c.as<uint8_t>(), a.as<float>(), a.step, b.as<float>(), b.step, static_cast<float*>(result), n);
        return {};
      }
      with_size(element_bytes(op.type), [&]<class T>(T) {
        auto* y = static_cast<T*>(result);
        for (int64_t i = 0; i < n; ++i) {
          const T yes = a.as<T>()[i * a.step], no = b.as<T>()[i * b.step];
          y[i] = c.as<uint8_t>()[i * c.step] ? yes : no;
        }
      });
      return {};
    }
    if (s.kind == ChainStatement::Kind::kBinary && is_comparison(s.binary) && first != DataType::kBool && s.function == UnaryFunction::kIdentity) {
      with_type(first, [&]<class T>(T) { compare<T>(s.binary, operands[0], operands[1], static_cast<uint8_t*>(result), n); });
      return {};
    }
    if (s.kind == ChainStatement::Kind::kCast && first != op.type) {
      const void* x = spread_out(task, operands[0], first, n, spread_cell_);
      with_type(first, [&]<class From>(From) {
        with_type(op.type, [&]<class To>(To) {
          cast(static_cast<const From*>(x), static_cast<To*>(result), n, op.type == DataType::kBool, first == DataType::kBool);
        });
      });
      return {};
    }
    std::array<const void*, 3> data{};
    std::array<DataType, 3> types{};
    for (int k = 0; k < s.operand_count(); ++k) {
      const auto at = static_cast<size_t>(k);
      types[at] = op.sources[at].type;
      data[at] = spread_out(task, operands[at], types[at], n, spread_cell_ + k);
    }
    const auto count = static_cast<size_t>(s.operand_count());
    return run_chain_statement(s, n, std::span<const DataType>(types).first(count), std::span<const void* const>(data).first(count), op.type, result);
  }

  // Elements [at, at + n), n ≤ kPiece, to `y`, as the program's last statement computes them or quantised.
  Status run_piece(Task& task, int64_t at, int64_t n, void* y) const {
    std::array<Piece, kMaxChainInputs> inputs;
    const auto count = static_cast<size_t>(chain_.program.inputs);
    for (size_t i = 0; i < count; ++i) inputs[i] = input_piece(task, i, at, n);
    for (int i = 0; i < chain_.program.length; ++i) {
      const Operation& op = operations_[static_cast<size_t>(i)];
      const bool is_result = i + 1 == chain_.program.length && !chain_.quantises;
      INGOT_TRY(run_operation(task, op, std::span<const Piece>(inputs).first(count), is_result ? y : cell(task, op.cell), n));
    }
    if (chain_.quantises) {
      const auto* real = static_cast<const float*>(static_cast<const void*>(cell(task, operations_[static_cast<size_t>(chain_.program.length - 1)].cell)));
      bytes_.quantize(real, n, chain_.output_scale, chain_.output_zero, stored_as(chain_.output), y);
    }
    return {};
  }

  // Calls go(begin, end, task) for ranges of units that threads share; the first error counts.
  template <class Go>
  Status share(const KernelArgs& args, const Walk& walk, int64_t units, int64_t grain, Go&& go) const {
    std::atomic<bool> failed{false};
    args.pool->parallel_for(units, std::max<int64_t>(1, grain), [&](int64_t begin, int64_t end, int thread) {
      Task task{walk, args, static_cast<char*>(args.workspace) + static_cast<size_t>(thread) * memory_bytes_, {}};
      if (!go(begin, end, task)) failed.store(true, std::memory_order_relaxed);
    });
    if (!failed.load(std::memory_order_relaxed)) return {};
    return Status(StatusCode::kInternal, "pointwise chain: a statement has no kernel for its types");
  }

  Status run_all(const KernelArgs& args, const Walk& walk) const {
    // A piece is part of a row, or some whole rows.
    const int64_t pieces = (walk.row + kPiece - 1) / kPiece;
    const bool splits = walk.row > kPiece / 2;
    const int64_t width = splits ? (walk.row + pieces - 1) / pieces : kPiece / walk.row * walk.row;
    const int64_t units = splits ? walk.total / walk.row * pieces : (walk.total + width - 1) / width;
    const size_t element = element_bytes(chain_.output);
    return share(args, walk, units, kGrainPieces, [&](int64_t begin, int64_t end, Task& task) {
      for (int64_t u = begin; u < end; ++u) {
        const int64_t at = splits ? u / pieces * walk.row + u % pieces * width : u * width;
        const int64_t n = splits ? std::min(width, walk.row - u % pieces * width) : std::min(width, walk.total - at);
        if (n > 0 && !run_piece(task, at, n, static_cast<char*>(args.outputs[0]) + static_cast<size_t>(at) * element).ok()) return false;
      }
      return true;
    });
  }

  template <class Fold>
  Status reduce(const KernelArgs& args, const Walk& walk, int64_t set_size) const {
    const int64_t sets = args.output_shapes[0].elements(), together = std::max<int64_t>(1, kPiece / std::max<int64_t>(set_size, 1));
    auto* y = static_cast<float*>(args.outputs[0]);
    const int64_t units = (sets + together - 1) / together;
    const int64_t grain = kGrainPieces * kPiece / std::max<int64_t>(1, together * set_size);
    return share(args, walk, units, grain, [&](int64_t begin, int64_t end, Task& task) {
      auto* values = static_cast<float*>(static_cast<void*>(cell(task, operations_[static_cast<size_t>(chain_.program.length - 1)].cell)));
      for (int64_t first = begin * together; first < std::min(end * together, sets); first += together) {
        const int64_t many = std::min(together, sets - first);
        if (set_size <= kPiece) {
          if (set_size > 0 && !run_piece(task, first * set_size, many * set_size, values).ok()) return false;
          for (int64_t i = 0; i < many; ++i) y[first + i] = finish(fold_row<Fold>(values + i * set_size, set_size), set_size);
          continue;
        }
        double total = Fold::kStart;
        for (int64_t at = 0; at < set_size; at += kPiece) {
          const int64_t n = std::min(kPiece, set_size - at);
          if (!run_piece(task, first * set_size + at, n, values).ok()) return false;
          total = Fold::join(total, fold_row<Fold>(values, n));
        }
        y[first] = finish(total, set_size);
      }
      return true;
    });
  }
  float finish(double total, int64_t count) const {
    switch (chain_.reduction.reduce) {
      case ReduceFunction::kMean: return static_cast<float>(total / static_cast<double>(count));
      case ReduceFunction::kL2: return static_cast<float>(std::sqrt(total));
      case ReduceFunction::kLogSum: return static_cast<float>(std::log(total));
      default: return static_cast<float>(total);
    }
  }
  Status run_reduced(const KernelArgs& args, const Shape& full, const Walk& walk) const {
    int64_t set_size = 1;
    for (int d = full.rank - static_cast<int>(chain_.reduction.reduced_dims); d < full.rank; ++d) set_size *= full[d];
    switch (chain_.reduction.reduce) {
      case ReduceFunction::kMax: return reduce<FoldMax>(args, walk, set_size);
      case ReduceFunction::kMin: return reduce<FoldMin>(args, walk, set_size);
      case ReduceFunction::kProd: return reduce<FoldProduct>(args, walk, set_size);
      case ReduceFunction::kL1: return reduce<FoldMagnitudes>(args, walk, set_size);
      case ReduceFunction::kL2: case ReduceFunction::kSumSquare: return reduce<FoldSquares>(args, walk, set_size);
      default: return reduce<FoldSum>(args, walk, set_size);
    }
  }

  ChainProblem chain_;
  const RowKernels& rows_;
  const ChannelwiseKernels& bytes_;
  Layout layout_;
  size_t cell_bytes_, memory_bytes_;
  std::array<Operation, kMaxChainLength> operations_{};
  int spread_cell_ = 0;
};

class ChainTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.pointwise_chain", 1, OpKind::kPointwiseChain};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    ChainProblem chain;
    if (const char* refusal = read_chain(problem, chain)) return {refusal};
    const TensorType& y = problem.outputs[0].type;
    if (chain.reduction.reduced_dims > 0) {
      if (y.dtype != DataType::kF32 || chain.reduction.reduce == ReduceFunction::kLogSumExp) return {"no kernel for this reduction"};
      for (const Operand& input : problem.inputs)
        if (input.type.layout != Layout::kLinear) return {"a reduction reads row-major operands"};
      return y.layout == Layout::kLinear ? Support{} : Support{"a reduction writes a row-major result"};
    }
    for (const Operand& input : problem.inputs)
      if (!reads_in_layout(input.type, y)) return {"an operand has another layout"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    ChainProblem chain;
    if (read_chain(problem, chain)) return 0;
    return ChainKernel::memory_bytes(chain) * static_cast<size_t>(std::max(1, problem.device.threads));
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "pointwise chain: packed constants: got some, need none");
    ChainProblem chain;
    if (const char* refusal = read_chain(problem, chain)) return Status(StatusCode::kInvalidEngine, std::string("pointwise chain: ") + refusal);
    return std::unique_ptr<Kernel>(std::make_unique<ChainKernel>(problem, chain));
  }
};

}  // namespace

std::span<const Tactic* const> pointwise_chain() {
  static const ChainTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cpu
