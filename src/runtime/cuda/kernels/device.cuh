// Device primitives under one name each: asynchronous copies, matrix fragments, Tensor Core products. Compiled with -fmad=false: no product joins a sum unasked.
#pragma once

#include <cstdint>

#include "runtime/cuda/kernel_params.h"
#include "runtime/cuda/kernels/lane.cuh"

namespace ingot::cuda {

INGOT_DEVICE uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// 4, 8 or 16 bytes from global to shared memory; where `valid` is false zeros are written and nothing is read.
template <int kBytes>
INGOT_DEVICE void copy_async(void* to, const void* from, bool valid) {
  const int bytes = valid ? kBytes : 0;
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(to)), "l"(from), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::"r"(shared_address(to)), "l"(from), "n"(kBytes), "r"(bytes)
                 : "memory");
}
INGOT_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int kInFlight>
INGOT_DEVICE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kInFlight) : "memory");
}

// Four 8×8 matrices of 16-bit elements (8×16 bytes); lane l gives the address of row l % 8 of matrix l / 8.
INGOT_DEVICE void load_matrices(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// d[16×8] += a[16×32] · b[32×8], int32 sums of products of u8 and s8.
INGOT_DEVICE void multiply_add_u8(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// d[16×8] += a[16×16] · b[16×8], float sums of products of halves: f16, or bf16 if kBrain.
template <bool kBrain>
INGOT_DEVICE void multiply_add_half(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (kBrain)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A fused activation. Not inlined: its code, larger than many a kernel, is in a module once.
__device__ __noinline__ float activate(int32_t function, float t, float alpha, float beta) {
  const float y = exact::activation<DeviceLane>(static_cast<UnaryFunction>(function), t, alpha, beta);
  return t == t ? y : t;
}

INGOT_DEVICE int32_t widen(uint32_t byte, bool is_signed) {
  return is_signed ? static_cast<int8_t>(byte) : static_cast<int32_t>(byte & 255u);
}

// rne(clamp(t)) + zero; NaN counts as 0 (docs/numerics.md).
INGOT_DEVICE int32_t round_to_byte(float t, float low, float high, int32_t zero) {
  t = t == t ? t : 0.0f;
  return __float2int_rn(DeviceLane::min(DeviceLane::max(t, low), high)) + zero;
}

}  // namespace ingot::cuda
