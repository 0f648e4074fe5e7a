// The bounds set on oneDNN, and one call of a primitive.
#include "runtime/cpu/layer_onednn.h"

#include <oneapi/dnnl/dnnl_config.h>

#include <array>

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
#elif DNNL_CPU_THREADING_RUNTIME != DNNL_RUNTIME_SEQ
#error "Ingot bounds oneDNN's threads where they are OpenMP's or none: need a oneDNN built that way, or INGOT_WITH_ONEDNN=OFF"
#endif

namespace ingot::cpu {
namespace {

// Bits of dnnl_cpu_isa_t, the same in versions 2 and 3.
constexpr int kIsaAvx2 = 0x4, kIsaAvx512 = 0x20;

// Follows INGOT_CPU. Has no effect where the program used oneDNN before; refuse_onednn() looks at what came of it.
int effective_isa() {
  static const int isa = [] {
    const CpuFeatures cpu = detect_cpu_features();
    if (cpu.level == CpuLevel::kScalar) (void)dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41);
    else if (!cpu.avx512) (void)dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
    return static_cast<int>(dnnl::get_effective_cpu_isa());
  }();
  return isa;
}

}  // namespace

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

const char* refuse_onednn(const DeviceInfo& device, const Activation& activation) {
  const int isa = effective_isa();
  if (device.cpu.level == CpuLevel::kScalar) return "oneDNN needs SSE4.1, more than a plain x86-64 has";
  if ((isa & kIsaAvx512) != 0 && !device.cpu.avx512) return "oneDNN uses all of this machine's instruction sets; narrow them by INGOT_CPU";
  if ((isa & kIsaAvx2) != 0 && device.cpu.level < CpuLevel::kAvx2) return "oneDNN uses all of this machine's instruction sets; narrow them by INGOT_CPU";
  if (!is_clamp(activation.function)) return "its activation is none of ReLU and Clip";
  return nullptr;
}

dnnl::memory::desc strided(const dnnl::memory::dims& dims, const dnnl::memory::dims& strides) {
  return {dims, dnnl::memory::data_type::f32, strides};
}

dnnl::memory::desc row_major(const dnnl::memory::dims& dims) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strided(dims, strides);
}

dnnl::memory::desc any_format(const dnnl::memory::dims& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

dnnl::primitive_attr epilogue_attributes(const Activation& activation, const dnnl::memory::desc* residual) {
  dnnl::post_ops ops;
  if (residual) ops.append_binary(dnnl::algorithm::binary_add, *residual);
  const auto add = [&](dnnl::algorithm function, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
    ops.append_eltwise(function, alpha, beta);
#else
    ops.append_eltwise(1.0f, function, alpha, beta);
#endif
  };
  if (activation.function == UnaryFunction::kRelu) add(dnnl::algorithm::eltwise_relu, 0, 0);
  if (activation.function == UnaryFunction::kClip)
    add(dnnl::algorithm::eltwise_clip, static_cast<float>(activation.alpha), static_cast<float>(activation.beta));
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(ops);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attributes;
}

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
OneThread::OneThread() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}
OneThread::~OneThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}
#else
OneThread::OneThread() : before_(1) {}
OneThread::~OneThread() = default;
#endif

void OnednnPrimitive::pack(const dnnl::memory::desc& plain, const float* weights) {
  if (!weights) return;
  const OneThread one;
  weights_ = dnnl::memory(weights_desc_, onednn_engine());
  dnnl::memory from(plain, onednn_engine(), const_cast<float*>(weights));
  dnnl::stream stream(onednn_engine());
  dnnl::reorder(from, weights_).execute(stream, from, weights_);
  stream.wait();
}

void OnednnPrimitive::run(const Arguments& args) const {
  const OneThread one;
  const dnnl::engine& engine = onednn_engine();
  // oneDNN reads inputs only, though its handles are not const.
  const auto bound = [&](const dnnl::memory::desc& desc, const void* data) {
    return dnnl::memory(desc, engine, const_cast<void*>(data));
  };
  std::unordered_map<int, dnnl::memory> list;
  list.emplace(DNNL_ARG_SRC, bound(source_, args.source));
  list.emplace(DNNL_ARG_WEIGHTS, args.weights ? bound(weights_desc_, args.weights) : weights_);
  if (args.bias) list.emplace(DNNL_ARG_BIAS, bound(bias_, args.bias));
  if (args.residual) list.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, bound(residual_, args.residual));
  list.emplace(DNNL_ARG_DST, bound(result_, args.result));
  if (scratch_.get_size() > 0) list.emplace(DNNL_ARG_SCRATCHPAD, bound(scratch_, args.scratch));
  dnnl::stream stream(engine);
  primitive_.execute(stream, list);
  stream.wait();
}

}  // namespace ingot::cpu
