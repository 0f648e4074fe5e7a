#!/usr/bin/env python3
"""Judges outputs of a model: task accuracy against the labels, and cosine to onnxruntime's FP32 outputs.

  scripts/zoo/score.py MODEL OUTPUT_DIR [--json]

OUTPUT_DIR holds one NNNN.npz per file of the model's eval folder, with arrays by graph output name.
"""

import argparse
import json
import os
import sys
from pathlib import Path

if __name__ == "__main__":  # started as a file: find the package, and its Python environment
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from zoo.paths import VENV
    if Path(sys.prefix) != VENV and (VENV / "bin/python").exists():
        os.execv(VENV / "bin/python", [str(VENV / "bin/python"), "-B", *sys.argv])

import numpy as np

from zoo import catalog, store
from zoo.model import ZooError
from zoo.paths import MODELS


def cosine(a, b):
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    if a.shape != b.shape:
        raise ZooError(f"output and reference differ in size: got {a.size}, need {b.size}")
    length = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / length) if length else float(np.array_equal(a, b))


def judge(name, outputs):
    """Task accuracy (None without a task) and mean and worst cosine per output name."""
    if name not in catalog.MODELS:
        raise ZooError(f"model '{name}' is unknown; known are: {' '.join(catalog.MODELS)}")
    model, labels = catalog.MODELS[name], store.read_labels(name)
    if len(outputs) != len(labels):
        raise ZooError(f"model '{name}': number of outputs: got {len(outputs)}, need {len(labels)}")
    reference = store.read_arrays(MODELS / name / "reference", len(labels))
    cosines = {}
    for key in reference[0]:
        missing = [i for i, out in enumerate(outputs) if key not in out]
        if missing:
            raise ZooError(f"model '{name}': output '{key}' is missing in file {missing[0]:04}.npz")
        each = [cosine(out[key], known[key]) for out, known in zip(outputs, reference)]
        cosines[key] = {"mean": float(np.mean(each)), "worst": min(each)}
    return {"model": name, "metric": model.metric, "accuracy": model.score(outputs, labels) if model.score else None,
            "cosine": cosines}


def main():
    parser = argparse.ArgumentParser(prog="score.py", description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("output_dir", type=Path)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    result = judge(options.model, store.read_arrays(options.output_dir))
    if options.json:
        print(json.dumps(result))
        return
    accuracy = "none" if result["accuracy"] is None else f"{result['accuracy']:.4f}"
    print(f"{result['model']}: accuracy {accuracy} ({result['metric']})")
    for key, values in result["cosine"].items():
        print(f"{result['model']}: cosine of '{key}': mean {values['mean']:.6f}, worst {values['worst']:.6f}")


if __name__ == "__main__":
    try:
        main()
    except ZooError as error:
        sys.exit(f"score: {error}")
