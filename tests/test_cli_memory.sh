#!/bin/bash
# The command line where memory is short: a message and exit code 1, never a signal, nothing left behind.
# usage: test_cli_memory.sh PROGRAM BUILD_FOLDER
set -u

carom=$(realpath "$1")
source "$(dirname "$(realpath "$0")")/support/cli_harness.sh"

# sizes that cannot be, before any data is made
expect 1 'options.hidden_size is 65536.*parameters' train cp3 --hidden 65536 -q -o large
holds "no data of a refused training" test ! -e large

# a limit below which the program itself starts; sanitizers reserve more than any
limit=3000000
if (ulimit -v $limit && "$carom" --version) >/dev/null 2>&1; then
  limited() { (ulimit -v $limit && exec "$program" "$@"); }
  program=$carom
  carom=limited
  expect 1 'no memory for a batch.*1000000 substeps.*GB' \
    simulate cp3 --sample 3 --substeps 1000000 --steps 1 -q -o out.h5
  expect 1 "trajectories of 100001 states take" simulate cp3 --sample 1000000 --steps 100000 -q -o out.h5
  expect 1 'options.hidden_size is 20000.*GB' train cp3 --hidden 20000 -q -o large
  # threads that the system does not give are done without
  expect 0 'for 20000 samples' simulate cp3 --sample 20000 --steps 2 --threads 1024
  expect 1 'training a network of .* needs .* GB: .* for the optimiser' \
    train cp3 --hidden 7000 -q -o large
  holds "nothing is left behind" test -z "$(ls | grep -vE '^(out|err)$')"
else
  echo "the program does not start with $limit kB: limits are not tried"
fi

finish
