#!/usr/bin/env bash
# A few commands as a user calls them, run by valgrind: $1 the program, then valgrind with its options.
set -uo pipefail
carom=$1
shift
runner=("$@")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

# run CODE ARGUMENTS...: the command ends with this exit code
run() {
  local code=$1
  shift
  "${runner[@]}" "$carom" "$@" >out 2>&1 </dev/null
  local found=$?
  [ $found -eq "$code" ] && return
  failed=$((failed + 1))
  echo "FAILED: carom $*: exit code $found, expected $code"
  tail -n 40 out
}

run 0 list
run 0 simulate cp3 --sample 2 --steps 20 -o states.h5
run 0 gradient cp3 --init states.h5 --target states.h5 -o gradient.h5
run 0 dataset cp3 --train 8 --val 2 --test 2 -o data.h5
run 0 train cp3 --data data.h5 --epochs 1 --batch 4 --hidden 4 --layers 1 -o run
run 0 evaluate run --steps 5
run 0 view states.h5 run -o page.html
run 0 render states.h5 --size 64x48 --rate 5 -q -o motion.gif
run 0 render run/evaluation.h5 --size 64x48 -o still.png
run 1 view nothing.h5 -o other.html
run 1 simulate nothing.json
[ $failed -eq 0 ]
