// Implicit GEMM on bytes or halves: y[row, o] = epilogue( Σ_k x[row, k] · w[o, k] ), rows are output pixels (or matrix rows), found by address.
// A block computes kM × kN results over steps of 64 bytes of k, which kStages asynchronous copies bring to shared memory;
// chunks of 16 bytes are swizzled so that ldmatrix meets no bank conflict. Padding reads a page of zero points, so a
// border pixel costs what any other does. The last sums pass through shared memory, a warp's rows at a time, so that
// results are stored in whole lines and the epilogue stands in the code once. Where there are few results and many products, several blocks
// share a tile, each a slice of k: they store their sums, which a second launch adds up, always in the same order.
#pragma once

#include "runtime/cuda/kernels/device.cuh"

namespace ingot::cuda {
namespace {

// How x is read. kDirect: rows of k_pitch bytes (1×1 without stride and padding, matrices); kTaps: 16 bytes of k belong to
// one tap; kPieces: 8 or 4 do. Other numbers of channels are packed first (pack.cuh).
enum class Loader { kDirect, kTaps, kPieces };

constexpr int kStepBytes = 64, kChunks = kStepBytes / 16;

INGOT_DEVICE int chunk_offset(int row, int chunk) { return row * kStepBytes + ((chunk ^ ((row >> 1) & 3)) << 4); }

// Where one row's window begins.
struct Origin {
  int32_t y, x;      // may lie in the padding; y is far outside for rows beyond the last
  int64_t image;     // index of the batch's first pixel
};

// Elements of x and w: Sum is what their products add up to, multiply_add() the product of 16 rows and 8 outputs over 32 bytes of k;
// finish_channels() of the including file finishes up to 4 neighbouring ones.
struct Bytes {
  using Params = IgemmParams;
  using Sum = int32_t;
  using Two = int2;
  using Four = int4;
  // s8 becomes u8 by flipping its sign, which adds 128: one kernel serves both, and the bias takes the 128 back.
  static INGOT_DEVICE void arrange(uint32_t (&a)[4], const Params& p) {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] ^= p.flip;
  }
  static INGOT_DEVICE void multiply_add(Sum (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) { multiply_add_u8(d, a, b0, b1); }
};
template <bool kBrain>
struct Halves {
  using Params = IgemmParamsF16;
  using Sum = float;
  using Two = float2;
  using Four = float4;
  static INGOT_DEVICE void arrange(uint32_t (&)[4], const Params&) {}
  static INGOT_DEVICE void multiply_add(Sum (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    multiply_add_half<kBrain>(d, a, b0, b1);
  }
};

template <class Element, int kM, int kN, int kWarpsM, int kWarpsN, int kStages, Loader kLoader>
INGOT_DEVICE void igemm(const typename Element::Params& p) {
  using Sum = typename Element::Sum;
  constexpr int kThreads = 32 * kWarpsM * kWarpsN, kRowStep = kThreads / kChunks;
  constexpr int kLoadsA = kM / kRowStep, kLoadsB = kN / kRowStep;
  constexpr int kTileM = kM / kWarpsM, kTileN = kN / kWarpsN, kI = kTileM / 16, kJ = kTileN / 8;
  constexpr int kStageBytes = (kM + kN) * kStepBytes, kPitch = kN + 8;
  static_assert(kM % kRowStep == 0 && kN % kRowStep == 0 && kJ % 2 == 0);
  static_assert(kTileM * kPitch * 4 <= kStages * kStageBytes, "sums of one warp row must fit the stages");
  extern __shared__ __align__(128) unsigned char shared[];

  const int tid = static_cast<int>(threadIdx.x), lane = tid & 31, warp = tid >> 5, warp_m = warp / kWarpsN, warp_n = warp % kWarpsN;
  const int64_t first_row = static_cast<int64_t>(blockIdx.x) * kM;
  const int slices = p.partial ? p.slices : 1, group = static_cast<int>(blockIdx.z) / slices, slice = static_cast<int>(blockIdx.z) - group * slices;
  const int first_output = static_cast<int>(blockIdx.y) * kN;
  const int8_t* weights = p.weights + static_cast<int64_t>(group) * p.outputs * p.k_pitch;
  const uint8_t* x = p.x + static_cast<int64_t>(group) * p.group_channels;
  const int all_steps = (p.k_pitch + kStepBytes - 1) / kStepBytes, first_step = slice * p.slice_steps;
  const int steps = p.partial ? min(p.slice_steps, all_steps - first_step) : all_steps;
  const int my_row = tid / kChunks, my_chunk = tid % kChunks;

  Origin origins[kLoadsA];
#pragma unroll
  for (int i = 0; i < kLoadsA; ++i) {
    const int64_t row = first_row + my_row + i * kRowStep;
    origins[i].image = row * p.channels;  // kDirect: the row's first byte
    origins[i].y = row < p.rows ? 0 : -2 * kNoTap;
    origins[i].x = 0;
    if constexpr (kLoader != Loader::kDirect) {
      const int32_t plane = p.image.out_h * p.image.out_w;
      const int64_t n = row / plane;
      const int32_t pixel = static_cast<int32_t>(row - n * plane), out_y = pixel / p.image.out_w;
      origins[i].image = n * p.image.in_h * p.image.in_w;
      if (row < p.rows) origins[i].y = out_y * p.image.stride_h - p.image.pad_h;
      origins[i].x = (pixel - out_y * p.image.out_w) * p.image.stride_w - p.image.pad_w;
    }
  }
  const auto address = [&](const Origin& origin, const Tap& tap) -> const uint8_t* {
    const int32_t y = origin.y + tap.dy, column = origin.x + tap.dx;
    const bool inside = static_cast<uint32_t>(y) < static_cast<uint32_t>(p.image.in_h) &&
                        static_cast<uint32_t>(column) < static_cast<uint32_t>(p.image.in_w);
    return inside ? x + (origin.image + static_cast<int64_t>(y) * p.image.in_w + column) * p.channels + tap.channel : nullptr;
  };

  const auto load = [&](int step, int stage) {
    unsigned char* to_x = shared + stage * kStageBytes;
    unsigned char* to_w = to_x + kM * kStepBytes;
    const int k = (first_step + step) * kStepBytes + my_chunk * 16;
    const bool has_k = k < p.k_pitch;
#pragma unroll
    for (int i = 0; i < kLoadsA; ++i) {
      unsigned char* to = to_x + chunk_offset(my_row + i * kRowStep, my_chunk);
      if constexpr (kLoader == Loader::kDirect) {
        const bool valid = has_k && origins[i].y == 0;
        copy_async<16>(to, valid ? x + origins[i].image + k : p.padding, valid);
      } else if constexpr (kLoader == Loader::kTaps) {
        const uint8_t* from = has_k ? address(origins[i], p.taps[k / 16]) : nullptr;
        copy_async<16>(to, from ? from : p.padding, true);
      } else {
        if (p.piece == 8) {
#pragma unroll
          for (int part = 0; part < 2; ++part) {
            const uint8_t* from = has_k ? address(origins[i], p.taps[k / 8 + part]) : nullptr;
            copy_async<8>(to + 8 * part, from ? from : p.padding, true);
          }
        } else {
#pragma unroll
          for (int part = 0; part < 4; ++part) {
            const uint8_t* from = has_k ? address(origins[i], p.taps[k / 4 + part]) : nullptr;
            copy_async<4>(to + 4 * part, from ? from : p.padding, true);
          }
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kLoadsB; ++i) {
      const int output = first_output + my_row + i * kRowStep;
      const bool valid = has_k && output < p.outputs;
      copy_async<16>(to_w + chunk_offset(my_row + i * kRowStep, my_chunk),
                     valid ? weights + static_cast<int64_t>(output) * p.k_pitch + k : weights, valid);
    }
  };

  Sum sums[kI][kJ][4] = {};
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (stage < steps) load(stage, stage);
    commit_copies();
  }
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<kStages - 2>();
    __syncthreads();
    if (step + kStages - 1 < steps) load(step + kStages - 1, (step + kStages - 1) % kStages);
    commit_copies();
    const unsigned char* from_x = shared + step % kStages * kStageBytes;
    const unsigned char* from_w = from_x + kM * kStepBytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) {  // 32 bytes of k for each product
      uint32_t a[kI][4], b[kJ / 2][4];
#pragma unroll
      for (int i = 0; i < kI; ++i) {  // matrices: rows 0–7 and 8–15 of bytes 0–15, then of bytes 16–31
        load_matrices(a[i], from_x + chunk_offset(warp_m * kTileM + i * 16 + (lane & 15), half * 2 + (lane >> 4)));
        Element::arrange(a[i], p);
      }
#pragma unroll
      for (int j = 0; j < kJ / 2; ++j)  // matrices: outputs 0–7, both halves of k, then outputs 8–15
        load_matrices(b[j], from_w + chunk_offset(warp_n * kTileN + j * 16 + ((lane >> 4) << 3) + (lane & 7), half * 2 + ((lane >> 3) & 1)));
#pragma unroll
      for (int i = 0; i < kI; ++i)
#pragma unroll
        for (int j = 0; j < kJ; ++j) Element::multiply_add(sums[i][j], a[i], b[j >> 1][(j & 1) * 2], b[j >> 1][(j & 1) * 2 + 1]);
    }
  }
  wait_for_copies<0>();

  Sum* exchange = reinterpret_cast<Sum*>(shared);
#pragma unroll 1
  for (int owner = 0; owner < kWarpsM; ++owner) {
    __syncthreads();  // the stages, or the rows before, have been read
    if (warp_m == owner) {
#pragma unroll
      for (int i = 0; i < kI; ++i)
#pragma unroll
        for (int j = 0; j < kJ; ++j)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const int row = i * 16 + h * 8 + (lane >> 2), column = warp_n * kTileN + j * 8 + (lane & 3) * 2;
            Sum* to = exchange + row * kPitch + column;
            *reinterpret_cast<typename Element::Two*>(to) = {sums[i][j][2 * h], sums[i][j][2 * h + 1]};
          }
    }
    __syncthreads();
#pragma unroll 1
    for (int i = tid; i < kTileM * kN / 4; i += kThreads) {
      const int row = i / (kN / 4), column = i % (kN / 4) * 4, output = first_output + column;
      const int64_t out_row = first_row + owner * kTileM + row;
      if (out_row >= p.rows || output >= p.outputs) continue;
      const auto four = *reinterpret_cast<const typename Element::Four*>(exchange + row * kPitch + column);
      const Sum values[4] = {four.x, four.y, four.z, four.w};
      const int channel = group * p.outputs + output, count = min(4, p.outputs - output);
      if (p.partial) {
        Sum* to = static_cast<Sum*>(p.partial) + (slice * p.rows + out_row) * p.partial_pitch + channel;
        if (count == 4 && (channel & 3) == 0) {
          *reinterpret_cast<typename Element::Four*>(to) = four;
        } else {
#pragma unroll
          for (int c = 0; c < 4; ++c)
            if (c < count) to[c] = values[c];
        }
        continue;
      }
      finish_channels(p.epilogue, values, out_row, channel, count);
    }
  }
}

// Adds up the slices, first to last, and finishes: a thread for 4 channels of a row.
template <class Element>
INGOT_DEVICE void add_slices(const typename Element::Params& p) {
  using Sum = typename Element::Sum;
  const int32_t quads = p.partial_pitch / 4;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, row = at / quads;
  if (row >= p.rows) return;
  const int32_t channel = static_cast<int32_t>(at - row * quads) * 4, count = min(4, p.epilogue.channels - channel);
  const Sum* from = static_cast<const Sum*>(p.partial) + row * p.partial_pitch + channel;
  Sum sums[4] = {};
  for (int slice = 0; slice < p.slices; ++slice, from += p.rows * p.partial_pitch) {
    if (count == 4) {
      const auto four = *reinterpret_cast<const typename Element::Four*>(from);
      sums[0] += four.x, sums[1] += four.y, sums[2] += four.z, sums[3] += four.w;
    } else {
#pragma unroll
      for (int c = 0; c < 3; ++c)
        if (c < count) sums[c] += from[c];
    }
  }
  finish_channels(p.epilogue, sums, row, channel, count);
}

}  // namespace
}  // namespace ingot::cuda
