// ldmatrix, stmatrix and mma.sync. Fragments: register r of lane l holds, for elements of which e fit 32 bits,
//   A: rows l/4 + 8(r&1), columns (l%4)e + 4e(r>>1) …      B: columns l/4, rows (l%4)e + 4er …
//   C, D (32 bits): rows l/4 + 8(r>>1), columns 2(l%4) + (r&1); 16 bits: rows l/4 + 8r, columns 2(l%4) and the next.
// Float products are summed exactly (in double, whose rounding is far below) and rounded once; devices round
// differently inside.
#include "ptx/instruction_table.h"
#include "ptx/memory_access.h"

namespace ingot::ptx {
namespace {

Place row_address(Warp& w, const Instruction& i, int operand, int lane) {
  const Place at = place_of(i.space, address_of(w, i, operand, lane, i.displacement));
  if (at.space != Space::kShared) w.abort(i, lane, FailureKind::kOutOfBounds, "a matrix row outside of shared memory");
  check_shared_bounds(w, i, lane, at.address, 16);
  return at;
}

// Eight rows of 16 bytes, each from the address of one lane, spread over the warp: lane l gets 32 bits of row l/4.
void load_matrices(Warp& w, const Instruction& i, uint32_t) {
  ++w.block->counters.ldmatrix;
  uint64_t first[32];  // before any register changes: the address may share one with the result
  for (int lane = 0; lane < 8 * i.vector; ++lane) first[lane] = row_address(w, i, i.vector, lane).address;
  for (int m = 0; m < i.vector; ++m) {
    const uint64_t* address = first + m * 8;
    uint16_t rows[8][8];
    for (int row = 0; row < 8; ++row) {
      const int lane = m * 8 + row;
      report_shared(w, i, lane, w.block->shared.read(w.accessor(lane), static_cast<uint32_t>(address[row]), 16));
      std::memcpy(rows[row], w.block->shared.data() + address[row], 16);
    }
    count_shared(w, address, 0xff, 16);
    for (int lane = 0; lane < 32; ++lane) {
      const int major = lane / 4, minor = lane % 4 * 2;
      const uint32_t low = i.flags ? rows[minor][major] : rows[major][minor],
                     high = i.flags ? rows[minor + 1][major] : rows[major][minor + 1];
      w.set_raw(i, m, lane, high << 16 | low);
    }
  }
}

void store_matrices(Warp& w, const Instruction& i, uint32_t) {
  for (int m = 0; m < i.vector; ++m) {
    uint64_t address[32] = {};
    uint16_t rows[8][8];
    for (int lane = 0; lane < 32; ++lane) {
      const int major = lane / 4, minor = lane % 4 * 2;
      const uint32_t value = static_cast<uint32_t>(w.raw(i, m + 1, lane));
      (i.flags ? rows[minor][major] : rows[major][minor]) = static_cast<uint16_t>(value);
      (i.flags ? rows[minor + 1][major] : rows[major][minor + 1]) = static_cast<uint16_t>(value >> 16);
    }
    for (int row = 0; row < 8; ++row) {
      const int lane = m * 8 + row;
      const Place at = row_address(w, i, 0, lane);
      address[row] = at.address;
      store(w, i, lane, at, rows[row], 16);
    }
    count_shared(w, address, 0xff, 16);
  }
}

template <bool kLoad>
Exec select_matrix(const Match& m, Instruction& i) {
  i.vector = m.has("x4") ? 4 : m.has("x2") ? 2 : 1;
  i.flags = m.has("trans");
  i.flow = Flow::kWholeWarp;
  const int operands = i.vector + 1;
  if (i.r[operands] != kNoRegister) return nullptr;
  for (int k = 0; k < operands; ++k) {
    if (i.r[k] == kNoRegister && !(k == (kLoad ? i.vector : 0))) return nullptr;
  }
  const bool shared = m.has("shared") || m.has("shared::cta");
  if (!shared && i.space != Space::kGeneric) return nullptr;
  i.space = shared ? Space::kShared : Space::kGeneric;
  return kLoad ? load_matrices : store_matrices;
}

// Elements of the fragments as numbers of type N; `of` takes the place in a register's 32 bits.
template <class N, int kRows, int kDepth>
struct Fragments {
  N a[kRows][kDepth], b[8][kDepth];

  template <class FA, class FB>
  Fragments(Warp& w, const Instruction& i, int first_a, int per_word, FA element_a, FB element_b) {
    const int registers_a = kRows / 8 * kDepth / (4 * per_word), registers_b = kDepth / (4 * per_word);
    const int halves = kRows / 8;
    for (int r = 0; r < registers_a; ++r) {
      const uint32_t* words = w.lane_array<uint32_t>(i.r[first_a + r]);
      for (int lane = 0; lane < 32; ++lane) {
        for (int e = 0; e < per_word; ++e) {
          a[lane / 4 + 8 * (r % halves)][lane % 4 * per_word + r / halves * 4 * per_word + e] =
              element_a(words[lane], e);
        }
      }
    }
    for (int r = 0; r < registers_b; ++r) {
      const uint32_t* words = w.lane_array<uint32_t>(i.r[first_a + registers_a + r]);
      for (int lane = 0; lane < 32; ++lane) {
        for (int e = 0; e < per_word; ++e)
          b[lane / 4][lane % 4 * per_word + r * 4 * per_word + e] = element_b(words[lane], e);
      }
    }
  }
};

enum : uint8_t { kSignedA = 1, kSignedB = 2, kBF16 = 4, kHalfSums = 8 };

template <int kRows, int kDepth>
void integer_mma(Warp& w, const Instruction& i, uint32_t) {
  ++w.block->counters.mma;
  constexpr int kSums = kRows / 4, kWordsA = kRows / 8 * kDepth / 16, kWordsB = kDepth / 16;
  const auto element = [](bool is_signed_type) {
    return [is_signed_type](uint32_t word, int e) {
      const uint8_t byte = static_cast<uint8_t>(word >> (8 * e));
      return is_signed_type ? int16_t{static_cast<int8_t>(byte)} : int16_t{byte};
    };
  };
  const Fragments<int16_t, kRows, kDepth> f(w, i, kSums, 4, element(i.flags & kSignedA), element(i.flags & kSignedB));
  int32_t product[kRows][8];
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < 8; ++n) {
      int32_t sum = 0;
      for (int k = 0; k < kDepth; ++k) sum += f.a[m][k] * f.b[n][k];
      product[m][n] = sum;
    }
  }
  uint32_t addend[4][32];
  for (int r = 0; r < kSums; ++r)
    std::memcpy(addend[r], w.lane_array<uint32_t>(i.r[kSums + kWordsA + kWordsB + r]), sizeof addend[r]);
  for (int r = 0; r < kSums; ++r) {
    uint32_t* d = w.lane_array<uint32_t>(i.r[r]);
    const uint32_t* c = addend[r];
    for (int lane = 0; lane < 32; ++lane) {
      const int64_t sum =
          int64_t{static_cast<int32_t>(c[lane])} + product[lane / 4 + 8 * (r >> 1)][lane % 4 * 2 + (r & 1)];
      d[lane] = i.sat ? static_cast<uint32_t>(sum > INT32_MAX   ? INT32_MAX
                                              : sum < INT32_MIN ? INT32_MIN
                                                                : static_cast<int32_t>(sum))
                      : static_cast<uint32_t>(sum);
    }
  }
}

template <int kDepth, int kPerWord>
void float_mma(Warp& w, const Instruction& i, uint32_t) {
  ++w.block->counters.mma;
  const bool half_sums = i.flags & kHalfSums;
  constexpr int kWordsA = kDepth / 2 / kPerWord, kWordsB = kDepth / 4 / kPerWord;
  const int sums = half_sums ? 2 : 4;
  const auto element = [&](uint32_t word, int e) -> double {
    if (kPerWord == 1)
      return static_cast<double>(std::bit_cast<float>(word & 0xffffe000u));  // tf32: the low bits do not count
    const uint16_t bits = static_cast<uint16_t>(word >> (16 * e));
    return static_cast<double>(i.flags & kBF16 ? bf16_to_f32(bits) : f16_to_f32(bits));
  };
  const Fragments<double, 16, kDepth> f(w, i, sums, kPerWord, element, element);
  double product[16][8], columns[kDepth][8];
  for (int k = 0; k < kDepth; ++k) {
    for (int n = 0; n < 8; ++n) columns[k][n] = f.b[n][k];
  }
  for (int m = 0; m < 16; ++m) {
    double row[8] = {};
    for (int k = 0; k < kDepth; ++k) {
      for (int n = 0; n < 8; ++n) row[n] += f.a[m][k] * columns[k][n];
    }
    for (int n = 0; n < 8; ++n) product[m][n] = row[n];
  }
  uint32_t addend[4][32];
  for (int r = 0; r < sums; ++r)
    std::memcpy(addend[r], w.lane_array<uint32_t>(i.r[sums + kWordsA + kWordsB + r]), sizeof addend[r]);
  for (int r = 0; r < sums; ++r) {
    uint32_t* d = w.lane_array<uint32_t>(i.r[r]);
    const uint32_t* c = addend[r];
    for (int lane = 0; lane < 32; ++lane) {
      const int row = lane / 4, column = lane % 4 * 2;
      if (half_sums) {
        const auto sum = [&](int e) {
          const double x = static_cast<double>(f16_to_f32(static_cast<uint16_t>(c[lane] >> (16 * e)))) +
                           product[row + 8 * r][column + e];
          return uint32_t{f32_to_f16(f64_to_f32_odd(x))};
        };
        d[lane] = sum(1) << 16 | sum(0);
      } else {
        d[lane] = std::bit_cast<uint32_t>(static_cast<float>(static_cast<double>(std::bit_cast<float>(c[lane])) +
                                                             product[row + 8 * (r >> 1)][column + (r & 1)]));
      }
    }
  }
}

// Slots: sync aligned shape row col [satfinite] D A B C.
Exec select_integer(const Match& m, Instruction& i) {
  i.flow = Flow::kWholeWarp;
  i.sat = m.has("satfinite");
  i.flags = static_cast<uint8_t>((m.slots[7] == "s8" ? kSignedA : 0) | (m.slots[8] == "s8" ? kSignedB : 0));
  const std::string_view shape = m.slots[2];
  return shape == "m16n8k32"   ? integer_mma<16, 32>
         : shape == "m16n8k16" ? integer_mma<16, 16>
                               : static_cast<Exec>(integer_mma<8, 16>);
}

Exec select_float(const Match& m, Instruction& i) {
  i.flow = Flow::kWholeWarp;
  if (m.slots[6] != m.slots[7] || m.slots[5] != m.slots[8]) return nullptr;
  i.flags = static_cast<uint8_t>((m.slots[6] == "bf16" ? kBF16 : 0) | (m.slots[5] == "f16" ? kHalfSums : 0));
  const std::string_view shape = m.slots[2];
  if (m.slots[6] == "tf32") return shape == "m16n8k8" ? float_mma<8, 1> : static_cast<Exec>(float_mma<4, 1>);
  return shape == "m16n8k16" ? float_mma<16, 2> : static_cast<Exec>(float_mma<8, 2>);
}

#define MMA "mma sync aligned "
#define INTEGER " row col satfinite? s32 u8|s8 u8|s8 s32 satfinite?"  // CUTLASS writes it last
constexpr Form kForms[] = {
    {"ldmatrix sync aligned m8n8 x1 trans? shared|shared::cta? b16", "=1b32 a", select_matrix<true>},
    {"ldmatrix sync aligned m8n8 x2 trans? shared|shared::cta? b16", "=2b32 a", select_matrix<true>},
    {"ldmatrix sync aligned m8n8 x4 trans? shared|shared::cta? b16", "=4b32 a", select_matrix<true>},
    // CUTLASS writes the number of matrices first, which ptxas takes.
    {"ldmatrix sync aligned x1 m8n8 trans? shared|shared::cta? b16", "=1b32 a", select_matrix<true>},
    {"ldmatrix sync aligned x2 m8n8 trans? shared|shared::cta? b16", "=2b32 a", select_matrix<true>},
    {"ldmatrix sync aligned x4 m8n8 trans? shared|shared::cta? b16", "=4b32 a", select_matrix<true>},
    {"stmatrix sync aligned m8n8 x1 trans? shared|shared::cta? b16", "a 1b32", select_matrix<false>},
    {"stmatrix sync aligned m8n8 x2 trans? shared|shared::cta? b16", "a 2b32", select_matrix<false>},
    {"stmatrix sync aligned m8n8 x4 trans? shared|shared::cta? b16", "a 4b32", select_matrix<false>},
    {MMA "m16n8k32" INTEGER, "=4b32 4b32 2b32 4b32", select_integer},
    {MMA "m16n8k16" INTEGER, "=4b32 2b32 1b32 4b32", select_integer},
    {MMA "m8n8k16" INTEGER, "=2b32 1b32 1b32 2b32", select_integer},
    {MMA "m16n8k16 row col f32 f16|bf16 f16|bf16 f32", "=4b32 4b32 2b32 4b32", select_float},
    {MMA "m16n8k16 row col f16 f16 f16 f16", "=2b32 4b32 2b32 2b32", select_float},
    {MMA "m16n8k8 row col f32 f16|bf16 f16|bf16 f32", "=4b32 2b32 1b32 4b32", select_float},
    {MMA "m16n8k8 row col f16 f16 f16 f16", "=2b32 2b32 1b32 2b32", select_float},
    {MMA "m16n8k8 row col f32 tf32 tf32 f32", "=4b32 4b32 2b32 4b32", select_float},
    {MMA "m16n8k4 row col f32 tf32 tf32 f32", "=4b32 2b32 1b32 4b32", select_float},
};

}  // namespace

std::span<const Form> matrix_forms() { return kForms; }

}  // namespace ingot::ptx
