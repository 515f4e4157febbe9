#!/usr/bin/env bash
# What the README shows works: its C program builds and runs, its scene is simulated.
#   test_readme.sh PROGRAM BUILD
set -uo pipefail
program=$(realpath "$1")
build=$(realpath "$2")
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# check NAME COMMAND...: one check, whose output is shown if it fails
check() {
  local name=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED $name"
    cat "$work/log"
  fi
}

# block LANGUAGE: the first fenced block of that language
block() {
  awk -v fence="\`\`\`$1" \
    '$0 == fence {inside = 1; next} /^```/ {if (inside) exit} inside' README.md
}

# cached NAME: a variable of the build
cached() {
  sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

block c >"$work/program.c"
block json >"$work/drop.json"
flags=(-std=c17 -Wall -Wextra -Wpedantic -Werror -Iinclude)
[ "$(cached CAROM_SANITIZE)" = ON ] && flags+=("-fsanitize=address,undefined")
check "the C program builds" "$(cached CMAKE_C_COMPILER)" "${flags[@]}" "$work/program.c" \
  -L"$build" -lcarom -Wl,-rpath,"$build" -o "$work/program"
check "the C program runs" "$work/program"
check "the scene is simulated" "$program" simulate "$work/drop.json" --sample 10 --quiet

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
