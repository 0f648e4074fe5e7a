"""Times Ingot and its peers side by side on the models of scripts/models, and writes docs/performance.md.

Every runtime holds its model in a process of its own; rounds go through all of them in shuffled order, a short turn each, so that
whatever else the machine does falls on all alike. Ratios are formed within a round. INT8 models of the peers are made here, by
the peers' own tools and from the same calibration inputs; every INT8 figure has its accuracy beside it.

Exit status: 0 written; 1 a step failed.
"""

import argparse
import json
import math
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np

import peer_models
from zoo import catalog, score, store
from zoo.paths import MODELS

ROOT = Path(__file__).resolve().parent.parent
INGOT = {"ingot-f32": ("Ingot FP32", "f32"), "ingot-int8": ("Ingot INT8", "int8")}
LABELS = {**{k: v[0] for k, v in INGOT.items()}, **{k: v[0] for k, v in peer_models.PEERS.items()}}
PRECISION = {**{k: v[1] for k, v in INGOT.items()}, **{k: v[2] for k, v in peer_models.PEERS.items()}}


class Failure(Exception):
    pass


def call(arguments, log):
    with open(log, "w") as out:
        code = subprocess.run([str(a) for a in arguments], stdout=out, stderr=subprocess.STDOUT).returncode
    if code:
        tail = Path(log).read_text().strip().splitlines()[-1:] or [""]
        raise Failure(f"{Path(arguments[0]).name} failed with {code}: {tail[0]}")


def profile_shapes(text):
    """'x=min:opt:max,…' → {x: opt dims}"""
    return {part.split("=")[0]: [int(d) for d in part.split("=")[1].split(":")[1].split("x")] for part in text.split(",")}


def timed_sample(name, recipe, batch, target):
    """One file with `batch` calibration samples of the profile's shape, stacked."""
    samples = store.read_arrays(MODELS / name / "calib")
    single = profile_shapes(recipe["profile"]) if recipe.get("profile") else {}
    fitting = [s for s in samples if all(list(s[k].shape) == dims for k, dims in single.items())] or samples[:1]
    chosen = [fitting[i % len(fitting)] for i in range(batch)]
    np.savez(target, **{key: np.concatenate([s[key] for s in chosen]) for key in chosen[0]})
    return target


def ingot_engines(name, recipe, bin_dir, work, threads, batch, wanted):
    folder, engines = MODELS / name, {}
    profile = recipe["profile"] if batch == 1 else recipe["profile_batched"]
    for key in (k for k in INGOT if k in wanted):
        engine = work / f"{key}.t{threads}.b{batch}.engine"
        quantise = ["--int8", "--calib", folder / "calib"] if key == "ingot-int8" else []
        call([bin_dir / "engine-build", folder / "model.onnx", *(["--profile", profile] if profile else []), *quantise,
              "--threads", threads, "--timing-cache", work / "timing.cache", "-o", engine, "--report", engine.with_suffix(".report.json")],
             engine.with_suffix(".log"))
        engines[key] = engine
    return engines


def ingot_judged(name, bin_dir, engine, work, threads):
    folder = work / "outputs"
    folder.mkdir(exist_ok=True)
    for file in folder.glob("*.npz"):
        file.unlink()
    call([bin_dir / "engine-run", engine, "--data", MODELS / name / "eval", "--outputs-dir", folder, "--format", "npz",
          "--threads", threads], work / "run.log")
    return peer_models.summary(score.judge(name, store.read_arrays(folder)))


class Worker:
    """A process that times one model when asked."""

    def __init__(self, key, command, log):
        self.key = key
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=open(log, "w"), text=True)
        self.log = log

    def wait_ready(self):
        for line in self.process.stdout:
            if line.strip() == "ready":
                return
        raise Failure(f"{self.key}: ended before it was ready; see {self.log}")

    def turn(self, seconds):
        """Milliseconds of the quickest run: what other programs take makes a run longer, never shorter."""
        print(seconds, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"{self.key}: ended in a turn; see {self.log}")
        return min(json.loads(line))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def quartiles(values):
    return [float(np.quantile(values, q)) for q in (0.25, 0.5, 0.75)]


def ratios(rounds, peer, own):
    return quartiles([turn[peer] / turn[own] for turn in rounds])


def measure(name, options, threads, batch):
    """One row: milliseconds by peer, ratios of the fastest peers to Ingot, accuracy of every INT8 model."""
    work = options.work / name
    work.mkdir(parents=True, exist_ok=True)
    recipe = json.loads((MODELS / name / "recipe.json").read_text())
    if batch > 1 and not recipe.get("profile_batched"):
        return None
    commands, judged, notes = {}, {}, []
    sample = timed_sample(name, recipe, batch, work / f"sample.b{batch}.npz")
    for key, engine in ingot_engines(name, recipe, options.bin, work, threads, batch, options.peers).items():
        commands[key] = [options.bin / "engine-turns", engine, sample, "--threads", threads]
        if PRECISION[key] == "int8" and (threads, batch) == (options.threads[0], options.batches[0]):
            judged[key] = ingot_judged(name, options.bin, engine, work, threads)
    for key, (label, engine, precision, make, outputs) in peer_models.PEERS.items():
        if key not in options.peers:
            continue
        try:
            model = make(name, work)
            if model is None:
                continue
            if precision == "int8":
                judged[key] = peer_models.judged(name, model, outputs, work / f"{key}.judged.json")
        except Exception as error:  # a peer that cannot is a result, not the end of the run
            notes.append(f"{label} cannot: {str(error).splitlines()[0][:160]}")
            continue
        commands[key] = [sys.executable, Path(__file__).with_name("peer_worker.py"), engine, model, sample, threads,
                         *(["f32"] if precision == "f32" else [])]
    workers, rounds = [], []
    try:
        for key, command in commands.items():
            worker = Worker(key, command, work / f"{key}.worker.log")
            try:
                worker.wait_ready()
                workers.append(worker)
            except Failure as failure:
                if key in INGOT:
                    raise
                notes.append(str(failure))
        order = random.Random(f"{name} {threads} {batch}")
        for _ in range(options.rounds):
            turn = {}
            for worker in order.sample(workers, len(workers)):
                turn[worker.key] = worker.turn(options.seconds)
                time.sleep(0.02)  # its threads stop spinning
            rounds.append(turn)
    finally:
        for worker in workers:
            worker.close()
    return conclude({"model": name, "threads": threads, "batch": batch, "rounds": rounds, "judged": judged, "notes": notes})


def conclude(row):
    rounds = row["rounds"]
    row["ms"] = {key: quartiles([turn[key] for turn in rounds]) for key in rounds[0]}
    row["best"] = {}
    for precision in ("f32", "int8"):
        own = f"ingot-{precision}"
        rivals = [k for k in row["ms"] if k not in INGOT and PRECISION[k] == precision]
        if own in row["ms"] and rivals:
            fastest = min(rivals, key=lambda k: row["ms"][k][1])
            row["best"][precision] = {"peer": fastest, "ratio": ratios(rounds, fastest, own)}
    return row


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def cpu():
    text = Path("/proc/cpuinfo").read_text()
    fields = dict(line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line)
    fields = {k.strip(): v.strip() for k, v in fields.items()}
    flags = fields.get("flags", "").split()
    known = [f for f in ("avx2", "fma", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8") if f in flags]
    return f"{fields.get('model name', 'unknown')} (family {fields.get('cpu family', '?')}, model {fields.get('model', '?')})", known


def cell_accuracy(judged):
    if not judged:
        return "–"
    return ("" if judged["accuracy"] is None else f"{judged['accuracy']:.3f} · ") + f"{judged['cosine']:.4f}"


def table(rows, keys):
    lines = ["| model | " + " | ".join(LABELS[k] for k in keys) + " | INT8: fastest peer / Ingot | FP32: fastest peer / Ingot |",
             "| --- |" + " --- |" * (len(keys) + 2)]
    for row in rows:
        cells = [f"{row['ms'][k][1]:.2f}" if k in row["ms"] else "–" for k in keys]
        for precision in ("int8", "f32"):
            best = row["best"].get(precision)
            cells.append("–" if not best else f"**{best['ratio'][1]:.2f}** ({best['ratio'][0]:.2f}–{best['ratio'][2]:.2f}, {LABELS[best['peer']].removesuffix(' INT8').removesuffix(' FP32')})")
        lines.append(f"| {row['model']} | " + " | ".join(cells) + " |")
    return lines


def document(rows, options):
    name, flags = cpu()
    keys = [k for k in LABELS if any(k in r["ms"] for r in rows)]
    counts = sorted({len(r["rounds"]) for r in rows})
    lines = [
        "# Performance against the peers", "",
        "Written by `bench/peers`; do not edit. A ratio is a peer's time over Ingot's: above 1 Ingot is faster.", "",
        "## Method", "",
        f"- Machine: {name}, {os.cpu_count()} cores, {' '.join(flags)}; {platform.system()} {platform.machine()}; {date.today().isoformat()}. It was shared with",
        "  other work while this ran: compare ratios, not milliseconds.",
        f"- Versions: onnxruntime {version('onnxruntime')}, OpenVINO {version('openvino').split('-')[0]}, NNCF {version('nncf')}.",
        f"- Every runtime holds its model in a process of its own. {'–'.join(map(str, counts))} rounds go through all of them in shuffled order, {options.seconds} s a turn, after one",
        "  run that does not count. A turn counts as its quickest run, since other programs only make a run longer. The tables show medians over the rounds;",
        "  ratios are formed within each round, and shown as median (quartiles).",
        "- The same inputs and thread count for all; the peers get the timed shape as a static shape, bound inputs, and their full graph optimisation.",
        "  Ingot's engines are built for the model's whole profile and tuned on the same machine.",
        "- onnxruntime INT8: `quantize_static`, QDQ, u8 activations, s8 weights per channel"
        + (", `reduce_range` off (the machine has VNNI)" if peer_models.has_vnni() else ", `reduce_range` on (the machine has no VNNI)") + "; transformers first pass its",
        "  transformer optimiser, and are also quantised by `quantize_dynamic`. OpenVINO INT8: `nncf.quantize`, with `model_type` for transformers; latency hint, one",
        "  stream, no pinning; it may choose bf16 for what stays float. OpenVINO FP32 is held to f32. All calibrate on the same samples, all of them.",
        "- Accuracy · cosine: task metric, where the model has one, and mean cosine to onnxruntime FP32 of the worst output, on the same evaluation inputs.",
        *(f"- {remark}" for remark in options.remark), ""]
    for threads, batch in dict.fromkeys((r["threads"], r["batch"]) for r in rows):
        part = [r for r in rows if (r["threads"], r["batch"]) == (threads, batch)]
        lines += [f"## {threads} thread{'s' if threads > 1 else ''}, batch {batch}", "", "Milliseconds.", "", *table(part, keys), ""]
        for precision, title in (("int8", "INT8"), ("f32", "FP32")):
            known = [(r["model"], r["best"][precision]) for r in part if precision in r["best"]]
            if not known:
                continue
            lost = [f"{m} ({b['ratio'][1]:.2f}, {LABELS[b['peer']]})" for m, b in known if b["ratio"][1] < 1]
            lines += [f"{title}: geometric mean against the fastest peer of each model **{geometric_mean([b['ratio'][1] for _, b in known]):.2f}**. "
                      + ("Ingot loses on " + ", ".join(lost) + "." if lost else "Ingot loses nowhere."), ""]
    quantised = [k for k in keys if PRECISION[k] == "int8"]
    lines += ["## What the INT8 models are worth", "", "Accuracy · cosine; FP32 accuracy for comparison.", "",
              "| model | FP32 | " + " | ".join(LABELS[k] for k in quantised) + " |", "| --- | --- |" + " --- |" * len(quantised)]
    for model in dict.fromkeys(r["model"] for r in rows):
        found = {}
        for row in rows:
            if row["model"] == model:
                found = {**row["judged"], **found}
        base = json.loads((MODELS / model / "recipe.json").read_text()).get("fp32_accuracy")
        lines.append(f"| {model} | {'–' if base is None else f'{base:.3f}'} | " + " | ".join(cell_accuracy(found.get(k)) for k in quantised) + " |")
    metrics = dict.fromkeys(f"{r['model']}: {j['metric']}" for r in rows for j in r["judged"].values() if j["accuracy"] is not None)
    lines += ["", "Accuracy is: " + "; ".join(metrics) + "." if metrics else "", ""]
    notes = dict.fromkeys(f"{r['model']}: {n}" for r in rows for n in r["notes"])
    if notes:
        lines += ["Not measured:", "", *(f"- {note}" for note in notes), ""]
    return "\n".join(lines)


def numbers(text):
    return [int(n) for n in text.split(",")]


def main():
    parser = argparse.ArgumentParser(prog="peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=lambda t: t.split(","), help="default: all that scripts/models has brought")
    parser.add_argument("--peers", type=lambda t: t.split(","), default=list(LABELS), help=f"default: {','.join(LABELS)}")
    parser.add_argument("--threads", type=numbers, default=[1, 2], help="default: 1,2")
    parser.add_argument("--batches", type=numbers, default=[1], help="default: 1; 1,8 adds the models that take batches")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.3, help="of one turn")
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin", help="where the tools are")
    parser.add_argument("--work", type=Path, default=ROOT / "build/peers", help="engines, models of the peers, peers.json")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/performance.md", help="- for standard output")
    parser.add_argument("--remark", action="append", default=[], help="one more line of the method: what was unusual about this run")
    parser.add_argument("--keep", action="store_true", help="keeps rows of an earlier run that this one does not measure")
    options = parser.parse_args()
    names = options.models or [n for n in catalog.MODELS if (MODELS / n / "model.onnx").exists()]
    unknown = [p for p in options.peers if p not in LABELS] + [n for n in names if not (MODELS / n / "model.onnx").exists()]
    if unknown or not names:
        sys.exit(f"peers: unknown: got {' '.join(unknown) or 'no models'}, need peers of {' '.join(LABELS)} and models of scripts/models")
    options.work.mkdir(parents=True, exist_ok=True)
    store_path = options.work / "peers.json"
    kept = json.loads(store_path.read_text()) if options.keep and store_path.exists() else []
    rows, failed = {(r["threads"], r["batch"], r["model"]): r for r in kept}, []
    for name in names:
        for threads in options.threads:
            for batch in options.batches:
                try:
                    row = measure(name, options, threads, batch)
                except Failure as failure:
                    failed.append(f"{name}, {threads} threads, batch {batch}: {failure}")
                    print(f"peers: {failed[-1]}", flush=True)
                    continue
                if row is None:
                    continue
                rows[threads, batch, name] = row
                print(f"peers: {name}, {threads} threads, batch {batch}: " +
                      ", ".join(f"{k} {v[1]:.2f}" for k, v in row["ms"].items()), flush=True)
                store_path.write_text(json.dumps(list(rows.values()), indent=1))
    if not rows:
        sys.exit("peers: nothing was measured")
    place = {name: index for index, name in enumerate(catalog.MODELS)}
    ordered = sorted(rows.values(), key=lambda r: (r["batch"], r["threads"], place[r["model"]]))
    text = document(ordered, options)
    if str(options.output) == "-":
        print(text)
    else:
        beside = options.output.with_suffix(".part")
        beside.write_text(text)
        os.replace(beside, options.output)
    if failed:
        sys.exit("peers: failed: " + "; ".join(failed))


if __name__ == "__main__":
    main()
