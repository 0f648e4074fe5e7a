// Pad and Tile in either layout: a table for each dim says which input index stands at each output index, −1 for the padding
// value. What stays together in memory is copied together.
#include <array>
#include <cstring>
#include <string>

#include "runtime/cpu/broadcast_rows.h"
#include "runtime/ops/element.h"
#include "runtime/ops/strided_copy.h"
#include "runtime/ops/type_rule.h"
#include "runtime/tactic.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // bytes below which another thread does not pay

class TabledKernel : public Kernel {
 public:
  explicit TabledKernel(const Problem& problem)
      : layout_(problem.outputs[0].type.layout), rank_(problem.outputs[0].type.shape.rank),
        element_(element_bytes(problem.outputs[0].type.dtype)) {
    for (const Operand& input : problem.inputs) inputs_.push_back({input.type.dtype, {}, nullptr, input.present});
  }

 protected:
  // A short integer input.
  Status read(const KernelArgs& args, std::string_view op, std::string_view name, size_t i, IndexList& list) const {
    OpInput input = inputs_[i];
    input.shape = args.input_shapes[i];
    input.data = args.inputs[i];
    return read_index_list(op, name, input, 2 * Shape::kMaxRank, list);
  }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].present; }

  // source(d, i): input index of dim d of the model for output index i, or −1.
  template <class Source>
  void move(const KernelArgs& args, const void* value, Source&& source) const {
    Walk walk;
    walk.in = memory_shape(args.input_shapes[0], rank_, layout_);
    walk.out = memory_shape(args.output_shapes[0], rank_, layout_);
    if (walk.out.elements() == 0) return;
    walk.rank = rank_;
    walk.value = value;
    auto* entries = static_cast<int64_t*>(args.workspace);
    std::array<bool, Shape::kMaxRank> kept{};
    for (int d = 0; d < rank_; ++d) {
      const bool turned = layout_ == Layout::kChannelsLast && rank_ >= 3;
      const int model = !turned || d == 0 ? d : d + 1 < rank_ ? d + 1 : 1;
      const auto at = static_cast<size_t>(d);
      walk.tables[at] = entries;
      kept[at] = walk.in[d] == walk.out[d];
      for (int64_t i = 0; i < walk.out[d]; ++i, ++entries) {
        *entries = source(model, i);
        kept[at] = kept[at] && *entries == i;
      }
    }
    while (walk.rank > 1 && kept[static_cast<size_t>(walk.rank - 1)]) walk.block *= walk.out[--walk.rank];
    if (walk.rank == 0) {
      std::memcpy(args.outputs[0], args.inputs[0], element_);
      return;
    }
    const int64_t row = walk.out[walk.rank - 1], rows = Shape::of(walk.out.span().first(static_cast<size_t>(walk.rank - 1))).elements();
    const int64_t bytes = row * walk.block * static_cast<int64_t>(element_);
    args.pool->parallel_for(rows, std::max<int64_t>(1, kGrain / bytes), [&](int64_t begin, int64_t end, int) {
      for (int64_t r = begin; r < end; ++r)
        move_row(walk, r, static_cast<const std::byte*>(args.inputs[0]), static_cast<std::byte*>(args.outputs[0]));
    });
  }

 private:
  struct Walk {
    Shape in, out;      // in the order of memory
    int rank = 0;       // without the dims of the block
    int64_t block = 1;  // elements
    const void* value = nullptr;
    std::array<const int64_t*, Shape::kMaxRank> tables{};
  };

  void move_row(const Walk& walk, int64_t r, const std::byte* x, std::byte* y) const {
    const int64_t row = walk.out[walk.rank - 1], bytes = walk.block * static_cast<int64_t>(element_);
    std::byte* to = y + r * row * bytes;
    int64_t at = 0, stride = 1;
    for (int d = walk.rank - 2; d >= 0; --d) {
      const int64_t index = walk.tables[static_cast<size_t>(d)][r % walk.out[d]];
      r /= walk.out[d];
      if (index < 0) return fill_elements(to, row * walk.block, element_, walk.value);
      at += stride * index;
      stride *= walk.in[d];
    }
    const std::byte* from = x + at * walk.in[walk.rank - 1] * bytes;
    const int64_t* table = walk.tables[static_cast<size_t>(walk.rank - 1)];
    for (int64_t i = 0; i < row;) {
      int64_t end = i + 1;
      if (table[i] < 0) {
        while (end < row && table[end] < 0) ++end;
        fill_elements(to + i * bytes, (end - i) * walk.block, element_, walk.value);
      } else {
        while (end < row && table[end] == table[end - 1] + 1) ++end;
        std::memcpy(to + i * bytes, from + table[i] * bytes, static_cast<size_t>((end - i) * bytes));
      }
      i = end;
    }
  }

  Layout layout_;
  int rank_;
  size_t element_;
  std::vector<OpInput> inputs_;
};

class PadKernel final : public TabledKernel {
 public:
  PadKernel(const Problem& problem) : TabledKernel(problem), mode_(std::get<PadParams>(problem.params).mode) {
    const TensorType& x = problem.inputs[0].type;
    if (is_quantized(x)) zero_[0] = static_cast<std::byte>(static_cast<uint8_t>(zero_point_of(x)));
  }
  Status run(const KernelArgs& args) noexcept override {
    const Shape& x = args.input_shapes[0];
    IndexList pads, axes;
    INGOT_TRY(read(args, "pad", "pads", 1, pads));
    if (has(3)) INGOT_TRY(read(args, "pad", "axes", 3, axes));
    const int count = has(3) ? axes.count : x.rank;
    if (pads.count != 2 * count)
      return refuse("pad", "number of pads", std::to_string(pads.count), std::to_string(2 * count) + ", two per axis", StatusCode::kInvalidArgument);
    std::array<int64_t, Shape::kMaxRank> before{}, after{};
    for (int i = 0; i < count; ++i) {
      int axis = i;
      if (has(3)) INGOT_TRY(read_axis("pad", axes[i], x.rank, axis));
      before[static_cast<size_t>(axis)] = pads[i];
      after[static_cast<size_t>(axis)] = pads[count + i];
    }
    for (int d = 0; d < x.rank; ++d) {
      const auto at = static_cast<size_t>(d);
      if (x[d] + before[at] + after[at] != args.output_shapes[0][d])
        return refuse("pad", "output shape differs from what the inputs give", std::to_string(args.output_shapes[0][d]),
                      std::to_string(x[d] + before[at] + after[at]), StatusCode::kInvalidArgument);
    }
    const void* value = has(2) ? args.inputs[2] : zero_.data();
    move(args, value, [&](int d, int64_t i) {
      const auto at = static_cast<size_t>(d);
      const int64_t crop = std::max<int64_t>(-before[at], 0), kept = x[d] - crop - std::max<int64_t>(-after[at], 0);
      const int64_t k = i - std::max<int64_t>(before[at], 0);
      return k >= 0 && k < kept ? crop + k : mode_ == PadMode::kConstant ? -1 : crop + repeated(k, kept);
    });
    return {};
  }

 private:
  // The place in 0 … kept − 1 that index k outside repeats.
  int64_t repeated(int64_t k, int64_t kept) const {
    if (mode_ == PadMode::kEdge) return std::clamp<int64_t>(k, 0, kept - 1);
    const int64_t period = mode_ == PadMode::kWrap ? kept : std::max<int64_t>(2 * (kept - 1), 1);
    k %= period;
    if (k < 0) k += period;
    return k < kept ? k : period - k;
  }
  PadMode mode_;
  std::array<std::byte, 8> zero_{};
};

class TileKernel final : public TabledKernel {
 public:
  using TabledKernel::TabledKernel;
  Status run(const KernelArgs& args) noexcept override {
    const Shape &x = args.input_shapes[0], &y = args.output_shapes[0];
    IndexList repeats;
    INGOT_TRY(read(args, "tile", "repeats", 1, repeats));
    for (int d = 0; d < x.rank; ++d)
      if (repeats.count != x.rank || repeats[d] * x[d] != y[d])
        return refuse("tile", "repeats of dim " + std::to_string(d), std::to_string(d < repeats.count ? repeats[d] : 0),
                      "what makes a dim of " + std::to_string(y[d]), StatusCode::kInvalidArgument);
    move(args, nullptr, [&](int d, int64_t i) { return i % x[d]; });
    return {};
  }
};

class TabledTactic final : public Tactic {
 public:
  TabledTactic(OpKind op, std::string_view name) : info_{name, 1, op} {}
  const TacticInfo& info() const override { return info_; }
  Support supports(const Problem& problem) const override {
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (x.dtype != y.dtype || x.layout != y.layout) return {"type or layout of input and output differ"};
    if (info_.op == OpKind::kPad && problem.inputs.size() > 2 && problem.inputs[2].present && problem.inputs[2].type.dtype != x.dtype)
      return {"the value is of another type"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    int64_t entries = 0;
    for (int64_t dim : problem.outputs[0].max_shape.span()) entries += dim;
    return static_cast<size_t>(entries) * sizeof(int64_t);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, std::string(info_.name) + ": packed constants: got some, need none");
    if (info_.op == OpKind::kPad) return std::unique_ptr<Kernel>(std::make_unique<PadKernel>(problem));
    return std::unique_ptr<Kernel>(std::make_unique<TileKernel>(problem));
  }

 private:
  TacticInfo info_;
};

}  // namespace

std::span<const Tactic* const> pad_tile() {
  static const TabledTactic pad(OpKind::kPad, "cpu.pad.tabled"), tile(OpKind::kTile, "cpu.tile.tabled");
  static const std::array<const Tactic*, 2> list = {&pad, &tile};
  return list;
}

}  // namespace ingot::cpu
