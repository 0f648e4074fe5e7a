"""Builds every model of scripts/models in FP32 and INT8, runs the evaluation inputs, scores them, times both engines in one
interleaved run, and writes docs/results.md.

Exit status: 0 all bounds hold; 1 one does not, or a step failed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import same_bytes
from zoo import score, store
from zoo.paths import MODELS

ROOT = Path(__file__).resolve().parent.parent

# FP32 outputs against onnxruntime: largest error over the largest magnitude.
FP32_TOLERANCE = 1e-3
# INT8: least mean cosine to FP32, worst output; and, where given, the most that accuracy may fall below FP32.
BOUNDS = {
    "ppocr_v4_rec": {"cosine": 0.98, "drop": 0.02},
    "ppocr_v4_det": {"cosine": 0.95},
    "ddddocr_det": {"cosine": 0.985},
    "efficientnet_lite0": {"cosine": 0.99},
    "minilm_l6": {"cosine": 0.975},
}
SPEED_ONLY = ["resnet50", "mobilenet_v2", "vit_b16", "bert_base"]


class Failure(Exception):
    pass


def call(arguments, log):
    with open(log, "w") as out:
        code = subprocess.run([str(a) for a in arguments], stdout=out, stderr=subprocess.STDOUT).returncode
    if code:
        tail = Path(log).read_text().strip().splitlines()[-1:] or [""]
        raise Failure(f"{Path(arguments[0]).name} failed with {code}: {tail[0]}")


def outputs_of(bin_dir, engine, data, folder, threads):
    if folder.exists():
        for file in folder.glob("*.npz"):
            file.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    call([bin_dir / "engine-run", engine, "--data", data, "--outputs-dir", folder, "--format", "npz", "--threads", threads],
         folder / "run.log")
    return store.read_arrays(folder)


def largest_error(outputs, references):
    worst = 0.0
    for out, ref in zip(outputs, references):
        for key, want in ref.items():
            if out[key].shape != want.shape:
                raise Failure(f"output '{key}': shape {out[key].shape}, need {want.shape}")
            scale = max(float(np.abs(want).max(initial=0)), 1e-6)
            worst = max(worst, float(np.abs(out[key].astype(np.float64) - want).max(initial=0)) / scale)
    return worst


def measure(name, bin_dir, work, threads, seconds):
    folder = MODELS / name
    recipe = json.loads((folder / "recipe.json").read_text())
    work = work / name
    work.mkdir(parents=True, exist_ok=True)
    profile = ["--profile", recipe["profile"]] if recipe.get("profile") else []
    common = [bin_dir / "engine-build", folder / "model.onnx", *profile, "--threads", threads, "--timing-cache", work / "timing.cache"]
    row = {"model": name, "threads": threads}
    started = time.time()
    call([*common, "-o", work / "f32.engine", "--json", work / "f32.json", "--report", work / "f32.report.json"], work / "f32.log")
    row["build_f32_s"] = time.time() - started
    started = time.time()
    call([*common, "--int8", "--calib", folder / "calib", "--save-calib-table", work / "int8.table", "-o", work / "int8.engine", "--json", work / "int8.json",
          "--report", work / "int8.report.json"], work / "int8.log")
    row["build_int8_s"] = time.time() - started
    row["int8_bytes"] = (work / "int8.engine").stat().st_size
    row["f32_bytes"] = (work / "f32.engine").stat().st_size
    built = json.loads((work / "int8.json").read_text())
    row["int8_layers"], row["layers"] = built["summary"]["int8_layers"], built["summary"]["layers"]
    row["arena_ratio"] = built["memory"]["arena_bytes"] / max(1, built["memory"]["peak_live_bytes"])

    if (folder / "eval").exists():
        count = len(list((folder / "eval").glob("*.npz")))
        references = store.read_arrays(folder / "reference", count)
        f32 = outputs_of(bin_dir, work / "f32.engine", folder / "eval", work / "f32.out", threads)
        row["f32_error"] = largest_error(f32, references)
        int8 = outputs_of(bin_dir, work / "int8.engine", folder / "eval", work / "int8.out", threads)
        for kind, outputs in (("f32", f32), ("int8", int8)):
            judged = score.judge(name, outputs)
            row[f"{kind}_accuracy"] = judged["accuracy"]
            row[f"{kind}_cosine"] = min(c["mean"] for c in judged["cosine"].values())
            row[f"{kind}_cosine_worst"] = min(c["worst"] for c in judged["cosine"].values())
            row["metric"] = judged["metric"]
    if (folder / "eval").exists():
        row["bytes"] = same_bytes.check(call, bin_dir, folder, recipe, work / "int8.table", work / "bytes")
    # Both engines in one run, turn by turn.
    call([bin_dir / "engine-check", work / "int8.engine", "--reference", folder / "model.onnx", "--data", folder / "calib",
          "--samples", 4, "--seconds", seconds, "--threads", threads, "--timing-cache", work / "timing.cache", "--json",
          work / "check.json"], work / "check.log")
    check = json.loads((work / "check.json").read_text())
    row["f32_ms"], row["int8_ms"] = check["latency_ms"]["reference"], check["latency_ms"]["engine"]
    return row


def bytes_only(names, bin_dir, work):
    """Prints a line for each model; what main() hands to sys.exit."""
    failures = []
    for name in names:
        folder, own = MODELS / name, work / name
        own.mkdir(parents=True, exist_ok=True)
        recipe = json.loads((folder / "recipe.json").read_text())
        profile = ["--profile", recipe["profile"]] if recipe.get("profile") else []
        try:
            call([bin_dir / "engine-build", folder / "model.onnx", *profile, "--int8", "--calib", folder / "calib", "--calibrate-only",
                  "--save-calib-table", own / "int8.table"], own / "table.log")
            row = same_bytes.check(call, bin_dir, folder, recipe, own / "int8.table", own / "bytes")
        except Failure as failure:
            return f"results: {name}: {failure}"
        print(f"{name}: " + ", ".join(f"{key} {'=' if value == 0 else f'{value:.1e}'}" for key, value in row.items()), flush=True)
        failures += [f"{name}: {what}" for what in same_bytes.broken(row)]
    return "results: " + "; ".join(failures) if failures else 0


def broken_bounds(row):
    name, found = row["model"], []
    bounds = BOUNDS.get(name, {})
    if row.get("f32_error", 0) > FP32_TOLERANCE:
        found.append(f"FP32 error {row['f32_error']:.2e} > {FP32_TOLERANCE:.0e}")
    if "cosine" in bounds and row["int8_cosine"] < bounds["cosine"]:
        found.append(f"cosine {row['int8_cosine']:.4f} < {bounds['cosine']}")
    if "drop" in bounds and row["int8_accuracy"] < row["f32_accuracy"] - bounds["drop"]:
        found.append(f"accuracy {row['int8_accuracy']:.3f} < {row['f32_accuracy']:.3f} - {bounds['drop']}")
    if row["int8_ms"] > row["f32_ms"]:
        found.append("INT8 slower than FP32")
    found += same_bytes.broken(row.get("bytes", {}))
    if row["arena_ratio"] > 1.2:
        found.append(f"arena {row['arena_ratio']:.2f} x peak")
    return found


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def document(rows, threads):
    def number(row, key, text):
        value = row.get(key)
        return "–" if value is None else text.format(value)

    lines = [
        "# Results",
        "",
        "Written by `bench/results`; do not edit. Models, calibration and evaluation inputs come from `scripts/models`.",
        "FP32 error: against onnxruntime, over the largest magnitude of the output. Cosine: INT8 engine to onnxruntime FP32, mean over",
        f"the evaluation inputs, worst output. Latency: medians of one interleaved run, batch as calibrated, {threads} thread(s), {cpu_name()}.",
        "",
        "| model | FP32 error | accuracy FP32 | accuracy INT8 | cosine INT8 | INT8 layers | FP32 ms | INT8 ms | speed-up | FP32 MB | INT8 MB | arena / peak | build INT8 s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        lines.append("| " + " | ".join([
            row["model"], number(row, "f32_error", "{:.1e}"), number(row, "f32_accuracy", "{:.3f}"),
            number(row, "int8_accuracy", "{:.3f}"), number(row, "int8_cosine", "{:.4f}"),
            f"{row['int8_layers']}/{row['layers']}", f"{row['f32_ms']:.2f}", f"{row['int8_ms']:.2f}",
            f"{row['f32_ms'] / row['int8_ms']:.2f}", f"{row['f32_bytes'] / 1e6:.1f}", f"{row['int8_bytes'] / 1e6:.1f}",
            f"{row['arena_ratio']:.2f}", f"{row['build_int8_s']:.0f}"]) + " |")
    lines += ["", "Same bytes of INT8 outputs (=, or the largest difference over the largest magnitude) between: 1 and 2 threads; batch 1 and batch 7, row by",
              "row; two builds with one timing cache; reference code and tuned kernels; the instruction sets of this machine. Reference code sums floats in",
              "double: it agrees wherever no float group lies between two INT8 layers.", "",
              "| model | threads | batch | builds | reference code | instruction sets |", "| --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        if "bytes" in row:
            cells = [row["bytes"].get(key) for key in ("threads", "batch", "rebuild", "reference", "levels")]
            lines.append(f"| {row['model']} | " + " | ".join("–" if c is None else "=" if c == 0 else f"{c:.1e}" for c in cells) + " |")
    lines += ["", "Accuracy is: " + "; ".join(f"{r['model']}: {r['metric']}" for r in rows if r.get("metric")) + ".", "",
              "Bounds held: FP32 error ≤ 1e-3; INT8 cosine at least " +
              ", ".join(f"{b['cosine']} ({n})" for n, b in BOUNDS.items()) +
              "; text recognition exact at most two points below FP32; INT8 not slower than FP32; INT8 outputs equal to the byte with 1 and 2 threads and in batches, and builds with one timing cache; arena at most 1.2 × the peak of live bytes.", ""]
    failures = [(r["model"], f) for r in rows for f in broken_bounds(r)]
    lines += ["All hold." if not failures else "**Not held:** " + "; ".join(f"{m}: {f}" for m, f in failures) + ".", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="results", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="default: all that scripts/models has brought")
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin", help="where the tools are")
    parser.add_argument("--work", type=Path, default=ROOT / "build/results", help="engines and outputs")
    parser.add_argument("--bytes-only", action="store_true", help="only whether INT8 bytes are the same; writes no page")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4, help="timing of each model")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/results.md", help="- for standard output")
    options = parser.parse_args()
    names = options.models or [n for n in [*BOUNDS, *SPEED_ONLY] if (MODELS / n / "model.onnx").exists()]
    if not names:
        sys.exit("results: no models; run scripts/models")
    if options.bytes_only:
        sys.exit(bytes_only([n for n in names if (MODELS / n / "eval").exists()], options.bin, options.work))
    rows = []
    for name in names:
        print(f"results: {name}", flush=True)
        try:
            row = measure(name, options.bin, options.work, options.threads, options.seconds)
        except Failure as failure:
            sys.exit(f"results: {name}: {failure}")
        rows.append(row)
        print("  " + ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items() if k not in ("model", "metric")), flush=True)
    text = document(rows, options.threads)
    if str(options.output) == "-":
        print(text)
    else:
        beside = options.output.with_suffix(".part")
        beside.write_text(text)
        os.replace(beside, options.output)
    (options.work / "results.json").write_text(json.dumps(rows, indent=1))
    failures = [f"{r['model']}: {f}" for r in rows for f in broken_bounds(r)]
    if failures:
        sys.exit("results: bounds not held: " + "; ".join(failures))


if __name__ == "__main__":
    main()
