#!/usr/bin/env bash
# `make demo` in short: one epoch of a few chunks, twice into the same folder.
#   test_demo.sh PROGRAM BUILD
set -uo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 1
source tests/support/checks.sh

small="--train 60 --val 10 --test 10 --hidden 32"
demo() { DEMO_EPOCHS=1 DEMO_OPTIONS=$small bash scripts/demo.sh "$program" "$folder/demo" 2>&1 | tee "$folder/demo.log"; }

check "the demo runs" demo
for line in '\$ carom train cp3' 'friction +[0-9.]+ +0\.5' '\$ carom evaluate' 'mass ratio'; do
  check "it shows '$line'" grep -qE "$line" "$folder/demo.log"
done
for file in config.json metrics.csv best.h5 evaluation.json evaluation.h5 page.html; do
  check "it writes $file" test -s "$folder/demo/$file"
done

check "it says where the page is" grep -q "file:///.*/demo/page.html" "$folder/demo.log"

# a second one takes the place of the first and nothing else
echo kept >"$folder/demo/notes.txt"
check "the demo runs again" demo
check "other files stay" test -s "$folder/demo/notes.txt"
check "one event file" test "$(find "$folder/demo" -name 'events.out.*' | wc -l)" -eq 1

finish
