#!/usr/bin/env python3
"""Who may include whom. The runtime is the floor: it never sees the builder or the quantiser, and nothing flows back up.

    check_layers.py      exit status 1 if an include breaks a rule of the table below
"""
import fnmatch
import re

from source_tree import finish, source_files, text_of

# What a room may include with quotes (paths from src/, include/, tools/ or tests/), and which libraries with brackets.
# The standard library and POSIX are open to all but the rooms that say so in PLAIN.
ROOM_RULES = {
    "include/ingot": ("ingot/*", ""),
    "src/runtime/ops": ("ingot/status.h ingot/types.h ingot/kernel.h runtime/ops/*", ""),
    "src/runtime": ("ingot/status.h ingot/types.h ingot/kernel.h ingot/runtime.h runtime/*.h runtime/ops/*", ""),
    "src/runtime/format": ("ingot/status.h ingot/types.h runtime/plan.h runtime/format/*", "xxhash.h flatbuffers/*"),
    "src/runtime/cpu": ("ingot/status.h ingot/types.h ingot/kernel.h runtime/*.h runtime/ops/* runtime/cpu/*",
                        "immintrin.h cpuid.h"),
    "src/runtime/cuda": ("ingot/status.h ingot/types.h ingot/kernel.h runtime/*.h runtime/ops/* runtime/cuda/*", "cuda.h dlfcn.h"),
    "src/runtime/cuda/kernels": ("runtime/ops/exact_math.h runtime/cuda/*", "cuda_fp16.h cuda_bf16.h"),
    "src/quant": ("ingot/status.h ingot/types.h ingot/calibrator.h quant/* runtime/ops/quantize.h", ""),
    "src/builder/graph": ("ingot/status.h ingot/types.h ingot/kernel.h builder/graph/* runtime/ops/*", ""),
    "src/builder/onnx": ("ingot/* builder/graph/* builder/onnx/* runtime/ops/* onnx/*", "google/protobuf/* xxhash.h"),
    "src/builder/passes": ("ingot/* builder/graph/* builder/passes/* quant/* runtime/ops/*", ""),
    "src/builder/tune": ("ingot/* builder/graph/* builder/tune/* runtime/*.h runtime/ops/*", ""),
    "src/builder/plan": ("ingot/* builder/graph/* builder/tune/* builder/plan/* runtime/*.h runtime/ops/*", ""),
    "src/builder": ("ingot/* builder/* quant/* runtime/*.h runtime/ops/* runtime/format/*", "nlohmann/*"),
    "src/plugins": ("ingot/*", ""),
    "samples": ("ingot/*", ""),
    "tools": ("ingot/* cli.h latency.h model_check.h run_samples.h sample_options.h problem_*.h data/*", "CLI/* nlohmann/*"),
    "tools/data": ("ingot/* data/*", "zlib.h jpeglib.h jerror.h stb/*"),
    "bench": ("ingot/* runtime/*.h runtime/cpu/cpu_features.h problem_*.h cli.h run_samples.h sample_options.h", "CLI/* nlohmann/*"),
}

# What single files may include beyond their room, each for the reason given.
FILE_RULES = {
    "src/runtime/engine.cpp": "runtime/format/*",                     # the one door to the file format
    "src/runtime/tactic_registry.cpp": "runtime/cpu/tactics.inc runtime/cuda/tactics.inc",  # the lists of tactics
    "src/runtime/backends.cpp": "runtime/cuda/backend_cuda.h",        # the one list of backends
    "src/builder/kernel_compiler.cpp": "dlfcn.h",                     # NVRTC, found at run time
    "src/builder/graph/infer_outputs.cpp": "runtime/shape_pass.h",    # which ops may be shape arithmetic
    "src/builder/graph/graph_verifier.cpp": "runtime/shape_pass.h",
    "src/runtime/tactic.h": "runtime/cpu/cpu_features.h",             # DeviceInfo holds the instruction sets
    "src/runtime/cpu/*_onednn.*": "ingot/onednn.h oneapi/dnnl/* omp.h",  # an optional library
    "src/runtime/thread_pool.cpp": "immintrin.h",                     # the pause instruction
    "src/runtime/format/engine_file.cpp": "runtime/ops/half.h",       # weights stored in 16 bits
    "src/runtime/format/plan_codec.cpp": "plan_generated.h",
    "bench/import_scaling.cpp": "builder/* runtime/format/* scaling_models.h",  # times each stage by itself
    "bench/scaling_models.cpp": "builder/onnx/onnx_proto.h scaling_models.h",
    "tools/engine_inspect.cpp": "runtime/plan.h runtime/format/engine_file.h",
    "tools/engine_check.cpp": "runtime/plan.h",
    "tools/engine_run.cpp": "runtime/step_observer.h runtime/plan.h",
    "tools/problem_*": "runtime/*",                                   # for tests and benchmarks of tactics
}

# Never, whatever the tables above say.
FORBIDDEN = [
    ("include/ingot/{status,types,kernel,runtime,log,plugin}.h", "ingot/builder.h ingot/calibrator.h ingot/ingot.h"),
    ("src/runtime/*", "builder/* quant/*"),
    ("src/runtime/cpu/*", "runtime/engine.h runtime/loaded_engine.h runtime/execution_context.h runtime/plan.h"),
]

# Files compiled for one instruction set include intrinsics, plain headers and their own room only: an inline function of a
# larger header, compiled with these flags, could replace the plain copy of other objects at link time and crash older CPUs.
# (check_lean_runtime.sh looks into the objects for what gets through by way of the room's own headers.)
ISA_FILE = re.compile(r"_(avx2|avxvnni|avx512|avx512vnni)\.(cpp|h)$")
ISA_RULE = ("runtime/cpu/* runtime/ops/exact_math.h", "cstddef cstdint cstring cmath climits limits cfloat bit immintrin.h")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
STANDARD = re.compile(r"^[a-z_]+$|^(unistd|fcntl|malloc|sys/[a-z]+)\.h$")


def room_of(name):
    return name.rsplit("/", 1)[0]


def allowed(target, patterns):
    # '*' stops at a folder's border, except at a pattern's end: "builder/*" is all of the builder.
    for pattern in patterns.split():
        if pattern.endswith("/*") and target.startswith(pattern[:-1]):
            return True
        if fnmatch.fnmatch(target, pattern) and target.count("/") == pattern.count("/"):
            return True
    return False


def expand(pattern):
    match = re.search(r"\{([^}]*)\}", pattern)
    if not match:
        return [pattern]
    return [pattern[: match.start()] + part + pattern[match.end():] for part in match[1].split(",")]


def main():
    problems = []
    files = [f for f in source_files() if not f.startswith("tests/")]
    includes = {f: INCLUDE.findall(text_of(f)) for f in files}
    for file, lines in includes.items():
        rule = ROOM_RULES.get(room_of(file))
        if rule is None:
            problems.append(f"{file}: its room has no rule: got '{room_of(file)}', need a line in check_layers.py")
            continue
        extra = " ".join(more for pattern, more in FILE_RULES.items() if fnmatch.fnmatch(file, pattern))
        for bracket, target in lines:
            if ISA_FILE.search(file):
                fine = allowed(target, ISA_RULE[1] if bracket == "<" else ISA_RULE[0])
            elif bracket == "<":
                fine = STANDARD.match(target) or allowed(target, rule[1] + " " + extra)
            else:
                fine = allowed(target, rule[0] + " " + extra)
            for pattern, never in FORBIDDEN:
                if any(fnmatch.fnmatch(file, p) for p in expand(pattern)) and allowed(target, never):
                    fine = False
            if not fine:
                problems.append(f"{file}: may not include {bracket}{target}{'>' if bracket == '<' else bracket}")
    finish("check_layers", problems)


main()
