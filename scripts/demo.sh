#!/usr/bin/env bash
# Simulates every built-in scene and shows what happened.
#   scripts/demo.sh PROGRAM [SAMPLES]
set -euo pipefail
program=${1:?usage: scripts/demo.sh PROGRAM [SAMPLES]}
samples=${2:-500}
cd "$(dirname "$0")/.."
program=$(realpath "$program")

"$program" list
basename -s .json scenes/*.json | sort -V | while read -r name; do
  printf '\n-- carom simulate %s --sample %s --seed 1\n' "$name" "$samples"
  "$program" simulate "$name" --sample "$samples" --seed 1 </dev/null
done
