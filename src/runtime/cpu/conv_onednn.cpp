// Float convolution by oneDNN: one primitive for one image, so every image of a batch goes through the same code; the pool
// shares out images. The blob holds the plain weights: oneDNN's packed form depends on the CPU, so it is made at load.
#include <array>

#include "runtime/cpu/conv_geometry.h"
#include "runtime/cpu/f32_layer.h"
#include "runtime/cpu/layer_onednn.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

using Desc = dnnl::convolution_forward::primitive_desc;

const ConvParams& params_of(const Problem& problem) { return std::get<ConvParams>(problem.params); }

// One image of shape [1, C, …], channels last.
dnnl::memory::desc image(const Shape& shape) {
  dnnl::memory::dims dims = {1};
  for (int i = 1; i < shape.rank; ++i) dims.push_back(shape[i]);
  dnnl::memory::dims strides(dims.size(), 1);
  int64_t step = dims[1];
  for (size_t i = dims.size(); i-- > 2;) strides[i] = step, step *= dims[i];
  strides[0] = step;
  return strided(dims, strides);
}

dnnl::memory::dims weight_dims(const Shape& w, int64_t groups) {
  dnnl::memory::dims dims;
  if (groups > 1) dims = {groups, w[0] / groups};
  else dims = {w[0]};
  for (int i = 1; i < w.rank; ++i) dims.push_back(w[i]);
  return dims;
}

Desc describe(const Problem& problem) {
  const ConvParams& params = params_of(problem);
  const TensorType &x = problem.inputs[0].type, &w = problem.inputs[1].type, &y = problem.outputs[0].type;
  const int spatial = x.shape.rank - 2;
  dnnl::memory::dims strides, dilations, before, behind;
  for (int i = 0; i < spatial; ++i) {
    const int64_t kernel = w.shape[i + 2], stride = attribute(params.strides, i, 1), dilation = attribute(params.dilations, i, 1);
    const int64_t in = x.shape[i + 2], out = y.shape[i + 2], begin = conv_pads(params, i, spatial, in, kernel).begin;
    strides.push_back(stride);
    dilations.push_back(dilation - 1);
    before.push_back(begin);
    behind.push_back(std::max<int64_t>(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - in - begin));
  }
  const dnnl::memory::desc source = image(x.shape), result = image(y.shape);
  const dnnl::memory::desc weights = any_format(weight_dims(w.shape, params.groups));
  const dnnl::memory::desc bias = operand_at(problem.inputs, 2) ? row_major({w.shape[0]}) : dnnl::memory::desc();
  const dnnl::primitive_attr attributes = epilogue_attributes(params.activation, operand_at(problem.inputs, 3) ? &result : nullptr);
  constexpr auto kind = dnnl::prop_kind::forward_inference;
  constexpr auto algorithm = dnnl::algorithm::convolution_direct;
  return described<Desc>([&] {
#if DNNL_VERSION_MAJOR >= 3
    return Desc(onednn_engine(), kind, algorithm, source, weights, bias, result, strides, dilations, before, behind, attributes, true);
#else
    return Desc({kind, algorithm, source, weights, bias, result, strides, dilations, before, behind}, attributes, onednn_engine(), true);
#endif
  });
}

class ConvKernel final : public Kernel {
 public:
  ConvKernel(OnednnPrimitive primitive, size_t scratch) : primitive_(std::move(primitive)), scratch_(scratch) {}

  Status run(const KernelArgs& args) noexcept override {
    const auto floats = [&](size_t i) { return i < args.inputs.size() ? static_cast<const float*>(args.inputs[i]) : nullptr; };
    const int64_t images = args.input_shapes[0][0];
    if (images == 0) return {};
    const int64_t x_step = args.input_shapes[0].elements() / images, y_step = args.output_shapes[0].elements() / images;
    FirstError error;
    args.pool->parallel_for(images, 1, [&](int64_t begin, int64_t end, int thread) {
      OnednnPrimitive::Arguments call;
      call.bias = floats(2);
      call.scratch = static_cast<std::byte*>(args.workspace) + static_cast<size_t>(thread) * scratch_;
      error.note(guarded_onednn("conv", [&] {
        for (int64_t i = begin; i < end; ++i) {
          call.source = floats(0) + i * x_step;
          call.residual = floats(3) ? floats(3) + i * y_step : nullptr;
          call.result = static_cast<float*>(args.outputs[0]) + i * y_step;
          primitive_.run(call);
        }
      }));
    });
    return error.take();
  }

 private:
  OnednnPrimitive primitive_;
  size_t scratch_;
};

class ConvTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.conv.onednn.f32.channels_last", 1, OpKind::kConv, kOnednn};
    return kInfo;
  }

  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_f32_conv(problem, Layout::kChannelsLast)) return {refusal};
    if (const char* refusal = refuse_onednn(problem.device, params_of(problem).activation)) return {refusal};
    const Shape &x = problem.inputs[0].type.shape, &y = problem.outputs[0].type.shape;
    for (int i = 1; i < x.rank; ++i)
      if (x[i] < 0 || y[i] < 0) return {"dims other than the batch vary"};
    for (int i = 1; i < x.rank; ++i)
      if (x[i] == 0 || y[i] == 0) return {"it is empty"};
    const Desc desc = describe(problem);
    // An engine that comes from a faster machine is loaded all the same: constants have no bytes then.
    if (!desc || (!problem.inputs[1].constant.empty() && !is_fast(desc))) return {"oneDNN has no kernel for it here"};
    return {};
  }

  size_t workspace_bytes(const Problem& problem) const override {
    return scratch_bytes(describe(problem)) * static_cast<size_t>(problem.device.threads);
  }
  uint32_t packed_inputs(const Problem&) const override { return 0b10; }
  Expected<Blob> prepare(const Problem& problem) const override {
    const auto w = problem.inputs[1].constant;
    return Blob(w.begin(), w.end());
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    const Shape& w = problem.inputs[1].type.shape;
    INGOT_ASSIGN(const float* weights, floats_in_blob("conv", blob, w.elements()));
    std::unique_ptr<Kernel> kernel;
    INGOT_TRY(guarded_onednn("conv", [&] {
      const Desc desc = describe(problem);
      const dnnl::memory::desc result = desc.dst_desc();
      const OneThread one;
      kernel = std::make_unique<ConvKernel>(
          OnednnPrimitive::make(desc, row_major(weight_dims(w, params_of(problem).groups)), weights, operand_at(problem.inputs, 3) ? &result : nullptr),
          scratch_bytes(desc));
    }));
    return kernel;
  }
};

}  // namespace

std::span<const Tactic* const> conv_onednn() {
  static const ConvTactic conv;
  static const std::array<const Tactic*, 1> list = {&conv};
  return list;
}

}  // namespace ingot::cpu
