#!/usr/bin/env bash
# What the README shows works: its C program builds and runs, its scene is simulated.
#   test_readme.sh PROGRAM BUILD
set -uo pipefail
program=$(realpath "$1")
build=$(realpath "$2")
cd "$(dirname "$0")/.." || exit 1
source tests/support/checks.sh

# block LANGUAGE: the first fenced block of that language
block() {
  awk -v fence="\`\`\`$1" \
    '$0 == fence {inside = 1; next} /^```/ {if (inside) exit} inside' README.md
}

# cached NAME: a variable of the build
cached() {
  sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

block c >"$folder/program.c"
block json >"$folder/drop.json"
flags=(-std=c17 -Wall -Wextra -Wpedantic -Werror -Iinclude)
[ "$(cached CAROM_SANITIZE)" = ON ] && flags+=("-fsanitize=address,undefined")
check "the C program builds" "$(cached CMAKE_C_COMPILER)" "${flags[@]}" "$folder/program.c" \
  -L"$build" -lcarom -Wl,-rpath,"$build" -o "$folder/program"
check "the C program runs" "$folder/program"
check "the scene is simulated" "$program" simulate "$folder/drop.json" --sample 10 --quiet

finish
