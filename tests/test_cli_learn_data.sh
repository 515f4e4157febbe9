#!/bin/bash
# Data sets and evaluations on the command line, as a user would call them.
# usage: test_cli_learn_data.sh PROGRAM BUILD_FOLDER
set -u

carom=$(realpath "$1")
build=$(realpath "${2:-$(dirname "$1")}")
make_partial_h5=$(find "$build" -name make_partial_h5 -type f -perm -u+x | head -n 1)
if [ -z "$make_partial_h5" ]; then
  echo "make_partial_h5 is not in $build" >&2
  exit 1
fi
source "$(dirname "$(realpath "$0")")/support/cli_harness.sh"

# says PATTERN: the last output has a line with it
says() {
  if cat out err | grep -qE -- "$1"; then pass; else fail "no '$1' in the last output"; fi
}

# --- dataset
expect 0 'Example:' dataset --help
expect 0 'Usage: carom dataset' help dataset
small=(--train 40 --val 10 --test 6 --quiet)
expect 0 'written +cp3.h5' dataset cp3 "${small[@]}" -o cp3.h5
says 'train +40 chunks of 5 states, 20 with a contact'
says 'val +10 chunks of 5 states, 5 with a contact'
says 'test +6 chunks of 5 states, 3 with a contact'
says 'c\|ground +[0-9]+ +[0-9]+'
holds "--quiet says nothing on standard error" test ! -s err
for scene in bp5-e bp5 cp3-e bd5 gyro-e gyro rope; do
  expect 0 'train +40 chunks of 5 states, 20 with a contact' dataset $scene "${small[@]}" -o s.h5
done
expect 0 'train +40 chunks of 8 states, 10 with a contact' \
  dataset cp3 "${small[@]}" --chunk 8 --share 0.25 -o s.h5
expect 0 '"contact": "a-b"' dataset bp5 "${small[@]}" --json -o s.h5
says '"with_contact": 20'
says '"failed_programs": 0'

# the same bytes from any number of threads; another seed, model of contacts or noise: others
for threads in 1 2 4; do
  expect 0 'written' dataset bp5 "${small[@]}" --threads $threads -o "t$threads.h5"
done
holds "1 and 2 threads agree" cmp t1.h5 t2.h5
holds "1 and 4 threads agree" cmp t1.h5 t4.h5
for option in '--seed 1' '--contact cmr' '--noise 0.01' '--steps 50'; do
  # shellcheck disable=SC2086
  expect 0 'written' dataset bp5 "${small[@]}" $option -o other.h5
  if cmp -s t1.h5 other.h5; then fail "$option changes nothing"; else pass; fi
done

# trajectories of one's own
expect 0 'written' simulate cp3 --sample 30 --quiet -o own.h5
expect 0 'train +40 chunks of 5 states, 20 with a contact' \
  dataset cp3 "${small[@]}" --from own.h5 -o cut.h5
expect 0 'train +40 chunks' dataset cp3 --from cp3.h5 -o again.h5
holds "a data set goes through --from as it is" cmp cp3.h5 again.h5
expect 2 'cp3.h5: is a data set already.*--train' dataset cp3 --from cp3.h5 --train 5 -o never.h5
expect 1 'shorter than a chunk' dataset cp3 --from own.h5 --chunk 200 -o never.h5
expect 1 'own.h5: .*expected \[samples\]\[states\]\[points = 4\]' \
  dataset gyro --from own.h5 -o never.h5
expect 1 'none.h5: cannot be read' dataset cp3 --from none.h5 -o never.h5

# the time step and where it comes from; what is missing
expect 0 'time step +0.01 \(attribute dt of own.h5\)' dataset cp3 --from own.h5 -q -o cut.h5
expect 0 "time step +0.01 \(the scene's\)" dataset cp3 "${small[@]}" -o s.h5
expect 0 'written' gradient cp3 --init own.h5 --target own.h5 -q -o gradient.h5
expect 1 'gradient.h5: the dataset /x is missing.*there is .*/d_friction' \
  dataset cp3 --from gradient.h5 -o never.h5

# an input is never written over, under whatever name
ln -s own.h5 symbolic.h5
ln own.h5 hard.h5
cp own.h5 before.h5
for name in own.h5 ./own.h5 symbolic.h5 hard.h5; do
  expect 1 'is the input own.h5' dataset cp3 --from own.h5 -o $name
  expect 1 'is the input own.h5' simulate cp3 --init own.h5 -o $name
  expect 1 'is the input own.h5' gradient cp3 --init before.h5 --target own.h5 -o $name
done
holds "the input is as it was" cmp own.h5 before.h5
cp "$(dirname "$(realpath "$0")")/../scenes/cp3.json" sc.json
expect 1 'is the input sc.json' simulate sc.json -o sc.json
expect 1 'is the input sc.json' dataset sc.json -o sc.json
# a file that is called as a built-in scene is no input
expect 0 'written' simulate cp3 -q -o cp3
expect 0 'written' simulate cp3 -q -o cp3

# memory is asked for before anything is computed
expect 1 'take .* GB, the machine has' simulate cp3 --sample 2000000000 --steps 1000000

expect 0 'v_k belongs to x_k' dataset cp3 "${small[@]}" --from own.h5 -o found.h5
says 'contacts told by penetration [0-9]+'
expect 0 'computed from positions .central' dataset cp3 "${small[@]}" --from own.h5 --velocity central \
  --project -o found.h5
says 'states were put on the constraints'
expect 0 '"about": "velocity"' dataset cp3 "${small[@]}" --from own.h5 --json -o found.h5
expect 2 '--velocity late: expected one of' dataset cp3 --from own.h5 --velocity late -o x.h5

# trajectories without velocities, and of several lengths: what is beyond them is not looked at
for kind in no-v lengths long; do "$make_partial_h5" $kind own.h5 $kind.h5; done
expect 0 'train +40 chunks of 5 states, 20 with a contact' \
  dataset cp3 "${small[@]}" --from no-v.h5 -o cut.h5
says 'computed from positions \(parabolas.*there are none in the data'
expect 0 'train +40 chunks of 5 states, 20 with a contact' \
  dataset cp3 "${small[@]}" --from lengths.h5 -o cut.h5
says 'v_k belongs to x_k'
expect 0 'epochs +1 of 1' train cp3 --data lengths.h5 "${small[@]}" --hidden 8 --epochs 1 -o partial
expect 0 'epochs +1 of 1' train cp3 --data no-v.h5 "${small[@]}" --hidden 8 --epochs 1 -o none
expect 1 'long.h5: /length\[1\] is 102, expected a number of states from 0 to 101' \
  dataset cp3 --from long.h5 -o never.h5
expect 1 'lengths.h5: .*only data sets are made of such' simulate cp3 --init lengths.h5
expect 1 'lengths.h5: .*only data sets' gradient cp3 --init own.h5 --target lengths.h5
expect 1 'no-v.h5: dataset /v is missing' simulate cp3 --init no-v.h5

# the friction law: a data set says its own, and a model with another one is told
tiny=(--hidden 8 --layers 1 --epochs 1 -q)
expect 0 'written +coulomb.h5' dataset cp3 "${small[@]}" --friction coulomb -o coulomb.h5
expect 0 'simulated with --friction coulomb, the model has convex' \
  train cp3 --data coulomb.h5 "${tiny[@]}" -o convex-law
expect 0 'written' train cp3 --data coulomb.h5 --friction coulomb "${tiny[@]}" -o coulomb-law
holds "no warning where the laws agree" test ! -s err
holds "the run says its law" grep -q '"law": "coulomb"' coulomb-law/config.json
expect 0 'written' train cp3 --friction coulomb "${small[@]:0:6}" "${tiny[@]}" -o own-law
holds "data simulated for a model has its law" cmp own-law/data.h5 coulomb.h5
expect 2 '--friction slippery: expected one of convex, coulomb' dataset cp3 --friction slippery -o x.h5
expect 2 'are of a simulation' dataset cp3 --from own.h5 --friction coulomb -o x.h5

# wrong usage
expect 2 'a scene is missing' dataset -o x.h5
expect 2 '-o FILE is missing' dataset cp3
expect 2 "'bd5' is one more" dataset cp3 bd5 -o x.h5
expect 2 '--train 0: expected' dataset cp3 --train 0 -o x.h5
expect 2 '--chunk 1: expected' dataset cp3 --chunk 1 -o x.h5
expect 2 '--noise -1: expected' dataset cp3 --noise -1 -o x.h5
expect 2 '--share 2: expected' dataset cp3 --share 2 -o x.h5
expect 2 '--contact pgs: expected one of cm, cmr, lcp' dataset cp3 --contact pgs -o x.h5
expect 2 '--seed -1' dataset cp3 --seed -1 -o x.h5
expect 2 'unrecognized option' dataset cp3 --no-such-option
expect 2 'are of a simulation' dataset cp3 --from own.h5 --steps 5 -o x.h5
expect 1 'no-such-scene' dataset no-such-scene -o never.h5
expect 1 'at least 4 steps' dataset cp3 --steps 3 -o never.h5
expect 1 'No such file' dataset cp3 -o no-folder/x.h5
holds "nothing was written" test ! -e never.h5
holds "nothing is left behind" test -z "$(find . -name '*.tmp-*')"

# Ctrl-C leaves nothing
"$carom" dataset rope200 --train 20000 -q -o stopped.h5 >out 2>err &
job=$!
sleep 0.5
kill -INT $job
wait $job
code=$?
if [ $code -eq 130 ] && grep -q interrupted err; then pass; else fail "Ctrl-C: code $code"; fi
holds "nothing was written" test ! -e stopped.h5

# --- evaluate
expect 0 'Example:' evaluate --help
expect 0 'written' train cp3 --data cp3.h5 --hidden 8 --epochs 2 --batch 20 --quiet -o run
expect 0 'relative, 5 states, to the data +[0-9.e-]+ +\+- [0-9.e-]+' evaluate run
says 'relative, 51 states, to the truth'
says 'energy drift, largest'
says 'all +[0-9.]+ +0.500000 +[0-9.]+ +0.000000 +[0-9]+ +20'
says '^  b +[0-9.]+ +2.000000'
holds "evaluation.json is written" test -s run/evaluation.json
holds "evaluation.h5 is written" test -s run/evaluation.h5
holds "evaluation.json has the model" grep -q '"model": "cm-cd-clnn"' run/evaluation.json
"$carom" evaluate run --json >evaluation.json 2>err
holds "--json prints what is written" cmp evaluation.json run/evaluation.json
says 'evaluating: run'
for threads in 1 2; do
  expect 0 'written' evaluate run --threads $threads --quiet
  holds "--quiet says nothing on standard error" test ! -s err
  holds "the same from $threads threads" cmp evaluation.json run/evaluation.json
done
expect 2 '--threads -1: expected' evaluate run --threads -1
expect 0 'relative, 11 states, to the truth' evaluate run --steps 10 --checkpoint last
expect 0 '10 val chunks' evaluate run --split val
expect 0 'relative, 5 states, to the data' evaluate run --no-truth
if grep -q 'truth' out; then fail "--no-truth says nothing of the truth"; else pass; fi
expect 2 '--steps .*--no-truth.*--chunk' evaluate run --no-truth --steps 79
says_both_accelerations() { grep -qE '^  a +x +' out && grep -qE '^  a +y +' out; }
expect 0 'acceleration +mean +deviation +scene' evaluate run
holds "evaluate says what the learned potential does to a body" says_both_accelerations

# other data: its own files, the counts of the training data
cp run/evaluation.json before.json
expect 0 '6 test chunks of 5 states; trained on 40' evaluate run --data again.h5
says 'written +run/evaluation-again.json'
holds "the evaluation of the run's own data stays" cmp before.json run/evaluation.json
holds "that of other data has a name of its own" test -s run/evaluation-again.h5
expect 0 'written +elsewhere.json' evaluate run --data again.h5 -o elsewhere

# a run that makes its own data, with contacts that have properties of their own
expect 0 'written' train bp5 --train 20 --val 4 --test 4 --hidden 8 --epochs 1 -q -o own-run
expect 0 'd\|bottom +[0-9.]+ +0.100000 +[0-9.]+ +0.800000' evaluate own-run
# moments of rigid bodies
expect 0 'written' train gyro --train 20 --val 4 --test 4 --hidden 8 --epochs 1 -q -o gyro-run
expect 0 'top moment 2 +[0-9.]+ +0.040000' evaluate gyro-run
expect 0 'written' train bd1 --train 20 --val 4 --test 4 --hidden 8 --epochs 1 -q -o disk-run
expect 0 'a inertia +[0-9.]+ +0.005000' evaluate disk-run
# trajectories of one's own: the split is that of the training
expect 0 'written' train cp3 --data own.h5 --train 20 --val 4 --test 4 --hidden 8 --epochs 1 -q \
  -o cut-run
expect 0 '4 test chunks of 5 states; trained on 20' evaluate cut-run

# options of making data: used where trajectories are cut, refused where a data set is there
expect 0 'written' train cp3 --data own.h5 --train 20 --val 4 --test 4 --chunk 7 --noise 0.01 \
  --share 0.25 --hidden 8 --epochs 1 -q -o cut-7
expect 0 '4 test chunks of 7 states; trained on 20' evaluate cut-7
for option in '--train 5' '--val 3' '--test 3' '--chunk 7' '--noise 0.1' '--share 0.2'; do
  # shellcheck disable=SC2086
  expect 2 "cp3.h5: is a data set already.*${option% *} says" \
    train cp3 --data cp3.h5 $option --hidden 8 --epochs 1 -o refused
done
holds "nothing is left of a run that was refused" test ! -e refused
expect 1 'run/last.h5: ' train cp3 --data run/last.h5 --train 5 -o refused
expect 2 '--steps is of a simulation' train cp3 --data own.h5 --steps 50 -o refused
expect 2 'is a data set already.*--train says' train --resume --train 800 -o run
expect 0 'epochs' train --resume -o run
expect 0 'epochs' train --resume --train 20 -o own-run
# how it was simulated is of use: the true motion in `evaluate`
expect 0 'written' train cp3 --data cp3.h5 --contact cmr --hidden 8 --epochs 2 --batch 20 -q \
  -o other-truth
expect 0 'written' evaluate other-truth
if cmp -s <(grep -v '"run"' evaluation.json) <(grep -v '"run"' other-truth/evaluation.json); then
  fail "another contact model, another true motion"
else
  pass
fi

expect 2 'a run folder is missing' evaluate
expect 2 "'x' is one more" evaluate run x
expect 2 '--checkpoint first: expected one of best, last' evaluate run --checkpoint first
expect 2 '--split all: expected one of train, val, test' evaluate run --split all
expect 2 '--steps 0: expected' evaluate run --steps 0
expect 1 'is it a run folder' evaluate no-such-run
expect 1 'none.h5: cannot be read' evaluate run --data none.h5
expect 1 'expected \[chunks\]\[states\]\[points = 3\]' evaluate run --data gyro-run/data.h5
expect 0 'written' simulate cp3 --sample 20 --dt 0.02 --steps 10 --quiet -o slow.h5
expect 1 'slow.h5: its time step is 0.02, the model was trained with 0.01' \
  evaluate run --data slow.h5
mv run/best.h5 kept.h5
expect 1 'best.h5: cannot be read' evaluate run
head -c 2000 kept.h5 >run/best.h5
expect 1 'best.h5: ' evaluate run
mv kept.h5 run/best.h5
expect 0 'no-val' dataset cp3 --train 10 --val 0 --test 0 -q -o no-val.h5
expect 1 'has no test chunks' evaluate run --data no-val.h5

finish
