#!/usr/bin/env python3
"""What scripts/gpu-check does with figures, which only a GPU gives: results made up here become the page's section, and odd ones do no harm.

    gpu_check_test.py SOURCE_DIR
"""
import importlib.machinery
import importlib.util
import sys
import tempfile
from pathlib import Path

SOURCE = Path(sys.argv[1]).resolve()
loader = importlib.machinery.SourceFileLoader("gpu_check", str(SOURCE / "scripts/gpu-check"))
gpu_check = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
loader.exec_module(gpu_check)

RESULTS = {
    "date": "2030-01-02", "stand_in": False,
    "device": {"name": "Some GPU", "driver_cuda": 13000, "driver_version": "580.1"},
    "steps": {"device": "passed", "corpus": "passed", "sanitizer": "skipped: compute-sanitizer is not installed", "timing": "passed", "models": "failed: x"},
    "values": {"corpus.comparisons": 683, "corpus.tactics": 41},
    "timing": [{"problem": "conv a", "name": "", "tactic": "slow", "us": 20.0, "multiply_adds": 4e6}, {"problem": "conv a", "name": "", "tactic": "fast", "us": 10.0, "multiply_adds": 4e6},
               {"problem": "copy b", "name": "named", "tactic": "cuda.copy", "us": 1.5}],
    "models": [{"model": "resnet50_int8", "batch": 8, "median_ms": 1.25, "p99_ms": 1.5, "per_second": 6400.0}],
}


def main():
    problems = []
    text = gpu_check.measured_text(RESULTS)
    for wanted in ("Some GPU, 2030-01-02 (driver 580.1)", "| sanitizer | skipped", "683 comparisons of 41 tactics", "| resnet50_int8 | 8 | 1.250 | 1.500 | 6400 |",
                   "| conv a | fast | 10.0 | 400 |", "| named | cuda.copy | 1.5 |  |"):
        if wanted not in text:
            problems.append(f"measured_text: got no '{wanted}' in:\n{text}")
    if "slow" in text:
        problems.append("measured_text: a problem's slower tactic is listed")
    empty = {**RESULTS, "device": {"name": "G", "driver_cuda": 13000}, "values": {}, "timing": [], "models": []}
    if "G, 2030" not in gpu_check.measured_text(empty):
        problems.append("measured_text: results of the first step alone are not taken")
    # The page keeps all but its last section.
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "docs/gpu.md"
        page.parent.mkdir()
        page.write_text("# A\n\nb\n\n## Measured\n\nold\n")
        check = gpu_check.Check.__new__(gpu_check.Check)
        check.results = RESULTS
        gpu_check.ROOT, root = Path(folder), gpu_check.ROOT
        check.update_docs()
        gpu_check.ROOT = root
        written = page.read_text()
        if not written.startswith("# A\n\nb\n\n## Measured\n\nMeasured on Some GPU") or "old" in written:
            problems.append(f"update_docs: got\n{written}")
    if sum(gpu_check.LIMITS.values()) >= 480:
        problems.append(f"steps: got {sum(gpu_check.LIMITS.values())} s together, need less than 480")
    for problem in problems:
        print(f"gpu_check_test: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
