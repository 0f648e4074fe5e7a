"""What each peer needs before it can be timed: its own INT8 model from the same calibration inputs, by its documented best
settings, and its outputs on the evaluation inputs. Everything made is kept in the work folder.
"""

import json

import numpy as np

from zoo import score, store
from zoo.paths import MODELS

TRANSFORMERS = {"minilm_l6": ("bert", 12, 384), "bert_base": ("bert", 12, 768), "vit_b16": ("vit", 12, 768)}


def has_vnni():
    with open("/proc/cpuinfo") as info:
        flags = next((line for line in info if line.startswith("flags")), "").split()
    return "avx512_vnni" in flags or "avx_vnni" in flags


def calibration(name):
    return store.read_arrays(MODELS / name / "calib")


def onnxruntime_f32(name, work):
    """Transformers go through onnxruntime's own offline fusions, if those find anything."""
    source = MODELS / name / "model.onnx"
    if name not in TRANSFORMERS:
        return source
    target = work / "ort_f32.onnx"
    if not target.exists():
        import onnxruntime
        from onnxruntime.transformers import optimizer
        kind, heads, hidden = TRANSFORMERS[name]
        folded = work / "ort_folded.onnx"
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(folded)
        onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
        fused = optimizer.optimize_model(str(folded), kind, num_heads=heads, hidden_size=hidden, opt_level=0)
        folded.unlink()
        print(f"  onnxruntime fusions: {fused.get_fused_operator_statistics()}", flush=True)
        fused.save_model_to_file(str(target))
    return target


def onnxruntime_static(name, work):
    """quantize_static: QDQ, u8 activations, s8 weights per channel; seven-bit weights only where there is no VNNI."""
    target = work / "ort_int8.onnx"
    if not target.exists():
        import onnx
        import onnx.version_converter
        from onnxruntime import quantization as q
        from onnxruntime.quantization.shape_inference import quant_pre_process

        class Reader(q.CalibrationDataReader):
            def __init__(self):
                self.rest = iter(calibration(name))

            def get_next(self):
                return next(self.rest, None)

        prepared = work / "ort_prepared.onnx"
        source = onnxruntime_f32(name, work)
        model = onnx.load(source)
        if next(o.version for o in model.opset_import if not o.domain) < 13:  # per-channel DequantizeLinear came with 13
            source = work / "ort_opset13.onnx"
            onnx.save(onnx.version_converter.convert_version(model, 13), source)
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        extra = {"MatMulConstBOnly": True} if name in TRANSFORMERS else {}
        made = work / "ort_int8.part.onnx"
        q.quantize_static(str(prepared), str(made), Reader(), quant_format=q.QuantFormat.QDQ, activation_type=q.QuantType.QUInt8,
                          weight_type=q.QuantType.QInt8, per_channel=True, reduce_range=not has_vnni(), extra_options=extra)
        prepared.unlink()
        store.session(made)  # loads, or is not kept
        made.rename(target)
    return target


def onnxruntime_dynamic(name, work):
    """quantize_dynamic, which onnxruntime recommends for transformers."""
    if name not in TRANSFORMERS:
        return None
    target = work / "ort_dynamic.onnx"
    if not target.exists():
        from onnxruntime import quantization as q
        q.quantize_dynamic(str(onnxruntime_f32(name, work)), str(target), per_channel=True, reduce_range=not has_vnni(),
                           weight_type=q.QuantType.QInt8, extra_options={"MatMulConstBOnly": True})
    return target


def openvino_int8(name, work):
    target = work / "ov_int8.xml"
    if not target.exists():
        import nncf
        import openvino
        samples = calibration(name)
        options = {"model_type": nncf.ModelType.TRANSFORMER} if name in TRANSFORMERS else {}
        model = openvino.Core().read_model(MODELS / name / "model.onnx")
        quantized = nncf.quantize(model, nncf.Dataset(samples), subset_size=len(samples), target_device=nncf.TargetDevice.CPU, **options)
        openvino.save_model(quantized, target, compress_to_fp16=False)
    return target


def onnxruntime_outputs(model, samples):
    run = store.runner(model)
    names = [v.name for v in store.session(model).get_inputs()]
    return [run({n: sample[n] for n in names}) for sample in samples]


def openvino_outputs(model, samples):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(model), "CPU", {"INFERENCE_NUM_THREADS": 2})
    return [{value.get_any_name(): np.array(out) for value, out in compiled(sample).items()} for sample in samples]


def summary(judged):
    return {"accuracy": judged["accuracy"], "metric": judged["metric"],
            "cosine": min(c["mean"] for c in judged["cosine"].values()),
            "cosine_worst": min(c["worst"] for c in judged["cosine"].values())}


def judged(name, model, outputs_of, kept):
    """Accuracy and cosine of a peer's model, kept beside it."""
    if not kept.exists() or kept.stat().st_mtime < model.stat().st_mtime:
        outputs = outputs_of(model, store.read_arrays(MODELS / name / "eval"))
        kept.write_text(json.dumps(summary(score.judge(name, outputs))))
    return json.loads(kept.read_text())


# peer → (label, engine, precision of the claim, model maker, outputs)
PEERS = {
    "ort-f32": ("onnxruntime FP32", "onnxruntime", "f32", onnxruntime_f32, onnxruntime_outputs),
    "ort-int8": ("onnxruntime INT8", "onnxruntime", "int8", onnxruntime_static, onnxruntime_outputs),
    "ort-dynamic": ("onnxruntime dynamic INT8", "onnxruntime", "int8", onnxruntime_dynamic, onnxruntime_outputs),
    "ov-f32": ("OpenVINO FP32", "openvino", "f32", lambda name, work: MODELS / name / "model.onnx", openvino_outputs),
    "ov-int8": ("OpenVINO + NNCF INT8", "openvino", "int8", openvino_int8, openvino_outputs),
}
