#!/usr/bin/env bash
# Makes docs/images with the tools: a page of every built-in scene, of a run and of a plan, light and dark, and the
# animation of the README. Each run gives the same motions; pixels may differ a little with the browser.
#   scripts/pictures.sh PROGRAM [FOLDER]     FOLDER: docs/images
set -euo pipefail
program=$(realpath "${1:?usage: scripts/pictures.sh PROGRAM [FOLDER]}")
root=$(cd "$(dirname "$0")/.." && pwd)
images=$(realpath -m "${2:-$root/docs/images}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$images"
cd "$work"

# a motion of every scene, and its page
for scene in bd1 bd5 billiards bp5 bp5-e cp3 cp3-e gyro gyro-e rope rope50 rope100 rope200; do
  steps=200
  [ "$scene" = billiards ] && steps=1024
  "$program" simulate "$scene" --seed 3 --steps $steps --quiet -o "$scene.h5" >/dev/null
  "$program" view "$scene.h5" -o "$scene.html" >/dev/null
done

# a run that has learned something, stopped early enough for truth and prediction to differ
"$program" train cp3 --epochs "${PICTURE_EPOCHS:-40}" --quiet -o cp3-run >/dev/null
"$program" evaluate cp3-run --quiet >/dev/null
"$program" view cp3-run -o run.html >/dev/null

# a plan: motion before and after, laid over each other
"$program" plan ground-wall --quiet -o plan.h5 >/dev/null
"$program" view plan.h5 -o plan.html >/dev/null

# plans of the paper as stills, for papers
for plan in billiards hit vertical; do
  "$program" plan $plan --quiet -o plan-$plan.h5 >/dev/null
  "$program" render plan-$plan.h5 --strobe 6 --no-contacts --size 460x345 -o "$images/plan-$plan.svg" >/dev/null
done

# the animation of the README
"$program" simulate bd5 --seed 3 --steps 300 --quiet -o readme.h5 >/dev/null
"$program" render readme.h5 --size 360x270 --rate 20 --quiet -o "$images/bd5.gif"
"$program" render gyro.h5 --size 360x270 --rate 20 --quiet -o "$images/gyro.gif"

node "$root/viewer/browser/screenshots.mjs" "$work" "$images"
