#!/usr/bin/env python3
"""Writes C++ that defines every driver function which the stand-in does not have: each returns CUDA_ERROR_NOT_SUPPORTED.

    write_missing_functions.py STUB_LIBCUDA OUT.cpp SOURCES...
"""
import re
import subprocess
import sys

stub, out, *sources = sys.argv[1:]
have = set()
for source in sources:
    have.update(re.findall(r"FAKE_CUDA_API \w+ (cu\w+)\(", open(source, encoding="utf-8").read()))
lines = subprocess.run(["nm", "-D", "--defined-only", stub], capture_output=True, text=True, check=True).stdout.splitlines()
names = sorted({line.split()[2].split("@")[0] for line in lines if len(line.split()) == 3 and line.split()[1] == "T"})
with open(out, "w", encoding="utf-8") as file:
    file.write("// Made by write_missing_functions.py.\n")
    for name in names:
        if re.fullmatch(r"cu[A-Z]\w*", name) and name not in have:
            file.write(f'extern "C" __attribute__((visibility("default"))) int {name}() {{ return 801; }}\n')
