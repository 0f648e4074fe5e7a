"""Whether an INT8 engine gives the same bytes: with 1 and 2 threads, batch 1 and batch 7 row by row, by reference code and by
tuned kernels, on every instruction set of this machine; and whether two builds with one timing cache are one file.

Threads, batches, builds and instruction sets must agree for every model. Reference code agrees wherever all arithmetic between
two layers is on integers; where float groups lie in between (softmax, LayerNorm, attention) it sums them in double, and their
last bits differ, which a quantiser can turn into a step: then the largest difference is given.
"""

import shutil

import numpy as np

from zoo import store

ROWS = 7
LEVELS = ["scalar", "avx2", "avx_vnni", "avx512_vnni"]


def seven_alike(folder, into):
    """The first seven evaluation inputs of the commonest shapes, as links in a folder of their own."""
    groups = {}
    for file in sorted((folder / "eval").glob("*.npz")):
        with np.load(file) as arrays:
            groups.setdefault(tuple((k, arrays[k].shape) for k in sorted(arrays)), []).append(file)
    chosen = max(groups.values(), key=len)[:ROWS]
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    for file in chosen:
        (into / file.name).symlink_to(file)
    return len(chosen)


def difference(first, second):
    """0 if equal to the byte, else the largest error over the largest magnitude; of lists of dicts of arrays."""
    worst = 0.0
    for one, other in zip(first, second, strict=True):
        for key, want in one.items():
            if want.shape == other[key].shape and want.tobytes() == other[key].tobytes():
                continue
            scale = max(float(np.abs(want).max(initial=0)), 1e-6)
            worst = max(worst, float(np.abs(want.astype(np.float64) - other[key]).max(initial=0)) / scale, 1e-12)
    return worst


def rows_of(outputs):
    """All outputs joined along the batch."""
    return [{key: np.concatenate([out[key] for out in outputs]) for key in outputs[0]}]


def check(call, bin_dir, folder, recipe, table, work):
    """Measures all of it; `call(arguments, log)` runs a tool."""
    work.mkdir(parents=True, exist_ok=True)
    samples = seven_alike(folder, work / "data")
    batched = bool(recipe.get("profile_batched")) and samples == ROWS
    profile = recipe.get("profile_batched") or recipe.get("profile")
    build = [bin_dir / "engine-build", folder / "model.onnx", *(["--profile", profile] if profile else []), "--int8", "--calib-table", table]
    # The first build measures; the others only read what it wrote.
    cache = work / "timing.cache"
    for name in ("first", "second", "third"):
        call([*build, "--timing-cache", cache, "-o", work / f"{name}.engine"], work / f"{name}.log")
    call([*build, "--reference", "--no-verify", "-o", work / "reference.engine"], work / "reference.log")

    def run(engine, name, *options, data="data"):
        out = work / name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        call([bin_dir / "engine-run", work / f"{engine}.engine", "--data", work / data, "--outputs-dir", out, "--format", "npz", *options], work / f"{name}.log")
        return store.read_arrays(out)

    one = run("first", "one", "--batch", 1) if batched else run("first", "one")
    row = {"rebuild": 0.0 if len({(work / f"{n}.engine").read_bytes() for n in ("first", "second", "third")}) == 1 else 1.0}
    row["threads"] = difference(one, run("first", "two", "--threads", 2, *(["--batch", 1] if batched else [])))
    if batched:
        seven = run("first", "seven", "--batch", ROWS)
        row["batch"] = difference(rows_of(one), rows_of(seven))
        row["threads"] = max(row["threads"], difference(seven, run("first", "seven.two", "--threads", 2, "--batch", ROWS)))
    single = work / "single"
    shutil.rmtree(single, ignore_errors=True)
    single.mkdir()
    first = sorted((work / "data").iterdir())[0]
    (single / first.name).symlink_to(first.resolve())
    row["reference"] = difference(one[:1], run("reference", "by_reference", data="single"))
    row["levels"] = max(difference(one[:1], run("first", f"level.{level}", "--cpu-level", level, data="single")) for level in LEVELS)
    return row


def broken(row):
    """What must hold and does not."""
    names = {"threads": "1 and 2 threads", "batch": "batch 1 and batch 7", "rebuild": "two builds with one timing cache", "levels": "instruction sets"}
    return [f"bytes differ between {text}" for key, text in names.items() if row.get(key)]
