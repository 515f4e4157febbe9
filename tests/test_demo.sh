#!/usr/bin/env bash
# `make demo` in short: one epoch, twice into the same folder.
#   test_demo.sh PROGRAM BUILD
set -uo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# check NAME COMMAND...: one check
check() {
  local name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED $name"
    cat "$work/log"
  fi
}

demo() { DEMO_EPOCHS=1 bash scripts/demo.sh "$program" "$work/demo" >"$work/log" 2>&1; }

check "the demo runs" demo
for line in '\$ carom train cp3' 'friction +[0-9.]+ +0\.5' '\$ carom evaluate' 'mass ratio'; do
  check "it shows '$line'" grep -qE "$line" "$work/log"
done
for file in config.json metrics.csv best.h5 evaluation.json evaluation.h5; do
  check "it writes $file" test -s "$work/demo/$file"
done

# a second one takes the place of the first and nothing else
echo kept >"$work/demo/notes.txt"
check "the demo runs again" demo
check "other files stay" test -s "$work/demo/notes.txt"
check "one event file" test "$(find "$work/demo" -name 'events.out.*' | wc -l)" -eq 1

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
