#!/bin/bash
# The program started by mpirun: any number of ranks gives the bits of one, in training, data and
# evaluation; ranks that fail, die or are stopped; taking up with another number. A build without MPI says
# so. usage: test_cli_ranks.sh PROGRAM BUILD_FOLDER
set -u

carom=$(realpath "$1")
build=$(realpath "${2:-$(dirname "$1")}")
slurm=$(dirname "$(realpath "$0")")/../examples/slurm.sh
source "$(dirname "$(realpath "$0")")/support/cli_harness.sh"
export OMP_NUM_THREADS=1

small=(--train 260 --val 70 --test 60 --hidden 16 --layers 2 --steps 30 --batch 160 --search-every 2)

# --- without MPI several processes are refused; one is not
if ! grep -q '^CAROM_MPI:BOOL=ON' "$build/CMakeCache.txt"; then
  OMPI_COMM_WORLD_SIZE=2 expect 2 '2 processes were started.*without MPI.*CAROM_MPI=ON' \
    train cp3 "${small[@]}" --epochs 1 -o refused
  holds "nothing was made" test ! -e refused
  OMPI_COMM_WORLD_SIZE=1 expect 0 'epochs +1 of 1' train cp3 "${small[@]}" --epochs 1 -o alone
  finish
  exit
fi

# Open MPI and MPICH; root, more ranks than cores
launch=(mpirun)
if mpirun --version 2>&1 | grep -qi 'open'; then
  launch+=(--oversubscribe)
  [ "$(id -u)" -eq 0 ] && launch+=(--allow-run-as-root)
fi

# ranks CODE PATTERN N ARGUMENTS...: as `expect`, started as N ranks; code "!": any but 0
ranks() {
  local code=$1 pattern=$2 count=$3
  shift 3
  timeout 120 "${launch[@]}" -n "$count" "$carom" "$@" >out 2>err </dev/null
  local found=$?
  if [ "$code" = '!' ] && [ $found -ne 0 ] && [ $found -ne 124 ]; then code=$found; fi
  if [ "$found" != "$code" ]; then
    fail "$count ranks, carom $*: exit code $found, expected $code"
  elif ! cat out err | grep -qE -- "$pattern"; then
    fail "$count ranks, carom $*: no '$pattern' in the output"
  else
    pass
  fi
}

# same_run A B: data and checkpoints byte for byte, metrics but for the time
same_run() {
  local file
  for file in data.h5 last.h5 best.h5; do
    holds "$1/$file and $2/$file are the same" cmp "$1/$file" "$2/$file"
  done
  if [ "$(cut -d, -f10 --complement "$1/metrics.csv")" = \
    "$(cut -d, -f10 --complement "$2/metrics.csv")" ]; then pass; else fail "metrics of $1 and $2"; fi
}

# --- what ranks exchange
for count in 2 4; do
  holds "test_ranks on $count ranks" timeout 120 "${launch[@]}" -n $count "$(built test_ranks)"
done

# --- training: 1, 2 and 4 ranks give the files of the program by itself
expect 0 'epochs +4 of 4' train cp3 "${small[@]}" --epochs 4 -q -o whole
for count in 1 2 4; do
  ranks 0 'epochs +4 of 4' $count train cp3 "${small[@]}" --epochs 4 -q -o "ranks$count"
  same_run whole ranks$count
done
holds "one rank speaks" test "$(grep -c '^scene' out)" -eq 1

# --- a model without a contact model
expect 0 'model +mlp-cd-clnn' train cp3 "${small[@]}" --model mlp-cd-clnn --epochs 2 -q -o baseline1
ranks 0 'model +mlp-cd-clnn' 2 train cp3 "${small[@]}" --model mlp-cd-clnn --epochs 2 -q -o baseline2
same_run baseline1 baseline2

# --- data and evaluation
expect 0 'written' dataset bp5 --train 150 --val 3 --test 70 --steps 30 -q -o one.h5
ranks 0 'written' 4 dataset bp5 --train 150 --val 3 --test 70 --steps 30 -q -o four.h5
holds "the same data" cmp one.h5 four.h5
expect 0 'relative error' evaluate whole --steps 20 -q -o one
ranks 0 'relative error' 2 evaluate whole --steps 20 -q -o two
holds "the same evaluation" cmp one.h5 two.h5
holds "the same evaluation, in words" cmp one.json two.json

# --- a rank that dies ends the job with a message; the run is taken up by one
"${launch[@]}" -n 2 "$carom" train cp3 "${small[@]}" --schedule constant --epochs 100000 -q -o long \
  >out 2>err &
job=$!
for _ in $(seq 600); do
  [ "$(wc -l 2>/dev/null <long/metrics.csv)" -ge 3 ] 2>/dev/null && break
  sleep 0.05
done
for process in /proc/[0-9]*; do
  [ "$(readlink "$process/exe")" = "$carom" ] && [ "$(readlink "$process/cwd")" = "$PWD" ] && break
done 2>/dev/null
kill -9 "${process#/proc/}"
wait $job
holds "a rank that died fails the job" test $? -ne 0
says 'signal 9|KILLED|Killed'
done_epochs=$(tail -n 1 long/metrics.csv | cut -d, -f1)
# a checkpoint may be one epoch behind the metrics
expect 0 'epochs' train --resume --epochs $((done_epochs + 3)) -q -o long
expect 0 'epochs' train cp3 "${small[@]}" --schedule constant --epochs $((done_epochs + 3)) -q -o straight
same_run straight long

# --- taken up with another number of ranks
ranks 0 'epochs +2 of 2' 4 train cp3 "${small[@]}" --schedule constant --epochs 2 -q -o parts
ranks 0 'epochs +3 of 3' 2 train --resume --epochs 3 -q -o parts
expect 0 'epochs +5 of 5' train --resume --epochs 5 -q -o parts
expect 0 'epochs +5 of 5' train cp3 "${small[@]}" --schedule constant --epochs 5 -q -o five
same_run five parts

# --- the script for SLURM, with mpirun in the place of srun
mkdir bin
printf '#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec %s -n 2 "$@"\n' "${launch[*]}" >bin/srun
printf '#!/bin/bash\necho "$@" >requeued\n' >bin/scontrol
chmod +x bin/*
for epochs in 2 5; do
  holds "slurm.sh, $epochs epochs" env PATH="$PWD/bin:$PATH" CAROM="$carom" SLURM_CPUS_PER_TASK=1 bash "$slurm" cp3 \
    slurm/run $([ $epochs = 2 ] && echo "${small[@]}" --schedule constant) --epochs $epochs -q
done
same_run five slurm/run
holds "nothing to be done again" test ! -e requeued

# --- runs of `reproduce`, each by the next rank that is free
few=(--tasks cp3,bp5 --models cm-cd-clnn,cm-cd-chnn --seeds 2 --train 30 --val 6 --test 6 --hidden 8 --layers 1
  --steps 20 --epochs 2)
expect 0 '8 trained' reproduce table2 "${few[@]}" -q -o table1
ranks 0 '8 trained' 3 reproduce table2 "${few[@]}" -o table3
holds "one line for each run" test "$(grep -c ' error ' out)" -eq 8
for run in cp3/cm-cd-clnn/seed0 bp5/cm-cd-chnn/seed1; do
  holds "$run has the same bits" cmp table1/$run/last.h5 table3/$run/last.h5
done
holds "the same tables" cmp <(grep -v reproduce table1/table2.md) <(grep -v reproduce table3/table2.md)
ranks 0 '0 trained, 8 were there' 2 reproduce table2 "${few[@]}" -q -o table3
ranks '!' 'NOT_A_SCENE' 2 reproduce table2 --tasks NOT_A_SCENE -q -o table4

# --- trouble that all ranks have is told once
ranks '!' 'holds a run already' 2 train cp3 "${small[@]}" --epochs 4 -q -o whole
holds "once" test "$(grep -c 'holds a run' err)" -eq 1
ranks '!' 'unrecognized option' 2 train cp3 --bogus
holds "once" test "$(grep -c 'unrecognized' err)" -eq 1
ranks '!' 'only `bench ranks` shares' 2 bench events
ranks '!' 'works in one process, 2 were started' 2 simulate cp3

# --- trouble of one rank: all end, and it says why
timeout 60 "${launch[@]}" -n 1 "$carom" train --resume -q -o whole : \
  -n 1 "$carom" train --resume -q -o nowhere >out 2>err
holds "a rank without its folder" test $? -ne 0
says 'rank 1.*nowhere/config.json'
timeout 60 "${launch[@]}" -n 1 "$carom" train cp3 "${small[@]}" --epochs 9 -q -o mixed : \
  -n 1 "$carom" train cp3 --bogus >out 2>err
holds "a rank that fails by itself" test $? -ne 0
says 'rank 1 failed by itself'
says 'unrecognized option'

finish
