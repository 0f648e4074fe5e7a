# step "what it does" COMMAND…: says what it does, keeps the output in a log, and on failure shows one line and the log's end.
# Sourced by scripts/demo and scripts/test.
steps_log=build/logs
mkdir -p "$steps_log"
step() {
  local what=$1 name
  shift
  name=$steps_log/$(echo "$what" | tr -cs 'a-zA-Z0-9' '-' | cut -c1-40).log
  local start=$SECONDS
  printf '== %s ...' "$what"
  if "$@" >"$name" 2>&1; then
    printf ' done (%d s)\n' $((SECONDS - start))
  else
    local status=$?
    printf ' failed\n'
    tail -n 15 "$name" >&2
    echo "$0: failed while $what (exit $status); the whole output is in $name" >&2
    exit 1
  fi
}
