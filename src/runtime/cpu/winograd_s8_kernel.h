// The loops of winograd_s8.h for one instruction set. Isa: 16 lanes of 32 bits (lanes_*.h), and
//   P, pairs(p), dot_pairs(sum, a, w)   16 pairs of 16-bit numbers; one pair for all lanes: pair_of(p); sum += products of pairs
//   H, load_h(p), load_h_some(p, n), …  a register of kHalves 16-bit numbers, for the input transform
// For ISA files only: everything has internal linkage.
#pragma once

#include "runtime/cpu/winograd_s8.h"

namespace ingot::cpu {
namespace {

// Bᵀ of six values.
template <class Isa>
[[gnu::always_inline]] inline void winograd_input(const typename Isa::H (&d)[6], typename Isa::H (&t)[6]) {
  const auto a = Isa::sub16(d[4], Isa::template shl16<2>(d[2])), b = Isa::sub16(d[3], Isa::template shl16<2>(d[1]));
  const auto c = Isa::sub16(d[4], d[2]), e = Isa::sub16(d[3], d[1]), twice = Isa::add16(e, e);
  t[0] = Isa::add16(Isa::template shl16<2>(Isa::sub16(d[0], d[2])), c);
  t[1] = Isa::add16(a, b);
  t[2] = Isa::sub16(a, b);
  t[3] = Isa::add16(c, twice);
  t[4] = Isa::sub16(c, twice);
  t[5] = Isa::sub16(Isa::sub16(d[5], d[3]), Isa::template shl16<2>(e));
}

template <class Isa, bool kSigned>
void winograd_input(const WinogradInput& t) {
  using H = typename Isa::H;
  for (int64_t c = 0; c < t.channels; c += Isa::kHalves) {
    const int64_t n = t.channels - c;
    H half[6][6];
#pragma GCC unroll 6
    for (int x = 0; x < 6; ++x) {
      H d[6], r[6];
#pragma GCC unroll 6
      for (int y = 0; y < 6; ++y) {
        const uint8_t* p = t.pixels[y * 6 + x] + c;
        d[y] = n >= Isa::kHalves ? Isa::template load_h<kSigned>(p) : Isa::template load_h_some<kSigned>(p, n);
      }
      winograd_input<Isa>(d, r);
#pragma GCC unroll 6
      for (int y = 0; y < 6; ++y) half[y][x] = r[y];
    }
#pragma GCC unroll 6
    for (int y = 0; y < 6; ++y) {
      H r[6];
      winograd_input<Isa>(half[y], r);
#pragma GCC unroll 6
      for (int x = 0; x < 6; ++x) Isa::store_h(t.v + (y * 6 + x) * t.product_stride + c, r[x]);
    }
  }
}

// A'ᵀ of six values.
template <class Isa>
[[gnu::always_inline]] inline void winograd_output(const typename Isa::I (&m)[6], typename Isa::I (&y)[4]) {
  const auto s = Isa::add(m[1], m[2]), d = Isa::sub(m[1], m[2]), p = Isa::add(m[3], m[4]), q = Isa::sub(m[3], m[4]);
  y[0] = Isa::add(Isa::template shl<1>(Isa::add(m[0], Isa::add(s, s))), p);
  y[1] = Isa::add(Isa::add(d, d), q);
  y[2] = Isa::add(s, p);
  y[3] = Isa::add(d, Isa::template shl<1>(Isa::add(q, m[5])));
}
template <class Isa, int kShift>
[[gnu::always_inline]] inline void winograd_sum(int32_t* out, typename Isa::I y, typename Isa::I bias) {
  Isa::store(out, Isa::add(Isa::template sra<kShift>(Isa::mul(y, Isa::set_i(0x38E38E39))), bias));
}
// One output row: four pixels, `pixel_stride` sums apart. kShift: of the row.
template <class Isa, int kShift>
[[gnu::always_inline]] inline void winograd_row(const typename Isa::I (&half)[6], typename Isa::I bias, int32_t* out, int64_t pixel_stride) {
  typename Isa::I y[4];
  winograd_output<Isa>(half, y);
  winograd_sum<Isa, kShift + 3>(out, y[0], bias);
  winograd_sum<Isa, kShift + 2>(out + pixel_stride, y[1], bias);
  winograd_sum<Isa, kShift + 1>(out + 2 * pixel_stride, y[2], bias);
  winograd_sum<Isa, kShift + 1>(out + 3 * pixel_stride, y[3], bias);
}

// From M of one tile, 16 channels, to sums[row · row_stride + column · pixel_stride].
template <class Isa>
void winograd_output(const int32_t* m, int64_t product_stride, const int32_t* bias, int32_t* sums, int64_t row_stride, int64_t pixel_stride) {
  using I = typename Isa::I;
  I half[4][6];
#pragma GCC unroll 6
  for (int x = 0; x < 6; ++x) {
    I column[6], r[4];
#pragma GCC unroll 6
    for (int y = 0; y < 6; ++y) column[y] = Isa::load(m + (y * 6 + x) * product_stride);
    winograd_output<Isa>(column, r);
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) half[y][x] = r[y];
  }
  const I b = Isa::load(bias);
  winograd_row<Isa, 3>(half[0], b, sums, pixel_stride);
  winograd_row<Isa, 2>(half[1], b, sums + row_stride, pixel_stride);
  winograd_row<Isa, 1>(half[2], b, sums + 2 * row_stride, pixel_stride);
  winograd_row<Isa, 1>(half[3], b, sums + 3 * row_stride, pixel_stride);
}

template <class Isa, int kBlocks, int kTiles>
void winograd_tiles(const WinogradTiles& t) {
  constexpr int64_t kProduct = kTiles * kBlocks * kBlockChannels;
  const int64_t pairs = t.pairs;
  for (int p = 0; p < kWinogradProducts; ++p) {
    typename Isa::I sum[kTiles][kBlocks];
#pragma GCC unroll 16
    for (int r = 0; r < kTiles; ++r)
#pragma GCC unroll 4
      for (int b = 0; b < kBlocks; ++b) sum[r][b] = Isa::set_i(0);
    const int16_t* x[kTiles];
#pragma GCC unroll 16
    for (int r = 0; r < kTiles; ++r) x[r] = t.v + p * t.product_stride + r * t.tile_stride;
    const int16_t* w = t.u + p * pairs * 2 * kBlockChannels;
    for (int64_t k = 0; k < pairs; ++k, w += 2 * kBlockChannels) {
      typename Isa::P weights[kBlocks];
#pragma GCC unroll 4
      for (int b = 0; b < kBlocks; ++b) weights[b] = Isa::pairs(w + b * t.block_stride);
#pragma GCC unroll 16
      for (int r = 0; r < kTiles; ++r) {
        const auto a = Isa::pair_of(x[r] + 2 * k);
#pragma GCC unroll 4
        for (int b = 0; b < kBlocks; ++b) Isa::dot_pairs(sum[r][b], a, weights[b]);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kTiles; ++r)
#pragma GCC unroll 4
      for (int b = 0; b < kBlocks; ++b) Isa::store(t.m + p * kProduct + (r * kBlocks + b) * kBlockChannels, sum[r][b]);
  }
  // Tiles side by side are finished together: their rows are then up to 16 neighbouring pixels.
  constexpr int kTogether = 4;
  constexpr int64_t kPixel = kBlocks * kBlockChannels, kRow = kTogether * kWinogradOut * kPixel;
  alignas(64) int32_t sums[kWinogradOut * kRow];
  for (int first = 0; first < kTiles;) {
    int count = 0;
    int64_t columns = 0;
    const WinogradPlace& place = t.places[first];
    do {
      for (int b = 0; b < kBlocks; ++b)
        winograd_output<Isa>(t.m + ((first + count) * kBlocks + b) * kBlockChannels, kProduct, t.bias + b * kBlockChannels,
                             sums + columns * kPixel + b * kBlockChannels, kRow, kPixel);
      columns += t.places[first + count].columns;
      ++count;
    } while (count < kTogether && first + count < kTiles && t.places[first + count].pixel == place.pixel + columns &&
             t.places[first + count].rows == place.rows && columns == count * kWinogradOut);
    for (int64_t y = 0; y < place.rows; ++y)
      t.finish(sums + y * kRow, static_cast<int>(columns), kPixel, place.pixel + y * t.row_pixels, t.channel, t.channels, *t.epilogue);
    first += count;
  }
}

template <class Isa, int kBlocks, int kTiles>
constexpr void add_winograd(WinogradKernels& k) {
  k.tiles[kBlocks - 1][kTiles - 1] = winograd_tiles<Isa, kBlocks, kTiles>;
  if constexpr (kTiles > 1) add_winograd<Isa, kBlocks, kTiles - 1>(k);
}
template <class Isa, int kMaxBlocks, int kMaxTiles>
constexpr WinogradKernels winograd_kernels() {
  static_assert(kMaxBlocks <= kMaxWinogradBlocks && kMaxTiles <= kMaxWinogradTiles);
  WinogradKernels k{};
  k.max_tiles = kMaxTiles;
  k.max_blocks = kMaxBlocks;
  k.input[0] = winograd_input<Isa, false>;
  k.input[1] = winograd_input<Isa, true>;
  add_winograd<Isa, 1, kMaxTiles>(k);
  if constexpr (kMaxBlocks > 1) add_winograd<Isa, 2, kMaxTiles>(k);
  return k;
}

}  // namespace
}  // namespace ingot::cpu
