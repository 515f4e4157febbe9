#!/usr/bin/env bash
# Simulates every built-in scene and shows what happened.
#   scripts/demo.sh PROGRAM [SAMPLES]
set -euo pipefail
program=${1:?usage: scripts/demo.sh PROGRAM [SAMPLES]}
samples=${2:-100}
cd "$(dirname "$0")/.."
program=$(realpath "$program")

"$program" list
for scene in scenes/*.json; do
  name=$(basename "$scene" .json)
  printf '\n-- carom simulate %s --sample %s --seed 1\n' "$name" "$samples"
  "$program" simulate "$name" --sample "$samples" --seed 1
done
