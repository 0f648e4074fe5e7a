#!/usr/bin/env python3
"""House rules that a program can check: short files, speaking names, an opening comment, nothing from one machine.

    check_style.py       exit status 1 if a file breaks one
"""
import re

from source_tree import all_files, finish, text_of

MAX_LINES = 600
BANNED_WORDS = {"util", "utils", "helper", "helpers", "common", "misc", "manager"}
CODE = re.compile(r"(\.(h|cpp|inc|fbs|py|sh|cmake)$|CMakeLists\.txt$)")
# Absolute paths that exist on one machine only, and addresses of package mirrors.
MACHINE = re.compile(r"(?<![\w.~}/-])/(root|work|home|Users|mnt)/[\w.]|(?<![\w-])(localhost|\d+\.\d+\.\d+\.\d+):\d+")
SNAKE = re.compile(r"[a-z0-9_]+(\.[a-z0-9]+)*$")
BINARY = re.compile(r"\.(png|onnx|engine|bin|npy|npz|pb)$")


def is_script(name, text):
    return "." not in name.rsplit("/", 1)[-1] and text.startswith("#!")


def main():
    problems = []
    for name in all_files():
        if BINARY.search(name):
            continue
        text = text_of(name)
        lines = text.split("\n")
        base = name.rsplit("/", 1)[-1]
        code = CODE.search(name) or is_script(name, text)
        for number, line in enumerate(lines, 1):
            if MACHINE.search(line) and not name.endswith("check_style.py"):
                problems.append(f"{name}:{number}: names a place on one machine: {line.strip()[:80]}")
            if code and line.rstrip() != line:
                problems.append(f"{name}:{number}: blanks at the end of the line")
        if not code:
            continue
        if len(lines) - 1 > MAX_LINES:
            problems.append(f"{name}: too long: got {len(lines) - 1} lines, need at most {MAX_LINES}; split it")
        words = base.split(".")[0].split("_")
        if BANNED_WORDS & {words[0], words[-1]}:
            problems.append(f"{name}: the name says nothing: need none of util, helper, common, misc, manager")
        if not SNAKE.match(base) and base != "CMakeLists.txt" and name != "scripts/gpu-check":  # named as the tools are
            problems.append(f"{name}: names are snake_case: got '{base}'")
        start = lines[1] if lines[0].startswith("#!") else lines[0]
        if text.strip() and not re.match(r'(//|#|"""|\'\'\') ?\S', start):
            problems.append(f"{name}: opens without a comment: need 1 to 5 lines on what it is and the idea")
        if text and not text.endswith("\n"):
            problems.append(f"{name}: does not end with a line break")
        if name.endswith(".h") and "#pragma once" not in text:
            problems.append(f"{name}: no #pragma once")
    finish("check_style", problems)


main()
