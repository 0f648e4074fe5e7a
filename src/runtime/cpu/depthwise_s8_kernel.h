// The loops of DepthwiseRun (channelwise_s8.h) for one instruction set. Lanes: 16 values of 32 bits (lanes_*.h). Bytes: a
// register of bytes (bytes_*.h). Dot: load(w) reads a register's weights, kWeightBytes long; sum(acc, bytes, weights) adds 4
// products to each 32-bit lane. For ISA files only: everything has internal linkage.
#pragma once

#include "runtime/cpu/channelwise_s8.h"
#include "runtime/cpu/row_epilogue.h"

namespace ingot::cpu {
namespace {

// A register of kLaneBytes channels of neighbouring pixels, whose addresses are given.
template <class Bytes, int kLaneBytes>
[[gnu::always_inline]] inline typename Bytes::V load_pixels(const uint8_t* const* pixels, int64_t channels) {
  if (channels >= kLaneBytes) return Bytes::template load_lanes<kLaneBytes>(pixels);
  alignas(64) uint8_t bytes[Bytes::kWidth] = {};
  for (int i = 0; i < Bytes::kWidth / kLaneBytes; ++i) std::memcpy(bytes + i * kLaneBytes, pixels[i], static_cast<size_t>(channels));
  return Bytes::load(bytes);
}

template <class Bytes, bool kSigned, int kLaneBytes>
void interleave_columns(const DepthwiseRun& t) {
  constexpr int kWidth = Bytes::kWidth, kPixels = kWidth / kLaneBytes;
  const int64_t register_bytes = t.pixel_step * t.plane * kLaneBytes;  // from register to register
  // Neighbouring pixels are neighbouring bytes.
  const bool dense = kPixels > 1 && t.pixel_step == 1 && t.all_channels == kLaneBytes;
  for (int64_t group = 0; group < t.row_groups; ++group) {
    const DepthwiseRow* rows = t.rows + group * 4;
    for (int64_t phase = 0; phase < t.pixel_step; ++phase) {
      uint8_t* out = t.scratch + group * 4 * register_bytes + phase * t.plane * kLaneBytes;
      for (int64_t i = 0; i * t.pixel_step + phase < t.columns; i += kPixels, out += kWidth) {
        const int64_t first = t.first_column + i * t.pixel_step + phase, last = first + (kPixels - 1) * t.pixel_step;
        const bool inside = first >= 0 && last < t.in_columns;
        typename Bytes::V x[4];
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
          const uint8_t* line = rows[r].x + t.channel;
          if (inside && (kPixels == 1 || dense) && t.channels >= kLaneBytes) {
            x[r] = Bytes::load(line + first * rows[r].step);
          } else {
            const uint8_t* pixels[kPixels];
            for (int l = 0; l < kPixels; ++l) {
              const int64_t column = first + l * t.pixel_step;
              pixels[l] = column >= 0 && column < t.in_columns ? line + column * rows[r].step : t.padding + t.channel;
            }
            x[r] = load_pixels<Bytes, kLaneBytes>(pixels, t.channels);
          }
          if (kSigned) x[r] = Bytes::flip_sign(x[r]);
        }
        const auto low01 = Bytes::low8(x[0], x[1]), high01 = Bytes::high8(x[0], x[1]);
        const auto low23 = Bytes::low8(x[2], x[3]), high23 = Bytes::high8(x[2], x[3]);
        Bytes::store(out, Bytes::low16(low01, low23));
        Bytes::store(out + register_bytes, Bytes::high16(low01, low23));
        Bytes::store(out + 2 * register_bytes, Bytes::low16(high01, high23));
        Bytes::store(out + 3 * register_bytes, Bytes::high16(high01, high23));
      }
    }
  }
}

// What stays the same over the pixels of one output row. Finish says what becomes of the sums: bytes by integers, or anything.
enum class Finish { kBytes, kAny };
template <class Bytes>
struct DepthwiseLoop {
  const DepthwiseRun& t;
  const RowEpilogue& e;
  const int8_t* weights;
  int64_t pixel;                              // of output, where the row begins
  int64_t register_bytes;                     // from register to register of the scratch
  typename Bytes::V zero_low, zero_high, low, high;  // zeros: of the lower and upper 8 channels of each lane
};

// kRegisters neighbouring registers of pixels from place `at` of the run, of which the first `pixels` pixels are stored. kTaps
// and kGroups are taps and row_groups where they are known and tap_step is 1, kStep pixel_step; else 0.
template <class Lanes, class Bytes, class Dot, Finish kFinish, int kLaneBytes, int kRegisters, int kTaps, int kGroups, int kStep>
[[gnu::always_inline]] inline void depthwise_pixels(const DepthwiseLoop<Bytes>& loop, int64_t at, int64_t pixels) {
  constexpr int kWidth = Bytes::kWidth, kInts = kWidth / 4, kPixels = kWidth / kLaneBytes;
  const DepthwiseRun& t = loop.t;
  const int64_t register_bytes = loop.register_bytes;
  const uint8_t* first = t.scratch + at * kLaneBytes;
  const int8_t* w = loop.weights;
  typename Bytes::V acc[kRegisters][4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j)
#pragma GCC unroll 4
    for (int p = 0; p < kRegisters; ++p) acc[p][j] = Bytes::load(reinterpret_cast<const uint8_t*>(t.bias + j * kInts));
  const auto add_group = [&](const uint8_t* x, const int8_t* group) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const auto weights = Dot::load(group + j * Dot::kWeightBytes);
#pragma GCC unroll 4
      for (int p = 0; p < kRegisters; ++p) acc[p][j] = Dot::sum(acc[p][j], Bytes::load(x + j * register_bytes + p * kWidth), weights);
    }
  };
  if constexpr (kTaps > 0) {
    const int64_t plane_bytes = t.plane * kLaneBytes;
#pragma GCC unroll 8
    for (int tap = 0; tap < kTaps; ++tap)
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g)
        add_group(first + tap % kStep * plane_bytes + tap / kStep * kLaneBytes + g * 4 * register_bytes, w + (tap * kGroups + g) * 4 * Dot::kWeightBytes);
  } else {
    for (int64_t tap = 0; tap < t.taps; ++tap) {
      const int64_t column = tap * t.tap_step;
      const uint8_t* x = first + (column % t.pixel_step * t.plane + column / t.pixel_step) * kLaneBytes;
      for (int64_t g = 0; g < t.row_groups; ++g, w += 4 * Dot::kWeightBytes) add_group(x + g * 4 * register_bytes, w);
    }
  }
  const int64_t pixel = loop.pixel + at;
  if constexpr (kFinish == Finish::kAny) {
    alignas(64) int32_t sums[kRegisters * kWidth];
#pragma GCC unroll 4
    for (int p = 0; p < kRegisters; ++p)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) Bytes::store_fours(sums + p * kWidth + j * 4, acc[p][j]);
    t.finish(sums, static_cast<int>(pixels), kLaneBytes, pixel, t.channel, t.channels, loop.e);
  } else {
    if (t.curved_bytes) {
      // The order of the values does not matter to the function.
      alignas(64) float values[kRegisters * kWidth];
#pragma GCC unroll 4
      for (int p = 0; p < kRegisters; ++p)
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
          Bytes::store_floats(values + p * kWidth + j * kInts, Bytes::scaled(acc[p][j], Bytes::load_floats(t.multiplier + j * kInts)));
      curve<Lanes>(values, kRegisters * kWidth, loop.e);
      const auto low = Bytes::set_float(loop.e.low), high = Bytes::set_float(loop.e.high);
      const auto inverse = Bytes::set_float(loop.e.inverse), inverse_low = Bytes::set_float(loop.e.inverse_low);
#pragma GCC unroll 4
      for (int p = 0; p < kRegisters; ++p)
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
          acc[p][j] = Bytes::quotient(Bytes::load_floats(values + p * kWidth + j * kInts), inverse, inverse_low, low, high);
    } else {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const auto multiplier = Bytes::load_floats(t.multiplier + j * kInts);
#pragma GCC unroll 4
        for (int p = 0; p < kRegisters; ++p) acc[p][j] = Bytes::scale(acc[p][j], multiplier);
      }
    }
#pragma GCC unroll 4
    for (int p = 0; p < kRegisters; ++p) {
      const auto bytes = loop.e.stored == Stored::kS8
                             ? Bytes::template pack<true>(acc[p][0], acc[p][1], acc[p][2], acc[p][3], loop.zero_low, loop.zero_high, loop.low, loop.high)
                             : Bytes::template pack<false>(acc[p][0], acc[p][1], acc[p][2], acc[p][3], loop.zero_low, loop.zero_high, loop.low, loop.high);
      uint8_t* out = static_cast<uint8_t*>(loop.e.out) + (pixel + p * kPixels) * loop.e.out_stride + t.channel;
      const int64_t left = pixels - p * kPixels;
      if (kPixels == 1 || (t.channels == kLaneBytes && loop.e.out_stride == kLaneBytes)) {
        const int64_t n = kPixels == 1 ? t.channels : left * kLaneBytes;
        if (n >= kWidth) Bytes::store(out, bytes);
        else Bytes::store_some(out, bytes, n);
      } else {
        alignas(64) uint8_t lanes[kWidth];
        Bytes::store(lanes, bytes);
        for (int l = 0; l < kPixels && l < left; ++l) {
          if (t.channels == kLaneBytes) std::memcpy(out + l * loop.e.out_stride, lanes + l * kLaneBytes, kLaneBytes);
          else std::memcpy(out + l * loop.e.out_stride, lanes + l * kLaneBytes, static_cast<size_t>(t.channels));
        }
      }
    }
  }
}

template <class Lanes, class Bytes, class Dot, Finish kFinish, int kLaneBytes, int kTaps, int kGroups, int kStep>
void depthwise_run(const DepthwiseRun& shared) {
  constexpr int kPixels = Bytes::kWidth / kLaneBytes;
  const DepthwiseRun t = shared;  // copies, which stores of bytes cannot change
  const RowEpilogue e = *t.epilogue;
  DepthwiseLoop<Bytes> loop{t, e, t.weights, t.pixel, t.pixel_step * t.plane * kLaneBytes, {}, {}, {}, {}};
  if constexpr (kFinish != Finish::kAny) {
    const auto* zeros = reinterpret_cast<const uint8_t*>(t.zeros);
    loop.zero_low = Bytes::load(zeros);
    loop.zero_high = Bytes::load(zeros + Bytes::kWidth);
    loop.low = Bytes::load(t.low);
    loop.high = Bytes::load(t.high);
  }
  for (int64_t row = 0; row < t.out_rows; ++row) {
    int64_t p = 0;
    if constexpr (Bytes::kTileRegisters == 4)
      for (; p + 4 * kPixels <= t.pixels; p += 4 * kPixels) depthwise_pixels<Lanes, Bytes, Dot, kFinish, kLaneBytes, 4, kTaps, kGroups, kStep>(loop, p, 4 * kPixels);
    for (; p + 2 * kPixels <= t.pixels; p += 2 * kPixels) depthwise_pixels<Lanes, Bytes, Dot, kFinish, kLaneBytes, 2, kTaps, kGroups, kStep>(loop, p, 2 * kPixels);
    for (; p < t.pixels; p += kPixels)
      depthwise_pixels<Lanes, Bytes, Dot, kFinish, kLaneBytes, 1, kTaps, kGroups, kStep>(loop, p, t.pixels - p < kPixels ? t.pixels - p : kPixels);
    loop.weights += t.taps * t.row_groups * 4 * Dot::kWeightBytes;
    loop.pixel += t.out_row_pixels;
  }
}

template <class Lanes, class Bytes, class Dot, Finish kFinish, int kLaneBytes>
void depthwise_run(const DepthwiseRun& t) {
  const bool small = t.tap_step == 1 && t.pixel_step <= 2;
  if (small && t.taps == 3 && t.row_groups == 1) {
    t.pixel_step == 1 ? depthwise_run<Lanes, Bytes, Dot, kFinish, kLaneBytes, 3, 1, 1>(t) : depthwise_run<Lanes, Bytes, Dot, kFinish, kLaneBytes, 3, 1, 2>(t);
  } else if (small && t.taps == 5 && t.row_groups == 2) {
    t.pixel_step == 1 ? depthwise_run<Lanes, Bytes, Dot, kFinish, kLaneBytes, 5, 2, 1>(t) : depthwise_run<Lanes, Bytes, Dot, kFinish, kLaneBytes, 5, 2, 2>(t);
  } else {
    depthwise_run<Lanes, Bytes, Dot, kFinish, kLaneBytes, 0, 0, 0>(t);
  }
}

template <class Lanes, class Bytes, class Dot, bool kSigned, int kLaneBytes>
void depthwise(const DepthwiseRun& t) {
  interleave_columns<Bytes, kSigned, kLaneBytes>(t);
  const RowEpilogue& e = *t.epilogue;
  if (!e.integers && !t.curved_bytes) depthwise_run<Lanes, Bytes, Dot, Finish::kAny, kLaneBytes>(t);
  else depthwise_run<Lanes, Bytes, Dot, Finish::kBytes, kLaneBytes>(t);
}

template <class Lanes, class Bytes, class Fast, class Exact, int kLaneBytes>
constexpr DepthwiseKernel depthwise_kernel(bool words_if_exact) {
  return {Bytes::kWidth, kLaneBytes, words_if_exact,
          {depthwise<Lanes, Bytes, Fast, false, kLaneBytes>, depthwise<Lanes, Bytes, Fast, true, kLaneBytes>},
          {depthwise<Lanes, Bytes, Exact, false, kLaneBytes>, depthwise<Lanes, Bytes, Exact, true, kLaneBytes>}};
}

}  // namespace
}  // namespace ingot::cpu
