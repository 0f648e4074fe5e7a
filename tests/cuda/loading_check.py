#!/usr/bin/env python3
"""Which plan of an engine file is taken on which machine, and what the tools say: the stand-in as several GPUs, as none, as an old driver, and no driver.

    loading_check.py BIN_DIR STAND_IN_DIR SOURCE_DIR
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BIN, STAND_IN, SOURCE = (Path(argument).resolve() for argument in sys.argv[1:])
problems = []


def run(tool, *arguments, driver=STAND_IN, nvrtc=None, **knobs):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FAKE_CUDA_")}
    environment["LD_LIBRARY_PATH"] = str(driver)
    if nvrtc:
        environment["INGOT_NVRTC"] = str(nvrtc)
    environment.update({f"FAKE_CUDA_{k}": str(v) for k, v in knobs.items()})
    return subprocess.run([BIN / tool, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=120)


def expect(what, engine, plan, words="", **knobs):
    """Inspecting `engine` takes `plan`, and says `words` in its one line of remarks; asked for the GPU, it says the same as an error."""
    done = run("engine-inspect", engine, **knobs)
    lines = done.stderr.splitlines()
    if done.returncode != 0 or not done.stdout.startswith(f"target {plan},"):
        problems.append(f"{what}: got status {done.returncode} and '{done.stdout[:40]}', need target {plan}")
    if len(lines) != (1 if words else 0) or (words and words not in lines[0]):
        problems.append(f"{what}: got {lines}, need {'one line with ' + repr(words) if words else 'no line'}")
    if not words:
        return
    done = run("engine-run", engine, "--bench", "--seconds", "0.001", "--backend", "cuda", **knobs)
    lines = done.stderr.splitlines()
    if done.returncode != 3 or len(lines) != 1 or not lines[0].startswith("engine-run: error: ") or words not in lines[0]:
        problems.append(f"{what}, --backend cuda: got status {done.returncode} and {lines}, need 3 and one line with '{words}'")
    done = run("engine-run", engine, "--bench", "--seconds", "0.001", **knobs)
    if done.returncode != 0 or f"target {plan}" not in done.stdout:
        problems.append(f"{what}, engine-run: got status {done.returncode} and '{done.stdout[:60]}', need target {plan}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        digits = SOURCE / "models/digits"
        files = {"two": "cuda-sm_80,cuda-sm_89", "newest": "cuda-sm_90"}
        for name, targets in files.items():
            done = run("engine-build", digits / "digits.onnx", "--int8", "--calib", digits / "calib", "--preprocess", digits / "preprocess.txt", "--no-tune",
                       "--no-verify", "--targets", targets, "-o", folder / f"{name}.engine", driver=folder)
            if done.returncode != 0:
                sys.exit(f"loading_check: engine-build: {done.stderr}")
        two, newest = folder / "two.engine", folder / "newest.engine"
        for arch, plan in ((80, 80), (86, 80), (89, 89), (90, 89)):
            expect(f"sm_{arch}", two, f"cuda-sm_{plan}", ARCH=arch)
        expect("sm_90 with its own plan", newest, "cuda-sm_90", ARCH=90)
        expect("a GPU older than the plan", newest, "cpu-x86-64", "CUDA plans are for newer GPUs", ARCH=89)
        expect("a GPU without a plan for any", two, "cpu-x86-64", "need ≥ 8.0", ARCH=75)
        expect("no device", two, "cpu-x86-64", "CUDA_ERROR_NO_DEVICE", DEVICES=0)
        expect("an old driver", two, "cpu-x86-64", "the CUDA driver is too old: got one of CUDA 12.4, need 13.0", VERSION=12040)
        expect("no driver", two, "cpu-x86-64", "no CUDA driver", driver=folder)
        # A driver so old that functions are missing.
        subprocess.run(["c++", "-shared", "-x", "c++", "/dev/null", "-o", folder / "libcuda.so.1"], check=True)
        expect("a driver without functions", two, "cpu-x86-64", "the CUDA driver is too old: it has no cuInit", driver=folder)
        # Without a compiler of kernels the plan is made all the same, and one line says what is missing from it.
        done = run("engine-build", digits / "digits.onnx", "--no-tune", "--no-verify", "--targets", "cuda-sm_80", "-o", folder / "plain.engine", nvrtc=folder / "none.so")
        lines = [line for line in done.stderr.splitlines() if "not fused" in line]
        if done.returncode != 0 or len(lines) != 1 or "INGOT_NVRTC" not in lines[0]:
            problems.append(f"no compiler of kernels: got status {done.returncode} and {done.stderr.splitlines()}, need 0 and one line with INGOT_NVRTC")
        expect("a plan made without that compiler", folder / "plain.engine", "cuda-sm_80", ARCH=80)
        # Too little memory is no reason to take another plan: the caller is told.
        done = run("engine-run", two, "--bench", "--seconds", "0.001", MEMORY=1000)
        lines = done.stderr.splitlines()
        if done.returncode == 0 or len(lines) != 1 or "CUDA_ERROR_OUT_OF_MEMORY" not in lines[0]:
            problems.append(f"no device memory: got status {done.returncode} and {lines}, need one line with CUDA_ERROR_OUT_OF_MEMORY")
    for problem in problems:
        print(f"loading_check: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
