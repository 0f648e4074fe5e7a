// The stand-in's own functions, found in the driver that the process has.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "cuda/gpu_tactic.h"
#include "fake_cuda/fake_cuda.h"

namespace ingot::cuda {

template <class F>
F* stand_in_function(const char* name) {
  return reinterpret_cast<F*>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), name));
}

inline FakeCudaStats stand_in_stats() {
  static const auto read = stand_in_function<void(FakeCudaStats*)>("fake_cuda_stats");
  FakeCudaStats now{};
  if (read) read(&now);
  else ADD_FAILURE() << "the driver is not the stand-in";
  return now;
}

// Of the order in which streams take turns.
inline void seed_stand_in(uint64_t seed) {
  static const auto set = stand_in_function<void(uint64_t)>("fake_cuda_seed");
  if (set) set(seed);
}

}  // namespace ingot::cuda
