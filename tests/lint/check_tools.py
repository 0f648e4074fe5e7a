#!/usr/bin/env python3
"""The command-line tools seen from outside: exit codes, one-line errors, JSON keys, quiet pipes, Ctrl-C, full disks.

    check_tools.py BIN_DIR SOURCE_DIR
"""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN, SOURCE = (Path(argument).resolve() for argument in sys.argv[1:])
DIGITS = SOURCE / "models/digits"
TOOLS = ("engine-build", "engine-run", "engine-check", "engine-inspect")
problems = []


def expect(true, what):
    if not true:
        problems.append(what)


def run(tool, *args, code=None, errors=None, stdout=subprocess.PIPE, limit=None):
    """Runs a tool; checks its exit code and how many lines it wrote to standard error."""
    def restrict():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    done = subprocess.run([BIN / tool, *map(str, args)], stdout=stdout, stderr=subprocess.PIPE, text=True, errors="replace", timeout=300,
                          cwd=work, preexec_fn=restrict if limit else None, restore_signals=not limit)
    line = f"{tool} {' '.join(map(str, args))}"
    if code is not None:
        expect(done.returncode == code, f"{line}: exit status: got {done.returncode}, need {code}: {done.stderr.strip()[:200]}")
    lines = done.stderr.splitlines()
    if errors is not None:
        expect(len(lines) == errors, f"{line}: lines on standard error: got {len(lines)}, need {errors}: {done.stderr.strip()[:300]}")
    if errors == 1 and lines:
        expect(lines[0].startswith(tool + ": error: "), f"{line}: need '{tool}: error: …': got '{lines[0][:120]}'")
    return done


def field(number, value):
    """One field of a protobuf message: bytes and text are length-delimited, numbers are varints."""
    def varint(n):
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def onnx_model(op_types):
    """A chain of operators without attributes on a float tensor [1, 4], as ONNX bytes."""
    def tensor(name):
        shape = b"".join(field(1, field(1, dim)) for dim in (1, 4))
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))
    nodes = b"".join(field(1, field(1, f"t{i}") + field(2, f"t{i + 1}") + field(3, f"node{i}") + field(4, op)) for i, op in enumerate(op_types))
    graph = nodes + field(2, "chain") + field(11, tensor("t0")) + field(12, tensor(f"t{len(op_types)}"))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


def leftovers(known):
    return sorted(p.name for p in work.iterdir() if p.name not in known)


def help_and_usage():
    for tool in TOOLS:
        done = run(tool, "--help", code=0, errors=0)
        expect("Usage" in done.stdout and "Exit status" in done.stdout, f"{tool} --help: no usage or exit status in it")
        done = run(tool, "--version", code=0, errors=0)
        expect(done.stdout.startswith("ingot ") and done.stdout.count("\n") == 1, f"{tool} --version: got {done.stdout!r}")
        run(tool, code=2, errors=1)
        run(tool, "--no-such-option", code=2, errors=1)
        run(tool, "a", "b", "c", code=2, errors=1)
    model = DIGITS / "digits.onnx"
    for args in (["--threads", "0"], ["--threads", "many"], ["--method", "best"], ["--cpu-level", "mmx"], ["--percentile", "10"], ["--profile", "image"],
                 ["--calib", "a", "--calib-table", "b"], ["--calibrate-only"], ["--calibrate-only", "--save-calib-table", "t"],
                 ["--calib-table", "a"], ["--save-calib-table", "a"], ["--method", "mse"], ["--float-layer", "conv"], ["--check", "-o", "a"],
                 ["--check", "--report", "a"]):
        run("engine-build", model, *args, code=2, errors=1)
    run("engine-run", engine, "--onnx", model, code=2, errors=1)
    run("engine-run", engine, "--format", "csv", code=2, errors=1)
    run("engine-run", engine, "--shape", "image", code=2, errors=1)
    run("engine-check", engine, code=2, errors=1)
    run("engine-check", engine, "--reference", model, "--data", DIGITS / "test", "--max-drop", "1", code=2, errors=1)


def wrong_inputs():
    whole = engine.read_bytes()
    bad = {"missing": None, "empty": b"", "garbage": os.urandom(5000), "text": b"hello\n", "half": whole[: len(whole) // 2],
           "short": whole[:-1], "header": whole[:100], "long": whole + b"\0", "flipped": whole[:3000] + bytes([whole[3000] ^ 1]) + whole[3001:]}
    for name, data in bad.items():
        path = work / f"{name}.file"
        if data is not None:
            path.write_bytes(data)
        run("engine-inspect", path, code=1, errors=1)
        run("engine-run", path, code=1, errors=1)
        run("engine-check", path, "--reference", DIGITS / "digits.onnx", "--data", DIGITS / "test", code=1, errors=1)
        if name not in ("half", "short", "header", "long", "flipped"):
            run("engine-build", path, "-o", "never.engine", code=1, errors=1)
            run("engine-run", "--onnx", path, code=1, errors=1)
            run("engine-check", "--table", path, code=1, errors=1)
            run("engine-build", DIGITS / "digits.onnx", "--int8", "--calib-table", path, "-o", "never.engine", code=1, errors=1)
            run("engine-build", DIGITS / "digits.onnx", "--int8", "--calib", path, "-o", "never.engine", code=1, errors=1)
    model = (DIGITS / "digits.onnx").read_bytes()
    (work / "cut.onnx").write_bytes(model[: len(model) // 2])
    run("engine-build", "cut.onnx", "-o", "never.engine", code=1, errors=1)
    run("engine-build", work, "-o", "never.engine", code=1, errors=1)
    run("engine-inspect", work, code=1, errors=1)
    run("engine-build", DIGITS / "digits.onnx", "--int8", "-o", "never.engine", code=1, errors=1)
    run("engine-build", DIGITS / "digits.onnx", "--int8", "--calib", DIGITS / "calib", "--preprocess", "colour=gray", "-o", "never.engine", code=1, errors=1)
    run("engine-build", DIGITS / "digits.onnx", "--int8", *CALIB, "--float-layer", "no such layer", "-o", "never.engine", code=1, errors=1)
    run("engine-check", engine, "--reference", "plain.onnx", "--data", DIGITS / "test", "--preprocess", DIGITS / "preprocess.txt", code=1, errors=1)
    expect(not (work / "never.engine").exists(), "an engine was written by a build that failed")


def special_files():
    os.mkfifo(work / "pipe")
    os.mkfifo(work / "pipe.npy")
    model = DIGITS / "digits.onnx"
    # Nobody writes to the pipes: a tool that opened one to read would wait forever.
    run("engine-inspect", "pipe", code=1, errors=1)
    run("engine-run", "pipe", code=1, errors=1)
    run("engine-run", "--onnx", "pipe", code=1, errors=1)
    run("engine-build", "pipe", "-o", "never.engine", code=1, errors=1)
    run("engine-build", model, "--int8", "--calib", "pipe.npy", "-o", "never.engine", code=1, errors=1)
    run("engine-build", model, "--int8", "--calib-table", "pipe", "-o", "never.engine", code=1, errors=1)
    run("engine-build", model, "--int8", "--calib", DIGITS / "calib", "--preprocess", "pipe", "-o", "never.engine", code=1, errors=1)
    run("engine-build", model, "--timing-cache", "pipe", "-o", "never.engine", code=1, errors=1)
    run("engine-run", engine, "--inputs", "pipe.npy", code=1, errors=1)
    run("engine-check", engine, "--reference", model, "--data", DIGITS / "test", "--labels", "pipe", code=1, errors=1)
    done = run("engine-inspect", "/dev/null", code=1, errors=1)
    expect("not a regular file" in done.stderr, f"engine-inspect /dev/null: {done.stderr}")
    (work / "empty").write_bytes(b"")
    for tool, args in (("engine-inspect", ["empty"]), ("engine-build", ["empty", "-o", "never.engine"])):
        expect("is empty" in run(tool, *args, code=1, errors=1).stderr, f"{tool}: does not say that a file is empty")
    run("engine-build", "plain.onnx", "--timing-cache", "/dev/null", "-o", "never.engine", code=0, errors=0)
    expect(Path("/dev/null").is_char_device(), "engine-build replaced /dev/null by a timing cache")
    # What a link leads to is written; the link stays one.
    for name, args in (("l.engine", ["-o", "l.engine"]), ("l.json", ["-o", "never.engine", "--report", "l.json"]), ("l2.json", ["-o", "never.engine", "--json", "l2.json"])):
        (work / "there").mkdir(exist_ok=True)
        for there in (True, False):
            target = work / "there" / name
            if there:
                target.write_bytes(b"old")
            (work / name).symlink_to(Path("there") / name)
            run("engine-build", "plain.onnx", "--no-tune", *args, code=0, errors=0)
            expect((work / name).is_symlink() and target.is_file() and target.read_bytes() != b"old", f"engine-build: a link was replaced, or not followed: {name}")
            (work / name).unlink()
            target.unlink()
    for name in ("pipe", "pipe.npy", "empty", "never.engine"):
        (work / name).unlink()


def unsupported():
    (work / "odd.onnx").write_bytes(onnx_model(["Relu", "NoSuchThing", "Relu", "StringNormalizer", "AlsoNot"]))
    for tool, args in (("engine-build", ["odd.onnx", "-o", "never.engine"]), ("engine-run", ["--onnx", "odd.onnx"])):
        done = run(tool, *args, code=3)
        for name in ("node1", "NoSuchThing", "node3", "StringNormalizer", "node4", "AlsoNot", "3 of 5"):
            expect(name in done.stderr, f"{tool} odd.onnx: does not name {name}: {done.stderr[:300]}")
        expect("node0" not in done.stderr, f"{tool} odd.onnx: names a node that is supported")
    run("engine-build", "plain.onnx", "--no-tune", "-o", "plain.engine", code=0, errors=0)


def model_check():
    known = set(os.listdir(work))
    model = DIGITS / "digits.onnx"
    plain = run("engine-build", model, "--check", code=0, errors=0).stdout
    expect("supported; " in plain and ", 0 in int8" in plain and "f32        Conv" in plain and "stem.conv" in plain, f"engine-build --check: {plain[:400]}")
    quantised = run("engine-build", model, "--check", "--int8", "--float-layer", "stem.conv", code=0, errors=0).stdout
    expect("ranges are assumed" in quantised and "int8       Conv" in quantised and "kept in f32: asked for by --float-layer" in quantised, f"engine-build --check --int8: {quantised[:600]}")
    trained = run("engine-build", DIGITS / "digits_qdq.onnx", "--check", code=0, errors=0).stdout
    expect("the model's own Q/DQ" in trained and "int8       Conv" in trained, f"engine-build --check of a model with Q/DQ: {trained[:400]}")
    # The same layers are int8 as in a build with data.
    run("engine-build", model, "--check", "--int8", "--json", "check.json", code=0, errors=0)
    report = keys(work / "check.json", "supported", "model_hash", "int8_ranges", "inputs", "outputs", "summary.layers", "summary.int8_layers", "summary.reference_layers", "layers")
    run("engine-build", model, "--int8", *CALIB, "--no-tune", "-o", "c.engine", "--report", "c.json", code=0, errors=0)
    built = json.loads((work / "c.json").read_text())
    chosen = {layer["name"]: (layer["precision"], layer["tactic"]) for layer in report.get("layers", [])}
    made = {layer["name"]: (layer["precision"], layer["tactic"]) for layer in built["layers"] if layer["precision"] != "none"}
    expect(chosen == made, f"engine-build --check --int8: other layers than the build: {sorted(set(chosen.items()) ^ set(made.items()))[:4]}")
    (work / "odd.onnx").write_bytes(onnx_model(["Relu", "NoSuchThing", "Relu", "StringNormalizer", "AlsoNot"]))
    done = run("engine-build", "odd.onnx", "--check", "--json", "-", code=3)
    report = keys(done.stdout, "supported", "status", "problems")
    expect(report.get("supported") is False and len(report.get("problems", [])) == 3 and "NoSuchThing" in report["problems"][0], f"engine-build --check: {done.stdout[:300]}")
    expect("3 of 5 nodes" in done.stderr and "node4" in done.stderr, f"engine-build --check: does not list what is unsupported: {done.stderr[:300]}")
    (work / "cut.onnx").write_bytes(model.read_bytes()[:5000])
    run("engine-build", "cut.onnx", "--check", code=1, errors=1)
    run("engine-build", "none.onnx", "--check", code=1, errors=1)
    note = run("engine-build", model, *CALIB, "--no-tune", "-o", "c.engine", code=0).stderr
    expect("note: --calib without --int8" in note, f"engine-build --calib without --int8: says nothing: {note}")
    for name in ("check.json", "c.engine", "c.json", "odd.onnx", "cut.onnx"):
        (work / name).unlink()
    expect(leftovers(known) == [], f"engine-build --check leaves {leftovers(known)}")


def keys(path, *wanted):
    text = path.read_text() if isinstance(path, Path) else path
    try:
        data = json.loads(text)
    except ValueError as error:
        problems.append(f"{path}: not JSON: {error}")
        return {}
    documented = (SOURCE / "docs/report.md").read_text()
    for key in wanted:
        value = data
        for part in key.split("."):
            value = value.get(part, ...) if isinstance(value, dict) else ...
        expect(value is not ..., f"{path if isinstance(path, Path) else 'standard output'}: no key '{key}'")
        expect(f"`{key.split('.')[-1]}`" in documented, f"docs/report.md: does not explain `{key.split('.')[-1]}`")
    return data


def json_files():
    run("engine-build", DIGITS / "digits.onnx", "--int8", *CALIB, "--no-tune", "-o", "j.engine", "--json", "build.json", "--report", "report.json", code=0, errors=0)
    keys(work / "build.json", "engine", "engine_bytes", "seconds", "summary", "memory", "warnings")
    report = keys(work / "report.json", "ingot", "model_hash", "device.name", "device.fingerprint", "device.threads", "summary.layers", "summary.int8_layers",
                  "summary.reformats", "summary.expected_microseconds", "memory.arena_bytes", "memory.peak_live_bytes", "memory.weight_bytes",
                  "calibration.method", "calibration.samples", "calibration.tensors", "verified.steps", "verified.exact_steps",
                  "verified.largest_float_error", "layers")
    seen = set().union(*report.get("layers", [{}]))
    for key in ("name", "op", "precision", "tactic", "layout", "microseconds", "from", "inputs", "outputs"):
        expect(key in seen, f"report.json: no layer has '{key}'")
    documented = (SOURCE / "docs/report.md").read_text()
    for key in seen:
        expect(f"`{key}`" in documented, f"docs/report.md: does not explain `{key}`")
    run("engine-run", engine, "--seconds", "0.1", "--profile", "--json", "run.json", code=0, errors=0)
    keys(work / "run.json", "latency_ms.median", "latency_ms.p99", "throughput_per_s", "threads", "batch", "runs", "arena_bytes", "weight_bytes", "peak_resident_bytes", "profile")
    check = ["--reference", DIGITS / "digits.onnx", "--data", DIGITS / "test", "--preprocess", DIGITS / "preprocess.txt", "--samples", "20", "--seconds", "0"]
    run("engine-check", engine, *check, "--labels", DIGITS / "test/labels.txt", "--json", "check.json", code=0, errors=0)
    keys(work / "check.json", "samples", "threads", "accuracy.reference", "accuracy.engine", "top5", "cosine", "snr_db", "outputs", "latency_ms.engine",
         "latency_ms_detail", "file_bytes", "memory_bytes", "passed")
    done = run("engine-check", engine, *check, "--min-cosine", "1", "--json", "broken.json", code=1, errors=1)
    expect(keys(work / "broken.json", "passed").get("passed") is False, f"engine-check: a broken contract passed: {done.stderr}")
    run("engine-check", engine, *check, "--min-cosine", "nan", code=2, errors=1)
    run("engine-build", DIGITS / "digits.onnx", "--no-tune", "-o", "two.engine", "--report", "two.engine", code=2, errors=1)
    expect(not (work / "two.engine").exists(), "engine-build: wrote two outputs into one file")
    run("engine-check", "--table", "check.json", code=0, errors=0)
    run("engine-inspect", engine, "--all", "--json", "inspect.json", code=0, errors=0)
    keys(work / "inspect.json", "target", "targets", "model_hash", "arena_bytes", "weight_bytes", "report")
    gpu_plans()


def gpu_plans():
    """A file with a GPU's plan where there is no GPU: all tools work, and say in one line why the CPU's plan runs."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # hides a device that is there
    args = ["engine-build", DIGITS / "digits.onnx", "--int8", *CALIB, "--no-tune", "--no-verify", "--targets", "cuda-sm_80", "-o", "gpu.engine"]
    done = run(*args)
    if "this build has no CUDA backend" in done.stderr:
        return
    expect(done.returncode == 0, f"engine-build --targets: {done.stderr}")
    for tool, *rest in (("engine-inspect", "--json", "gpu.json"), ("engine-run", "--seconds", "0.05"),
                        ("engine-check", "--reference", DIGITS / "digits.onnx", "--data", DIGITS / "test", "--preprocess", DIGITS / "preprocess.txt")):
        done = run(tool, "gpu.engine", *rest, code=0)
        expect(re.fullmatch(f"{tool}: note: on the CPU \\(cpu-[^)]*\\), .*\n", done.stderr), f"{tool}: says nothing of the GPU's plan: {done.stderr}")
        if tool == "engine-run":
            expect(done.stdout.startswith("target cpu-"), f"engine-run: names no plan: {done.stdout}")
    expect(keys(work / "gpu.json", "targets").get("targets") == ["cpu-x86-64", "cuda-sm_80"], "engine-inspect: does not list all targets")
    run("engine-run", "gpu.engine", "--backend", "cuda", code=3, errors=1)
    run("engine-run", "gpu.engine", "--backend", "cpu", "--seconds", "0.05", code=0, errors=0)


def several_profiles():
    pair = ["--profile", "image=1x1x20x20", "--profile", "image=2x1x20x20:4x1x20x20:8x1x20x20"]
    run("engine-build", DIGITS / "digits.onnx", *pair, "--no-tune", "-o", "pair.engine", "--report", "pair.json", code=0, errors=0)
    ranges = [profile["inputs"]["image"] for profile in json.loads((work / "pair.json").read_text())["profiles"]]
    expect(ranges == ["1x1x20x20:1x1x20x20:1x1x20x20", "2x1x20x20:4x1x20x20:8x1x20x20"], f"engine-build --profile twice: the report has {ranges}")
    shown = run("engine-inspect", "pair.engine", "--json", "pair_inspect.json", code=0, errors=0).stdout
    expect("profile 2: image=2x1x20x20:4x1x20x20:8x1x20x20" in shown, f"engine-inspect: does not list profiles: {shown[:400]}")
    expect(len(json.loads((work / "pair_inspect.json").read_text())["profiles"]) == 2, "engine-inspect --json: does not list profiles")
    for batch in (1, 5, 8):
        run("engine-run", "pair.engine", "--bench", "--seconds", "0.05", "--shape", f"image={batch}x1x20x20", code=0, errors=0)
    outside = run("engine-run", "pair.engine", "--bench", "--seconds", "0.05", "--shape", "image=9x1x20x20", code=1, errors=1).stderr
    expect("input 'image' dim 0 (batch): got 9, need 2…8" in outside, f"engine-run outside of all profiles: {outside}")
    refused = run("engine-build", DIGITS / "digits.onnx", *pair, "--targets", "cuda-sm_80", "-o", "never.engine", code=3, errors=1).stderr
    expect("several profiles" in refused, f"engine-build: several profiles for a GPU: {refused}")
    run("engine-check", "pair.engine", "--reference", DIGITS / "digits.onnx", "--data", DIGITS / "calib", "--preprocess", DIGITS / "preprocess.txt", "--samples", "20", "--seconds", "0.05", code=0, errors=0)


def interrupts():
    # A sparse file of zeros: a million samples, so that calibration is surely still running.
    with open(work / "endless.raw", "wb") as file:
        file.truncate(400 * 4 * 1_000_000)
    known = set(os.listdir(work))
    endless = ["--int8", "--calib", "endless.raw", "--raw-shape", "1x1x20x20"]
    normal = ["--int8", *map(str, CALIB)]
    cases = [(endless, 1.0, True)] + [(normal, delay, False) for delay in (0.1, 0.3, 0.6, 1.0, 1.5)]
    for flags, delay, must_stop in cases:
        process = subprocess.Popen([BIN / "engine-build", DIGITS / "digits.onnx", *flags, "-o", "stop.engine", "--report", "stop.json"], cwd=work,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            problems.append(f"engine-build: Ctrl-C after {delay} s does not end it")
            continue
        if process.returncode == 0 and not must_stop:  # it was faster
            expect(leftovers(known) == ["stop.engine", "stop.json"], f"engine-build: finished before Ctrl-C, but wrote {leftovers(known)}")
        else:
            # Before the handler is in place the signal itself ends the program.
            expect(process.returncode == 130 or (process.returncode == -signal.SIGINT and delay < 0.5),
                   f"engine-build: Ctrl-C after {delay} s: exit status: got {process.returncode}, need 130: {errors[:200]}")
            expect(leftovers(known) == [], f"engine-build: Ctrl-C after {delay} s leaves {leftovers(known)}")
            expect(errors.count("\n") <= 1, f"engine-build: Ctrl-C after {delay} s: more than one line: {errors[:300]}")
        for name in leftovers(known):
            (work / name).unlink()
    # Part of a dump is no dump.
    process = subprocess.Popen([BIN / "engine-build", DIGITS / "digits.onnx", *endless, "-o", "stop.engine", "--dump-graphs", "dumps"], cwd=work,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        time.sleep(0.05)
        if (work / "dumps").is_dir() and len(os.listdir(work / "dumps")) > 5:
            break
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    expect(process.wait(timeout=60) == 130, f"engine-build: Ctrl-C while calibrating: exit status: got {process.returncode}, need 130")
    expect(leftovers(known) == [], f"engine-build --dump-graphs: Ctrl-C leaves {leftovers(known)}")
    (work / "endless.raw").unlink()


def unwritable():
    plain = ["plain.onnx", "--no-tune"]
    (work / "folder").mkdir()
    known = set(os.listdir(work))
    for path in ("no/such/folder/x.engine", "folder", "plain.onnx/x.engine", "/proc/x.engine"):
        run("engine-build", *plain, "-o", path, code=1, errors=1)
        run("engine-build", *plain, "-o", "x.engine", "--report", path, code=1, errors=1)
        run("engine-build", *plain, "-o", "x.engine", "--json", path, code=1, errors=1)
        run("engine-inspect", engine, "--json", path, code=1, errors=1)
        expect(leftovers(known) == [], f"engine-build to '{path}' leaves {leftovers(known)}")
    # A device is written to and stays a device.
    for option in ("-o", "--report", "--json"):
        run("engine-build", *plain, *([] if option == "-o" else ["-o", "x.engine"]), option, "/dev/full", code=1, errors=1)
        expect(leftovers(known) == [], f"engine-build {option} /dev/full leaves {leftovers(known)}")
    run("engine-build", *plain, "-o", "/dev/null", code=0, errors=0)
    expect(Path("/dev/full").is_char_device() and Path("/dev/null").is_char_device(), "engine-build replaced a device by a file")
    # A limit on file sizes fails writes in the middle, as a full disk does.
    run("engine-build", DIGITS / "digits.onnx", "--int8", *CALIB, "--no-tune", "-o", "x.engine", "--report", "x.json", code=1, errors=1, limit=40_000)
    expect(leftovers(known) == [], f"engine-build on a full disk leaves {leftovers(known)}")
    old = engine.read_bytes()
    run("engine-build", DIGITS / "digits.onnx", "--no-tune", "-o", engine, code=1, errors=1, limit=40_000)
    expect(engine.read_bytes() == old, "engine-build on a full disk damaged the engine that was there")
    for tool, args in (("engine-inspect", [engine]), ("engine-run", [engine, "--seconds", "0.1"]), ("engine-check", ["--table", "check.json"])):
        with open("/dev/full", "w") as full:
            run(tool, *args, code=1, errors=1, stdout=full)


CALIB = ["--calib", DIGITS / "calib", "--preprocess", DIGITS / "preprocess.txt", "--calib-samples", "50"]
with tempfile.TemporaryDirectory(prefix="ingot-check-") as folder:
    work = Path(folder)
    engine = work / "digits.engine"
    (work / "plain.onnx").write_bytes(onnx_model(["Relu", "Sigmoid"]))
    done = run("engine-build", DIGITS / "digits.onnx", "--int8", *CALIB, "--no-tune", "-o", engine, code=0, errors=0)
    expect(done.stdout.count("\n") == 1 and "\r" not in done.stdout, f"engine-build in a pipe: need one line: got {done.stdout[:300]!r}")
    for part in (help_and_usage, wrong_inputs, special_files, unsupported, model_check, json_files, several_profiles, interrupts, unwritable):
        part()
for problem in problems:
    print(f"check_tools: {problem}", file=sys.stderr)
print(f"check_tools: {'ok' if not problems else f'{len(problems)} findings'}")
sys.exit(1 if problems else 0)
