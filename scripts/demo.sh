#!/usr/bin/env bash
# Learns the chain of three pendulums (cp3) from trajectories and shows learned beside true values.
#   scripts/demo.sh PROGRAM [FOLDER]      the run goes to FOLDER (build/demo), a former one makes way
# DEMO_EPOCHS (200) makes it shorter or longer, DEMO_OPTIONS are further options of the training.
set -euo pipefail
program=$(realpath "${1:?usage: scripts/demo.sh PROGRAM [FOLDER]}")
folder=${2:-$(dirname "$0")/../build/demo}
epochs=${DEMO_EPOCHS:-200}
mkdir -p "$folder"
folder=$(realpath --relative-base=. "$folder")

# the files of a former demo; others are left alone
rm -f "$folder"/{config.json,metrics.csv,data.h5,best.h5,last.h5,evaluation.json,evaluation.h5,page.html} \
  "$folder"/events.out.tfevents.*

# show COMMAND...: prints it, then runs it
show() {
  printf '\n$ carom %s\n' "$*"
  "$program" "$@"
}

cat <<END
Three pendulums hang in a chain, swing, and hit rough ground. From 800 pieces of 5 states of their
motion carom learns what it is not told: masses, potential energy, friction and restitution.
END
# shellcheck disable=SC2086
show train cp3 --epochs "$epochs" ${DEMO_OPTIONS:-} -o "$folder"
show evaluate "$folder"
show view "$folder" -o "$folder/page.html"

cat <<END

The run is in $folder: metrics.csv has the course of the training (tensorboard --logdir
$folder shows it), evaluation.h5 predicted and true trajectories, best.h5 the model.
docs/learning.md tells how to learn from your own trajectories.

To look at it, open in a browser: file://$(realpath "$folder")/page.html
END
