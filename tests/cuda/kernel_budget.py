#!/usr/bin/env python3
"""Registers, shared memory and instructions of the built GPU kernels against the committed table; a kernel that grew fails.

    kernel_budget.py IMAGES_DIR NVCC [LAUNCHES] [--update]

LAUNCHES: what the corpus launched, which cuda_tests writes (tests/cuda_kernels.txt in the build folder): a kernel that it never launches fails.
Read from the images themselves (ELF: section .nv.info has registers, .nv.shared.<kernel> static shared memory; the same as cuobjdump
-res-usage prints) and from the PTX (block size; tensor-core, ldmatrix and cp.async instructions). Blocks per multiprocessor follow the occupancy rules of the CUDA
programming guide, with the most dynamic shared memory that a launch of the corpus asks for. Exit status: 77 where there is nothing to read, or the
table is another compiler's.
"""
import re
import struct
import subprocess
import sys
from pathlib import Path

TABLE = Path(__file__).with_name("kernel_budget.txt")
ROOT = TABLE.resolve().parent.parent.parent
# Per multiprocessor: registers, warps, blocks, bytes of shared memory (one KiB of it goes to each block besides what it asks for).
LIMITS = {80: (65536, 64, 32, 164 << 10), 86: (65536, 48, 16, 100 << 10), 89: (65536, 48, 24, 100 << 10), 90: (65536, 64, 32, 228 << 10)}
COUNTS = {"mma": r"^\s*(?:@!?%p\d+ )?(?:wmma\.)?mma\.", "ldmatrix": r"^\s*(?:@!?%p\d+ )?ldmatrix\.",
          "cp.async": r"^\s*(?:@!?%p\d+ )?cp\.async\.(?:ca|cg)\."}
HEADER = """# Budget of the GPU kernels, checked by tests/cuda/kernel_budget.py against what the compiler made; --update writes it anew.
# dynamic: the most bytes of dynamic shared memory that a launch of the tests' corpus asks for.
# registers, static shared memory and blocks per multiprocessor: for sm_{architectures}; the rest: instructions in the PTX.
"""


class Failure(Exception):
    pass


def sections(image):
    """(name, offset, size, linked section) of each section of a 64-bit ELF file."""
    if image[:5] != b"\x7fELF\x02":
        raise Failure("not a 64-bit ELF image")
    offset, = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    rows = [struct.unpack_from("<IIQQQQIIQQ", image, offset + i * size) for i in range(count)]
    text = rows[names][4]
    for row in rows:
        start = text + row[0]
        yield image[start:image.index(b"\0", start)].decode(), row[4], row[5], row[6]


def machine_code(path):
    """{kernel: (registers, static shared memory)}"""
    image = path.read_bytes()
    named = {name: (offset, size) for name, offset, size, _ in sections(image)}
    symbols, strings = named[".symtab"][0], named[".strtab"][0]
    registers = {}
    at, end = named[".nv.info"][0], sum(named[".nv.info"])
    while at < end:  # records: form, kind, size or value, data; kind 0x2f: symbol and its registers
        form, kind, size = struct.unpack_from("<BBH", image, at)
        if (form, kind) == (4, 0x2F):
            symbol, count = struct.unpack_from("<II", image, at + 4)
            start = strings + struct.unpack_from("<I", image, symbols + 24 * symbol)[0]
            registers[image[start:image.index(b"\0", start)].decode()] = count
        at += 4 + (size if form == 4 else 0)
    reserved = 1024 if path.suffix == ".90" else 0  # the section of sm_90 has the block's reserved KiB in it
    shared = {name[11:]: size - reserved for name, (_, size) in named.items() if name.startswith(".nv.shared.") and ".reserved" not in name}
    return {kernel: (count, shared.get(kernel, 0)) for kernel, count in registers.items()}


def ptx_kernels(path):
    """{kernel: (threads of a block, {instruction: count})}"""
    found = {}
    text = path.read_text()
    for part in re.split(r"^(?=\.visible \.entry )", text, flags=re.M)[1:]:
        name = re.match(r"\.visible \.entry (\w+)", part)[1]
        threads = re.search(r"^\.maxntid (\d+)(?:, *(\d+), *(\d+))?", part, flags=re.M)
        if not threads:
            raise Failure(f"{name}: no launch bounds: need __launch_bounds__")
        product = 1
        for number in threads.groups(default="1"):
            product *= int(number)
        found[name] = (product, {what: len(re.findall(pattern, part, flags=re.M)) for what, pattern in COUNTS.items()})
    return found


def blocks(architecture, threads, registers, shared):
    registers_there, warps_there, blocks_there, shared_there = LIMITS[architecture]
    warps = (threads + 31) // 32
    each = (registers * 32 + 255) // 256 * 256  # registers come in units of 256 a warp, and warps on four partitions
    by_registers = registers_there // 4 // each * 4 // warps
    by_shared = shared_there // (shared + 1024)
    return min(blocks_there, warps_there // warps, by_registers, by_shared)


def launches(path):
    """{kernel: (threads, dynamic shared memory) of its largest launch}, as cuda_tests wrote it down; empty without it."""
    if not path or not path.exists():
        return {}
    rows = (line.split() for line in path.read_text().splitlines())
    return {name: (int(threads), int(dynamic)) for name, _, threads, dynamic in rows}


def measure(folder, dynamic):
    table = {}
    for ptx in sorted(folder.glob("*.0")):
        code = {architecture: machine_code(ptx.with_suffix(f".{architecture}")) for architecture in LIMITS}
        for kernel, (threads, counts) in ptx_kernels(ptx).items():
            used = [code[architecture][kernel] for architecture in LIMITS]
            extra = dynamic.get(kernel, 0)
            table[kernel] = {"registers": [u[0] for u in used], "static": [u[1] for u in used], "dynamic": extra,
                             "blocks": [blocks(a, threads, r, s + extra) for a, (r, s) in zip(LIMITS, used)], "threads": threads, **counts}
    return table


COLUMNS = ["threads", "registers", "static", "dynamic", "blocks", *COUNTS]


def written(table, compiler):
    cells = [["kernel", *COLUMNS]]
    for kernel, row in sorted(table.items()):
        cells.append([kernel, *("/".join(map(str, row[c])) if isinstance(row[c], list) else str(row[c]) for c in COLUMNS)])
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells]
    return HEADER.format(architectures="/".join(map(str, LIMITS))) + f"compiler {compiler}\n" + "\n".join(lines) + "\n"


def read_table():
    compiler, table = "", {}
    if not TABLE.exists():
        return compiler, table
    for line in TABLE.read_text().splitlines():
        words = line.split()
        if not words or words[0] in ("#", "kernel"):
            continue
        if words[0] == "compiler":
            compiler = words[1]
            continue
        table[words[0]] = {c: [int(n) for n in w.split("/")] if c in ("registers", "static", "blocks") else int(w) for c, w in zip(COLUMNS, words[1:])}
    return compiler, table


def compare(kernel, allowed, now):
    for column in ("registers", "static"):
        for architecture, most, got in zip(LIMITS, allowed[column], now[column]):
            if got > most:
                yield f"{kernel}: {column} on sm_{architecture}: got {got}, need at most {most}"
    for architecture, least, got in zip(LIMITS, allowed["blocks"], now["blocks"]):
        if got < least:
            yield f"{kernel}: blocks per multiprocessor on sm_{architecture}: got {got}, need at least {least}"
    if now["dynamic"] > allowed["dynamic"]:
        yield f"{kernel}: dynamic shared memory: got {now['dynamic']}, need at most {allowed['dynamic']}"
    for column in ("threads", *COUNTS):
        if now[column] != allowed[column]:
            yield f"{kernel}: {column}: got {now[column]}, need {allowed[column]}"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    if len(arguments) not in (2, 3):
        print(__doc__)
        return 2
    folder, nvcc = Path(arguments[0]), arguments[1]
    if not list(folder.glob("*.0")):
        print(f"kernel_budget: skipped: no kernels in {folder}: this build is without nvcc")
        return 77
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    compiler = re.search(r"V(\d+\.\d+\.\d+)", said)[1]
    committed, allowed = read_table()
    dynamic = {kernel: row["dynamic"] for kernel, row in allowed.items()}
    launched = launches(Path(arguments[2]) if len(arguments) > 2 else None)
    problems = []
    dynamic.update({kernel: most for kernel, (_, most) in launched.items()})
    table = measure(folder, dynamic)
    if "--update" in sys.argv:
        TABLE.write_text(written(table, compiler))
        print(f"kernel_budget: wrote {len(table)} kernels to {TABLE}")
        return 0
    if committed != compiler:
        print(f"kernel_budget: skipped: the table is of nvcc {committed}, this is {compiler}")
        return 77
    for kernel in sorted(allowed.keys() | table.keys()):
        if kernel not in table:
            problems.append(f"{kernel}: is in the table, but not built")
        elif kernel not in allowed:
            problems.append(f"{kernel}: is not in the table")
        else:
            problems += compare(kernel, allowed[kernel], table[kernel])
            if launched and kernel not in launched:
                problems.append(f"{kernel}: no problem of the corpus launches it")
            elif launched and launched[kernel][0] > table[kernel]["threads"]:
                problems.append(f"{kernel}: threads of a launch: got {launched[kernel][0]}, need at most {table[kernel]['threads']}")
            if min(table[kernel]["blocks"]) < 1:
                problems.append(f"{kernel}: does not fit a multiprocessor: got {table[kernel]['blocks']} blocks, need at least 1")
    for problem in problems:
        print(f"kernel_budget: {problem}")
    if problems:
        print("kernel_budget: if this is meant, run tests/cuda/kernel_budget.py with the same arguments and --update")
        return 1
    print(f"kernel_budget: {len(table)} kernels within the budget")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as error:
        sys.exit(f"kernel_budget: {error}")
