#!/usr/bin/env bash
# The runtime stays lean: a program that links it alone needs neither protobuf nor the builder, and is small; and objects
# compiled for one instruction set hold nothing that the linker might put in place of plain code elsewhere.
#   check_lean_runtime.sh HELLO_ENGINE LIBINGOT_RUNTIME [release]     `release`: also the size, and the objects
set -euo pipefail
hello=$1 library=$2 kind=${3:-}
limit=5000000
failed=0
bad() { echo "check_lean_runtime: $*" >&2; failed=1; }

needed=$(readelf -d "$hello" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -n "$needed" ] || bad "'$hello' names no shared library: got a static program, need a dynamic one to judge"
for shared in $needed; do
  case $shared in
    libc.so.* | libm.so.* | libstdc++.so.* | libgcc_s.so.* | ld-linux-x86-64.so.* | libpthread.so.*) ;;
    libasan.so.* | libubsan.so.* | libtsan.so.*) ;;
    *) bad "it needs $shared: got a library beyond C++'s own" ;;
  esac
done

symbols=$(nm -C "$hello")
grep -q 'ingot::Engine::load_file' <<<"$symbols" || bad "'$hello' has no symbols of the runtime: is it stripped?"
for foreign in 'google::protobuf' 'onnx::' 'ingot::build(' 'ingot::Graph' 'ingot::calibrate' 'ingot::CalibrationTable' 'nlohmann::' 'CLI::'; do
  if found=$(grep -F -m1 -- "$foreign" <<<"$symbols"); then bad "it holds $foreign: ${found:0:120}"; fi
done

if [ "$kind" = release ]; then
  stripped=$(mktemp)
  trap 'rm -f "$stripped"' EXIT
  strip -o "$stripped" "$hello"
  bytes=$(stat -c %s "$stripped")
  # GPU kernels are data, there only in builds with nvcc: each image lies between ingot_cuda_<name> and ingot_cuda_<name>_end.
  images=$(nm "$hello" | python3 -c '
import sys
at = {f[2]: int(f[0], 16) for f in map(str.split, sys.stdin) if len(f) == 3 and f[2].startswith("ingot_cuda_")}
print(sum(at[n + "_end"] - at[n] for n in at if n + "_end" in at))')
  echo "check_lean_runtime: hello_engine stripped has $bytes bytes, $images of them GPU kernels"
  bytes=$((bytes - images))
  [ "$bytes" -lt "$limit" ] || bad "hello_engine is too large: got $bytes bytes stripped, need less than $limit"
  # nm prints "archive:member:address type name"; weak (W, V) and unique (u) symbols are merged across objects.
  objects=$(nm -A -C --defined-only "$library" 2>/dev/null | grep -E '_(avx2|avxvnni|avx512|avx512vnni)\.cpp\.o:') || bad "'$library' has no objects of an instruction set to look into"
  merged=$(grep -E ':[0-9a-f]+ [WVu] ' <<<"$objects" || true)
  [ -z "$merged" ] || bad "inline code in objects of one instruction set, give it internal linkage:"$'\n'"$(head -n 5 <<<"$merged")"
fi
[ $failed = 0 ] && echo "check_lean_runtime: ok"
exit $failed
