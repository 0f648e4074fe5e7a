"""Which files the project consists of, for the checks in this folder."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("include", "src", "tools", "samples", "bench", "tests", "scripts", "cmake", "docs", "models")


def all_files():
    """Paths relative to the root, with forward slashes, sorted; nothing that a build or an editor leaves behind."""
    found = [p for p in ROOT.iterdir() if p.is_file()]
    for room in ROOMS + (".ci",):
        found += [p for p in (ROOT / room).rglob("*") if p.is_file()]
    names = sorted(p.relative_to(ROOT).as_posix() for p in found)
    return [n for n in names if "__pycache__" not in n and not re.search(r"(\.pyc|\.swp|~|^\.git|/\.DS_Store|compile_commands\.json|\.engine)$", n)
            or n.startswith("tests/data/")]


def source_files(suffixes=(".h", ".cpp", ".inc")):
    return [n for n in all_files() if n.endswith(suffixes)]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def finish(tool, problems):
    """Prints what is wrong, one finding a line, and ends the program."""
    for problem in problems:
        print(f"{tool}: {problem}", file=sys.stderr)
    print(f"{tool}: {'ok' if not problems else f'{len(problems)} findings'}")
    sys.exit(1 if problems else 0)
