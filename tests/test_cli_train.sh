#!/bin/bash
# `carom train` as a user would call it: a run and its files, resuming to the same bits, interrupts,
# bad input. usage: test_cli_train.sh PROGRAM BUILD_FOLDER
set -u

carom=$(realpath "$1")
build=$(realpath "${2:-$(dirname "$1")}")
source "$(dirname "$(realpath "$0")")/support/cli_harness.sh"
make_bad_training=$(built make_bad_training) || exit 1

# the metrics without the column of seconds
timeless() { cut -d, -f10 --complement "$1/metrics.csv"; }

# same_run A B: checkpoints byte for byte, metrics but for the time
same_run() {
  holds "$1/last.h5 and $2/last.h5 are the same" cmp "$1/last.h5" "$2/last.h5"
  holds "$1/best.h5 and $2/best.h5 are the same" cmp "$1/best.h5" "$2/best.h5"
  if [ "$(timeless "$1")" = "$(timeless "$2")" ]; then pass; else fail "metrics of $1 and $2"; fi
}

epochs_of() { tail -n 1 "$1/metrics.csv" | cut -d, -f1; }

# start_run FOLDER OPTIONS...: a long run in the background, a few epochs on its way; sets job
start_run() {
  local run=$1
  shift
  "$carom" train cp3 "${small[@]}" "$@" --epochs 1000000 -q -o "$run" >out 2>err &
  job=$!
  for _ in $(seq 600); do
    if [ -e "$run/metrics.csv" ] && [ "$(wc -l <"$run/metrics.csv")" -ge 4 ]; then return; fi
    kill -0 $job 2>/dev/null || return
    sleep 0.05
  done
}

small=(--schedule constant --lr 1e-3 --search-every 2 --train 40 --val 8 --test 4 --hidden 16 --layers 2 --steps 40)

# --- a run and its files
expect 0 'Example:' train --help
expect 0 'friction +[0-9.]+ +0.5' train cp3 "${small[@]}" --batch 16 --epochs 6 -o runs/whole
for file in config.json metrics.csv best.h5 last.h5 data.h5; do
  holds "runs/whole/$file is there" test -s runs/whole/$file
done
holds "an event file is there" test -s runs/whole/events.out.tfevents.*
holds "six lines and a header" test "$(wc -l <runs/whole/metrics.csv)" -eq 7
for field in '"scene": "\{.*cp3' '"model": "cm-cd-clnn"' '"data": "data.h5"' '"seed": 0' \
  '"epochs": 6' '"batch": 16' '"hidden_size": 16'; do
  holds "config.json has $field" grep -qE "$field" runs/whole/config.json
done

# --- a network that cannot be is refused before anything is made
expect 2 '--layers 20: expected an integer from 1 to 8' train cp3 --layers 20 -o runs/deep
expect 1 'network of 8.59e\+09 parameters' train cp3 --hidden 65536 -o runs/wide
holds "no folder of a refused run" test ! -e runs/deep -a ! -e runs/wide

# --- resuming: the same bits, step by step, and with data from a file
expect 0 'epochs +2 of 2' train cp3 "${small[@]}" --batch 16 --epochs 2 -o runs/parts
expect 0 'epochs +4 of 4' train --resume --epochs 4 -o runs/parts
expect 0 'epochs +6 of 6' train cp3 --resume --epochs 6 --batch 16 -o runs/parts
same_run runs/whole runs/parts
expect 0 'epochs +6 of 6' train --resume -o runs/parts
same_run runs/whole runs/parts
expect 0 'friction' train cp3 --data runs/whole/data.h5 --hidden 16 --layers 2 --batch 16 \
  --epochs 6 --schedule constant --lr 1e-3 --search-every 2 -o runs/data
holds "own data, same model" cmp runs/whole/last.h5 runs/data/last.h5
holds "no copy of the data" test ! -e runs/data/data.h5
expect 0 '"best_epoch"' train --resume --json -o runs/data

# --- a cosine schedule is resumed, but not made longer
expect 0 'epochs +3 of 3' train cp3 "${small[@]}" --epochs 3 --schedule cosine --final-rate 0.1 --no-warm-start \
  -o runs/cosine
holds "the last rate" test "$(tail -n 1 runs/cosine/metrics.csv | cut -d, -f5)" = 0.0001
expect 2 'train.epochs = 3, not 5, and a cosine' train --resume --epochs 5 -o runs/cosine

# --- patience: the same bits up to where it ends, and beyond when there is more of it
expect 0 'epochs +[0-9]+ of 60.*no lower loss in 1 epochs' train cp3 "${small[@]}" --epochs 60 --lr 0.05 --patience 1 \
  -o runs/patience
holds "it ended early" test "$(epochs_of runs/patience)" -lt 60
ended=$(epochs_of runs/patience)
expect 0 "epochs +$ended of 60" train --resume -o runs/patience
expect 0 "epochs +$((ended + 2)) of" train --resume --patience 0 --epochs $((ended + 2)) -o runs/patience
expect 0 'epochs' train cp3 "${small[@]}" --epochs $((ended + 2)) --lr 0.05 -o runs/impatience
same_run runs/patience runs/impatience
expect 2 'patience -1' train cp3 --patience -1 -o runs/minus

# --- every model, and the same bits from any number of threads
for model in cm-cd-chnn cmr-cd-clnn cmr-cd-chnn lcp-cd-clnn lcp-cd-chnn; do
  expect 0 "model +$model" train cp3 "${small[@]}" --epochs 1 --model $model -o runs/$model
done
for threads in 1 2 4; do
  expect 0 'friction' train bp5 --train 120 --val 8 --test 0 --hidden 8 --steps 30 --batch 120 \
    --epochs 2 --threads $threads -o runs/threads-$threads
done
same_run runs/threads-1 runs/threads-2
same_run runs/threads-1 runs/threads-4
holds "a column for each contact" grep -q 'friction/.*friction/.*restitution/' \
  runs/threads-1/metrics.csv

# --- Ctrl-C: ends soon, and --resume arrives where an uninterrupted run does
for signal in INT TERM KILL; do
  # batches of one chunk: it will hardly be the end of an epoch
  start_run runs/$signal --batch 1
  expect 1 'another process is training' train --resume -o runs/$signal
  kill -$signal $job
  wait $job 2>/dev/null
  code=$?
  if [ $signal = KILL ]; then
    holds "killed" test $code -eq 137
  else
    holds "exit code 130 after $signal, not $code" test $code -eq 130
    holds "says how to go on" grep -q -- "--resume -o runs/$signal" err
  fi
  # what a kill in the middle of writing leaves
  : >runs/$signal/last.h5.tmp-$job-0
  : >runs/$signal/last.h5.tmp-$$-0
  : >runs/$signal/notes.tmp-1.txt
  goal=$(($(epochs_of runs/$signal) + 3))
  expect 0 "epochs +$goal of $goal" train --resume --epochs $goal -o runs/$signal
  expect 0 "epochs +$goal of $goal" train cp3 "${small[@]}" --batch 1 --epochs $goal -q \
    -o runs/not-$signal
  same_run runs/$signal runs/not-$signal
  holds "what the dead process left is gone" test ! -e runs/$signal/last.h5.tmp-$job-0
  holds "a living process's file stays" rm runs/$signal/last.h5.tmp-$$-0
  holds "a user's file stays" rm runs/$signal/notes.tmp-1.txt
done

# --- a folder that holds a run, and options that are not the run's
expect 2 'holds a run already; --resume' train cp3 "${small[@]}" -o runs/whole
expect 2 'another scene than cp3-e: bodies\[0\].mass is 0.1' train cp3-e --resume -o runs/whole
expect 2 'train.batch = 16, not 8' train --resume --batch 8 -o runs/whole
expect 2 'model_options.hidden_size = 16, not 32' train --resume --hidden 32 -o runs/whole
expect 2 'seed = 0, not 9' train --resume --seed 9 -o runs/whole
expect 2 'model = "cm-cd-clnn", not "cm-cd-chnn"' train --resume --model cm-cd-chnn -o runs/whole
same_run runs/whole runs/parts

# --- wrong usage
expect 2 'a scene is missing' train -o runs/x
expect 2 '-o DIR is missing' train cp3
expect 2 'one scene is expected' train cp3 bp5 -o runs/x
expect 2 '--batch 0: expected an integer from 1 to 2147483647' train cp3 --batch 0 -o runs/x
expect 2 '--lr -1: expected a positive number' train cp3 --lr -1 -o runs/x
expect 2 'expected one of constant, cosine' train cp3 --schedule linear -o runs/x
expect 2 '--layers 20: expected an integer from 1 to 8' train cp3 --layers 20 -o runs/x
holds "nothing is made for options that cannot be" test ! -e runs/x
expect 2 '--model cnn' train cp3 --model cnn -o runs/x
expect 2 'unrecognized option' train cp3 --no-such-option -o runs/x
expect 1 'no-such-scene' train no-such-scene -o runs/x
expect 1 'config.json: cannot be read' train --resume -o runs/x
expect 1 'none.h5: cannot be read: No such file' train cp3 --data none.h5 -o runs/x
expect 1 'cannot be made' train cp3 -o runs/whole/last.h5/x
holds "nothing is left of runs that did not begin" test ! -e runs/x

# --- bad data
"$make_bad_training" good good.h5
"$make_bad_training" nan nan.h5
expect 0 'epochs +2 of 2' train cp3 --data good.h5 --hidden 8 --epochs 2 --tolerance 0 --schedule constant --val 1 --test 1 -o runs/own
expect 0 'epochs +3 of 3' train --resume --epochs 3 -o runs/own
expect 0 '1 states inside 1 trajectories are missing' train cp3 --data nan.h5 --hidden 8 --epochs 1 \
  --val 1 --test 1 -o runs/nan
expect 1 'last.h5' train cp3 --data runs/whole/last.h5 -o runs/x
holds "nothing is left of runs without data" test ! -e runs/x
# the data of a run was changed behind its back
cp "$folder/runs/threads-1/data.h5" runs/threads-2/data.h5
expect 0 'epochs' train --resume -o runs/threads-2
cp -r runs/parts runs/changed
expect 0 'written' dataset cp3 --train 40 --val 8 --test 4 --steps 40 --seed 1 -o runs/changed/data.h5
expect 1 'another training: data_hash' train --resume --epochs 9 -o runs/changed

# --- broken run folders
cp -r runs/parts runs/broken
head -c 3000 runs/parts/last.h5 >runs/broken/last.h5
expect 1 'broken/last.h5: damaged \(the checksum' train --resume --epochs 9 -o runs/broken
# one bit
cp runs/parts/last.h5 runs/broken/last.h5
byte=$(dd if=runs/broken/last.h5 bs=1 skip=9000 count=1 2>/dev/null | od -An -tu1)
printf "\\x$(printf %x $((byte ^ 4)))" | dd of=runs/broken/last.h5 bs=1 seek=9000 conv=notrunc 2>/dev/null
cp -r runs/broken kept
expect 1 'broken/last.h5: damaged \(the checksum' train --resume --epochs 9 -o runs/broken
holds "says what is left" grep -q 'best model so far is runs/broken/best.h5' err
holds "says how to begin again" grep -q 'to train again: carom train cp3 .*-o OTHER_FOLDER' err
holds "nothing was changed" diff -r kept runs/broken
echo '{"scene": 1' >runs/broken/config.json
expect 1 'broken/config.json:2:0: not valid JSON' train --resume -o runs/broken
echo '{"scene": 1}' >runs/broken/config.json
expect 1 'broken/config.json: .*not the configuration of a run' train --resume -o runs/broken

# --- data that is damaged or gone: how to make it again, and then it goes on to the same bits
cp -r runs/parts runs/data-broken
cp -r runs/parts runs/not-broken
head -c 3000 runs/parts/data.h5 >runs/data-broken/data.h5
cp -r runs/data-broken kept-data
for _ in 1 2; do
  expect 1 'data-broken/data.h5: ' train --resume --epochs 9 -o runs/data-broken
  holds "nothing was changed" diff -r kept-data runs/data-broken
  command=$(sed -n 's/.*to make the data again: carom //p' err)
  holds "says how to make the data" test -n "$command"
  holds "says how to go on" grep -q -- '--resume -o runs/data-broken. goes on' err
  # damaged, then gone
  rm -f runs/data-broken/data.h5 kept-data/data.h5
done
# shellcheck disable=SC2086
expect 0 'written' $command
holds "the same data" cmp runs/parts/data.h5 runs/data-broken/data.h5
expect 0 'epochs +9 of 9' train --resume --epochs 9 -o runs/data-broken
expect 0 'epochs +9 of 9' train --resume --epochs 9 -o runs/not-broken
same_run runs/data-broken runs/not-broken
# data of one's own
cp -r runs/own runs/own-gone
mv good.h5 away.h5
expect 1 'good.h5: ' train --resume --epochs 4 -o runs/own-gone
holds "says what is needed" grep -q 'put the data that the run began with there again' err
mv away.h5 good.h5

# --- metrics.csv of a version with fewer columns: taken by name, the file kept
cp -r runs/parts runs/older
cut -d, -f7-9 --complement runs/parts/metrics.csv >runs/older/metrics.csv
cp runs/older/metrics.csv before.csv
expect 0 'epochs +9 of 9' train --resume --epochs 9 -o runs/older
holds "says so" grep -q 'the file as it was is runs/older/metrics-before-1.csv' err
holds "it is kept" cmp before.csv runs/older/metrics-before-1.csv
holds "the same training" cmp runs/older/last.h5 runs/not-broken/last.h5
holds "all lines and columns" cmp \
  <(cut -d, -f7-10 --complement runs/older/metrics.csv) \
  <(cut -d, -f7-10 --complement runs/not-broken/metrics.csv)

# --- a training that diverges stops with its last good checkpoint
expect 1 'epoch 1, .*smaller learning rate' train cp3 "${small[@]}" --lr 1e200 --epochs 9 \
  -o runs/diverged
holds "its last good state" test -s runs/diverged/last.h5

# --- a full disk: reported, and the previous checkpoint survives
cp -r runs/parts runs/full
(
  trap '' XFSZ
  ulimit -f 8
  "$carom" train --resume --epochs 9 -q -o runs/full >out 2>err
)
code=$?
if [ $code -eq 1 ] && grep -q 'cannot be written: File too large' err; then
  pass
else
  fail "full disk: exit code $code"
fi
holds "the previous checkpoint is as it was" cmp runs/parts/last.h5 runs/full/last.h5
holds "nothing half-written is left" test -z "$(find runs -name '*.tmp-*')"
expect 0 'epochs +6 of 6' train --resume --epochs 6 -o runs/full
same_run runs/full runs/parts

# counters of all epochs, none forgotten
expect 0 '"time_steps": [1-9]' train cp3 --train 20 --val 4 --test 4 --hidden 8 --epochs 1 -q --json \
  -o runs/counted
holds "contacts are counted" grep -qE '"contacts": [1-9]' out

# trajectories over their whole length: as many as there are, those of another system or step refused
expect 0 '3 samples' simulate cp3 --steps 20 --sample 3 -o whole.h5
expect 0 'predicted +3 trajectories over their whole length: position [0-9.e-]+ \+- [0-9.e-]+' evaluate runs/counted -q \
  --whole whole.h5
expect 0 '"trajectories": 3' evaluate runs/counted -q --whole whole.h5 --json
expect 0 'written' simulate bd1 --steps 20 -o other.h5
expect 1 'other.h5' evaluate runs/counted -q --whole other.h5
expect 0 'written' simulate cp3 --steps 20 --dt 0.02 -o coarse.h5
expect 1 'time step' evaluate runs/counted -q --whole coarse.h5
expect 1 'nowhere.h5.*No such file' evaluate runs/counted -q --whole nowhere.h5

# a training that cannot begin leaves nothing of its own behind
mkdir -p taken/last.h5
expect 1 'last.h5: cannot be written' train cp3 --train 4 --val 0 --test 0 --hidden 8 --layers 1 -q -o taken
holds "no data of a training that did not begin" test ! -e taken/data.h5

finish
