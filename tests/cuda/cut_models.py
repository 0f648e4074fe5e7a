"""Cuts models of scripts/models to what the PTX interpreter can run in seconds: small inputs, fewer layers, trained weights all the same.

    cut_models.py FOLDER    writes FOLDER/<model>/model.onnx and calib/*.npz; models that are not there are left out, with a line
"""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.shape_inference
import onnx.utils

# Shapes of the inputs, and the outputs if not the model's own: tensors where the network is cut.
CUTS = {
    "ppocr_v4_rec": ({"x": (1, 3, 48, 64)}, None),
    "ppocr_v4_rec_begin": ({"x": (1, 3, 48, 64)}, ["p2o.Add.167"]),  # up to the first layer that sums in float
    "efficientnet_lite0": ({"input": (1, 3, 64, 64)}, None),
    "minilm_l6": ({name: (1, 16) for name in ("input_ids", "attention_mask", "token_type_ids")}, None),
}
SAMPLES = 8


def cropped(array, shape):
    """The middle of pictures, the beginning of everything else."""
    index = []
    for axis, (have, want) in enumerate(zip(array.shape, shape)):
        begin = (have - want) // 2 if len(shape) == 4 and axis >= 2 else 0
        index.append(slice(begin, begin + want))
    return np.ascontiguousarray(array[tuple(index)])


def cut(source, folder, shapes, outputs):
    model = onnx.load(source / "model.onnx")
    for value in model.graph.input:
        if value.name in shapes:
            dims = value.type.tensor_type.shape.dim
            for dim, size in zip(dims, shapes[value.name]):
                dim.Clear()
                dim.dim_value = size
    # Shapes of the whole model's other tensors are of other inputs.
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    if outputs:
        model = onnx.utils.Extractor(onnx.shape_inference.infer_shapes(model)).extract_model(list(shapes), outputs)
        del model.graph.value_info[:]
    (folder / "calib").mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for path in sorted((source / "calib").glob("*.npz"))[:SAMPLES]:
        with np.load(path) as sample:
            np.savez(folder / "calib" / path.name, **{name: cropped(sample[name], shape) for name, shape in shapes.items()})


def main():
    target = Path(sys.argv[1])
    models = Path(os.environ.get("INGOT_CACHE") or Path.home() / ".cache/ingot") / "models"
    for name, (shapes, outputs) in CUTS.items():
        shutil.rmtree(target / name, ignore_errors=True)
        source = models / name.removesuffix("_begin")
        if not (source / "recipe.json").exists():
            print(f"cut_models: {source.name} is not there: scripts/models {source.name} brings it")
            continue
        cut(source, target / name, shapes, outputs)
        print(f"cut_models: {name}: inputs {shapes}")


if __name__ == "__main__":
    main()
