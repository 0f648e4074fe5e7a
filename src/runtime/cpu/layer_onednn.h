// What the oneDNN tactics share: its engine, versions 2.6 and 3 under one interface, and the bounds we set it.
// Threads: a primitive is made for one thread and runs on one; our pool shares out images or blocks of rows. So the bytes of
// a result depend neither on the number of threads nor on the place of a sample in its batch, whatever oneDNN does inside.
// Instruction sets: oneDNN follows the process (INGOT_CPU included), not a device that an option narrows: there it refuses.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <atomic>
#include <span>

#include "ingot/status.h"
#include "runtime/ops/pointwise.h"
#include "runtime/tactic.h"

namespace ingot::cpu {

inline constexpr std::string_view kOnednn = "onednn";  // TacticInfo::library

const dnnl::engine& onednn_engine();
// Null, or why oneDNN cannot serve a device or an activation.
const char* refuse_onednn(const DeviceInfo& device, const Activation& activation);

// f32, strides in elements.
dnnl::memory::desc strided(const dnnl::memory::dims& dims, const dnnl::memory::dims& strides);
dnnl::memory::desc row_major(const dnnl::memory::dims& dims);
dnnl::memory::desc any_format(const dnnl::memory::dims& dims);
// Residual (null if there is none), then the activation; scratch memory by the caller, strict f32.
dnnl::primitive_attr epilogue_attributes(const Activation& activation, const dnnl::memory::desc* residual);

// oneDNN sees one thread on the calling thread while this lives.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// A primitive with its weights in the format that it asked for. Shared by all threads.
class OnednnPrimitive {
 public:
  struct Arguments {
    const float* source = nullptr;
    const float* weights = nullptr;  // null: those given to make()
    const float* bias = nullptr;
    const float* residual = nullptr;
    float* result = nullptr;
    void* scratch = nullptr;         // scratch_bytes() of it, aligned to 64
  };

  // `weights` in the layout `plain`; null where they come with each run. Throws dnnl::error.
  template <class PrimitiveDesc>
  static OnednnPrimitive make(const PrimitiveDesc& desc, const dnnl::memory::desc& plain, const float* weights,
                              const dnnl::memory::desc* residual) {
    OnednnPrimitive p;
    p.primitive_ = dnnl::primitive(desc);
    p.source_ = desc.src_desc();
    p.weights_desc_ = desc.weights_desc();
    p.bias_ = desc.bias_desc();
    p.result_ = desc.dst_desc();
    p.scratch_ = desc.scratchpad_desc();
    if (residual) p.residual_ = *residual;
    p.pack(plain, weights);
    return p;
  }
  // Throws dnnl::error.
  void run(const Arguments& args) const;

 private:
  void pack(const dnnl::memory::desc& plain, const float* weights);
  dnnl::primitive primitive_;
  dnnl::memory::desc source_, weights_desc_, bias_, result_, residual_, scratch_;
  dnnl::memory weights_;
};

// What went wrong first in any of the threads of a loop.
class FirstError {
 public:
  void note(Status status) {
    if (!status.ok() && !taken_.test_and_set()) status_ = std::move(status);
  }
  Status take() { return std::move(status_); }  // after the loop

 private:
  std::atomic_flag taken_;
  Status status_;
};

// Bytes of scratch that one thread needs.
template <class PrimitiveDesc>
size_t scratch_bytes(const PrimitiveDesc& desc) {
  return (desc.scratchpad_desc().get_size() + 63) / 64 * 64;
}

// oneDNN's C++ interface throws; nothing leaves these two.
template <class F>
Status guarded_onednn(const char* what, F&& body) noexcept {
  try {
    body();
    return {};
  } catch (const dnnl::error& error) {
    return Status(StatusCode::kInternal, std::string(what) + ": oneDNN: " + error.what());
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, what);
  }
}
// oneDNN answers what it has no kernel for by its own reference code, thousands of times slower than ours.
template <class PrimitiveDesc>
bool is_fast(const PrimitiveDesc& desc) {
  return std::string_view(desc.impl_info_str()).find("ref") == std::string_view::npos;
}
// A description that oneDNN refuses is empty.
template <class PrimitiveDesc, class F>
PrimitiveDesc described(F&& body) {
  try {
    const OneThread one;
    return body();
  } catch (const dnnl::error&) {
    return {};
  }
}

}  // namespace ingot::cpu
