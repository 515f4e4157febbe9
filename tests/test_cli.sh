#!/bin/bash
# The command line as a user would call it.
# usage: test_cli.sh PROGRAM BUILD_FOLDER
set -u

carom=$(realpath "$1")
build=$(realpath "${2:-$(dirname "$1")}")
source "$(dirname "$(realpath "$0")")/support/cli_harness.sh"
make_bad_h5=$(built make_bad_h5) || exit 1
make_controls=$(built make_controls) || exit 1
pushed=$(dirname "$(realpath "$0")")/../examples/scenes/pushed.json

no_file() { holds "$1 must not be there" test ! -e "$1"; }
no_leftover() {
  local left
  left=$(find . -name '*.tmp-*')
  if [ -z "$left" ]; then pass; else fail "left behind: $left"; fi
}

# --- the program itself
expect 0 'Usage: carom COMMAND' --help
expect 0 'Usage: carom COMMAND' help
expect 0 '^carom [0-9]+\.[0-9]+\.[0-9]+$' --version
expect 2 'Usage: carom COMMAND'
expect 2 "did you mean 'simulate'" simulat
expect 2 'carom --help' frobnicate
commands=$("$carom" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
for command in list simulate gradient check dataset train evaluate solve bench; do
  holds "carom --help names $command" grep -qx "$command" <<<"$commands"
done
for command in $commands; do
  expect 0 'Examples?:' "$command" --help
  cp out help
  # a line that the margin breaks goes on without the indentation of an example
  holds "no line of the example is broken" test -z "$(sed '1,/^Examples*:/d' help | grep -v '^  ')"
  holds "every heading has options below it" awk 'heading && !/^ +-/ { exit 1 } { heading = /^ [A-Z][a-z ]*$/ }' help
  for option in -h '-?'; do
    expect 0 'Usage: carom '"$command" "$command" "$option"
    holds "$option is --help" cmp help out
  done
  expect 0 'Usage: carom '"$command" help "$command"
  expect 0 'Usage: carom '"$command"' \[-' "$command" --usage
  expect 0 '^carom [0-9]+\.' "$command" --version
  expect 2 'unrecognized option' "$command" --no-such-option
done
expect 0 'carom help COMMAND' -h
expect 0 'docs/scene-format.md' -h

# what the help shows can be pasted into a shell and works
carom() { "$carom" "$@"; }
for command in list simulate gradient dataset solve; do
  (set -e; eval "$(carom $command --help | sed '1,/^Examples*:/d')") >out 2>err
  code=$?
  holds "the example of $command: exit code $code" test $code -eq 0
done
holds "the example of gradient has a gradient" grep -q 'by log_mass' <(
  carom gradient cp3 --init truth.h5 --target truth.h5 | grep -v ' 0$')

# --- list
expect 0 'cp3 ' list
for scene in bp5-e bp5 bd5 cp3-e cp3 gyro-e gyro rope rope50 rope100 rope200 bd1 billiards; do
  expect 0 "\"name\": \"$scene\"" list --json
done
expect 2 'no argument' list cp3

# --- simulate
expect 0 'contacts +[0-9]+ events' simulate cp3
expect 0 'written +a.h5' simulate cp3 --sample 5 --seed 3 -o a.h5
holds "a.h5 is written" test -s a.h5
no_leftover
expect 0 '"energy_before"' simulate bd5 --json --sample 2
expect 0 '20 of 0.001' simulate cp3 --steps 20 --dt 0.001
expect 0 'steps +0 of' simulate cp3 --steps 0
for option in '--contact cmr --epsilon 0.1' '--contact lcp' '--contact lcp --contact-time event' '--integrator euler' '--integrator symplectic-euler' '--integrator rk4-secant' \
  '--dynamics hamiltonian' '--substeps 3' '--no-compensation' '--compensation-steps 4' \
  '--smoothing 1e-4' '--quiet' '--dump-failures dumped'; do
  # shellcheck disable=SC2086
  expect 0 'contacts' simulate cp3 --steps 50 $option
done
expect 0 'samples' simulate cp3 --init a.h5 --quiet
holds "--quiet says nothing on standard error" test ! -s err
expect 2 'unrecognized option' simulate cp3 --stop-target-gradient
expect 2 'give --contact cmr too' simulate cp3 --epsilon 0.1
expect 2 'give --contact cmr too' simulate cp3 --epsilon 0.1 --contact cm

# the same bytes from any number of threads, and from the same seed
for scene in cp3 bd5 gyro rope; do
  for threads in 1 2 4; do
    expect 0 'written' simulate "$scene" --sample 20 --steps 20 --threads $threads -o "t$threads.h5"
  done
  holds "$scene: 1 and 2 threads agree" cmp t1.h5 t2.h5
  holds "$scene: 1 and 4 threads agree" cmp t1.h5 t4.h5
done
expect 0 'written' simulate rope --sample 20 --steps 20 --seed 1 -o t2.h5
if cmp -s t1.h5 t2.h5; then fail "another seed gives other states"; else pass; fi

# programs that are not solved are reported, dumped, and can be replayed
expect 0 'WARNING: [0-9]+ of [0-9]+ cone programs were NOT solved' \
  simulate bp5 --smoothing 1e-4 --cone-tolerance 1e-300 --dump-failures dumped
expect 0 'status +solved' solve dumped/cone-000.json
expect 0 'dump-failures DIR writes them' simulate bp5 --smoothing 1e-4 --cone-tolerance 1e-300
expect 1 'a.h5/x: cannot be made' simulate bp5 --smoothing 1e-4 --cone-tolerance 1e-300 --dump-failures a.h5/x

# --- gradient
expect 0 'loss +0$' gradient cp3 --init a.h5 --target a.h5 -o g.h5
expect 0 'written' simulate cp3 --init a.h5 --contact cmr -o b.h5
expect 0 '"log_mass"' gradient cp3 --init a.h5 --target b.h5 --json -o g.h5
for threads in 1 2 4; do
  expect 0 'written' gradient cp3 --init a.h5 --target b.h5 --threads $threads -o "g$threads.h5"
done
holds "gradient: 1 and 2 threads agree" cmp g1.h5 g2.h5
holds "gradient: 1 and 4 threads agree" cmp g1.h5 g4.h5
expect 2 '--target FILE is missing' gradient cp3 --init a.h5
expect 2 '--init FILE is missing' gradient cp3 --target a.h5
expect 0 'Usage: carom gradient .*SCENE --init FILE --target FILE' gradient --help
for option in '--sample 2' '--seed 1'; do
  # shellcheck disable=SC2086
  expect 2 'unrecognized option' gradient cp3 --init a.h5 --target a.h5 $option
done
expect 0 'loss' gradient cp3 --init a.h5 --target b.h5 --stop-target-gradient --dump-failures dumped
expect 2 'give --contact cmr too' gradient cp3 --init a.h5 --target b.h5 --epsilon 0.1
expect 1 '--steps must be 100' gradient cp3 --init a.h5 --target a.h5 --steps 7
expect 1 'give --dt 0.01' gradient cp3 --init a.h5 --target a.h5 --dt 0.02
expect 0 'written' simulate cp3 --sample 2 -o two.h5
expect 1 'has 2 samples, but a.h5 has 5' gradient cp3 --init a.h5 --target two.h5

# --- controls
holds "make_controls" "$make_controls" "$pushed" 4 50 2 0.01 u4.h5
holds "make_controls of one sample" "$make_controls" "$pushed" 1 50 2 0 u1.h5
holds "make_controls of zeros" "$make_controls" "$pushed" 4 50 0 0.01 u0.h5
expect 0 'steps +50 of' simulate "$pushed" --sample 4 --controls u4.h5 -o c4.h5
expect 0 'written' simulate "$pushed" --sample 4 --steps 50 -o c-none.h5
expect 0 'written' simulate "$pushed" --sample 4 --controls u0.h5 -o c0.h5
expect 0 'written' simulate "$pushed" --sample 4 --controls u1.h5 -o c1.h5
expect 0 'loss +0$' gradient "$pushed" --init c4.h5 --target c4.h5 --controls c4.h5
expect 0 'loss +0$' gradient "$pushed" --init c4.h5 --target c-none.h5 --controls u0.h5
expect 0 'loss +0$' gradient "$pushed" --init c1.h5 --target c1.h5 --controls u1.h5
expect 0 'by controls +[0-9.]*[1-9]' gradient "$pushed" --init c4.h5 --target c-none.h5 --controls u4.h5 -o gc.h5
expect 0 '"u": 0?[0-9.]+' gradient "$pushed" --init c4.h5 --target c-none.h5 --controls u4.h5 --json
expect 0 'loss_each' gradient "$pushed" --init c1.h5 --target c-none.h5 --controls u1.h5 --json
holds "controls of one sample are for all" test -z "$(
  tr -d ' \n' <out | grep -oE '"loss_each":\[[^]]*\]' | grep -E '[[,]0(\.0)?[],]')"
expect 0 'c4.h5 was made with controls, this run has none' gradient "$pushed" --init c4.h5 --target c4.h5
expect 1 'of 4 samples, but the run has 3' simulate "$pushed" --sample 3 --controls u4.h5 -o never.h5
expect 1 'of 50 time steps, but the run has 40' simulate "$pushed" --sample 4 --steps 40 --controls u4.h5 -o never.h5
expect 1 'give --dt 0.01' simulate "$pushed" --sample 4 --dt 0.02 --controls u4.h5 -o never.h5
expect 1 'cp3 has no controls' simulate cp3 --controls u4.h5 -o never.h5
expect 1 'dataset /u is missing' simulate "$pushed" --controls c-none.h5 -o never.h5
expect 1 'is the input u4.h5' simulate "$pushed" --sample 4 --controls u4.h5 -o u4.h5
expect 1 'has motion under controls' dataset "$pushed" --from c4.h5 -o never.h5
no_file never.h5
expect 2 'unrecognized option' check "$pushed" --controls u4.h5

# --- check
expect 0 'controls +[0-9]+ / [0-9]+ +[0-9.]+e-' check "$pushed" --sample 4 --directions 1 --steps 50
expect 0 '^pass: ' check "$pushed" --sample 4 --directions 1 --steps 50
sed -e '/"push"/d' -e 's/"disk"},$/"disk"}/' "$pushed" >turned.json
expect 0 '^pass: ' check turned.json --sample 4 --directions 1 --steps 50
expect 0 '^pass: ' check cp3 --sample 4 --directions 1
expect 0 '^pass: ' check cp3 --sample 4 --directions 1 --stabilize
expect 0 '^pass: ' check gyro --sample 4 --directions 1 --stabilize
expect 0 '^pass: ' check bp5 --sample 4 --directions 1 --friction coulomb
expect 0 '^pass: ' check bd1 --sample 4 --directions 1 --hold-contacts --compensation position
expect 0 '^pass: ' check gyro --sample 4 --directions 1 --friction coulomb
expect 0 '"pass": true' check bd1 --sample 4 --directions 1 --json
expect 0 '0 \(no effect\)' check cp3 --sample 4 --contact cm --dynamics lagrangian
expect 1 '^FAIL: ' check cp3 --sample 8 --stop-target-gradient
# cmr is checked too, so that its epsilon is of use
expect 0 '^cmr .*regularizer' check cp3 --sample 4 --directions 1 --epsilon 0.02
expect 2 'give --contact cmr too' check cp3 --contact cm --epsilon 0.02
# pyramids of friction: in the plane, in space, with joints, at the time of impact
for scene in cp3 bd5 gyro rope; do
  expect 0 '^pass: ' check $scene --contact lcp --sample 4 --directions 1
done
expect 0 '^pass: ' check gyro --contact lcp --contact-time event --sample 4 --directions 1
expect 1 'smoothing is 0.1, but it belongs to cone programs' simulate cp3 --contact lcp --smoothing 0.1
expect 2 'unrecognized option' check cp3 --dump-failures dumped
expect 0 'sampler \(16\)' check --help

# --- solve
cat >cone.json <<'END'
{"carom_cone_program": 1, "contact_count": 1, "dimension": 2,
 "A": [[2, 0], [0, 4]], "b": [-1, 1], "mu": [0.1], "lower": [0]}
END
expect 0 'status +solved' solve cone.json
expect 0 '"residual"' solve cone.json --json
cases=$(dirname "$(realpath "$0")")/data/cases
expect 0 'b projected on the range of A' solve "$cases/cone_1e66.json"
expect 0 '"projected": true' solve "$cases/cone_1e66.json" --json
expect 1 'status +unbounded' solve "$cases/cone_unbounded_solved.json"
# programs of the paper's event that are unbounded, and differentiated as they were solved
expect 0 '^pass: ' check "$cases/check_fail_11.json" --sample 8 --compensation paper
says 'cone programs of the chunks were NOT solved'
says 'drift off the constraints, was left out'
expect 0 '"projected_programs": [1-9]' check "$cases/check_fail_11.json" --sample 8 --compensation paper --json \
  --directions 1
expect 2 'is missing' solve
expect 1 'cannot be read|No such file' solve missing.json
echo '{"carom_cone_program": 1' >bad.json
expect 1 'bad.json:[0-9]+: not a JSON file' solve bad.json
sed 's/"b": \[-1, 1\]/"b": [-1]/' cone.json >bad.json
expect 1 'b has 1 entries, expected 2' solve bad.json
sed 's/"mu": \[0.1\]/"mu": [-0.1]/' cone.json >bad.json
expect 1 'mu\[0\] is -0.1' solve bad.json
sed 's/\[2, 0\]/[2, "x"]/' cone.json >bad.json
expect 1 'A\[0\]\[1\]|A\[0\]\[1\] is not a number' solve bad.json
sed 's/"dimension": 2/"dimension": 4/' cone.json >bad.json
expect 1 'dimension .* expected an integer from 1 to 3' solve bad.json

# --- bench: that it runs
expect 0 'reverse_us' bench events --seconds 0
expect 0 '"groups"' bench groups --seconds 0 --json
[ -n "${CAROM_TEST_QUICK:-}" ] || expect 0 'bp5-e +0 +0.00283 +yes +[0-9.]+ ' bench learn --tasks bp5-e --seeds 1 -q
expect 1 '--tasks cp4: expected a list like' bench learn --tasks cp4
expect 2 "no measurement 'speed'" bench speed
# three variants of our own model, one of a baseline
measured=cm-cd-clnn
[ -n "${CAROM_TEST_QUICK:-}" ] && measured=mlp-cd-clnn
expect 0 'gemm_share' bench train --scene cp3 --model $measured --seconds 0
expect 1 "no training of 'cp4' is measured" bench train --scene cp4
expect 1 "no training of 'clnn' is measured" bench train --model clnn

# --- bad options
expect 2 '--sample 0: expected an integer' simulate cp3 --sample 0
expect 2 '--sample 99999999999: expected an integer from 1 to 2147483647' \
  simulate cp3 --sample 99999999999
# every option of the tables is in a help, and its range is that of the command line
"$(dirname "$make_bad_h5")/make_option_list" >options
holds "there are options" test "$(wc -l <options)" -gt 30
for command in $(cut -d ' ' -f 1 options | sort -u); do
  "$carom" "$command" --help >"help-$command"
done
lines=0
while read -r command flag value; do
  holds "carom $command --help has $flag" grep -qE -- " $flag[= ]" "help-$command"
  lines=$((lines + 1))
  [ -n "${CAROM_TEST_QUICK:-}" ] && [ $((lines % 4)) -ne 0 ] && continue
  [ "$value" = - ] || expect 2 "carom $command: $flag $value: expected " "$command" "$flag" "$value"
done <options
expect 2 '--steps x' simulate cp3 --steps x
expect 2 '--steps -3' simulate cp3 --steps -3
expect 2 '--dt 0:' simulate cp3 --dt 0
expect 2 '--dt nan' simulate cp3 --dt nan
expect 2 '--contact pgs: expected one of cm, cmr, lcp' simulate cp3 --contact pgs
expect 2 '--integrator leapfrog' simulate cp3 --integrator leapfrog
expect 2 '--seed -1' simulate cp3 --seed -1
expect 2 'exclude each other' simulate cp3 --init a.h5 --sample 3
expect 2 'a scene is missing' simulate
expect 2 "'bd5' is one more" simulate cp3 bd5

# --- bad scenes
expect 1 'no-such-scene' simulate no-such-scene
echo '{"carom": 1, ' >scene.json
expect 1 'scene.json' simulate scene.json -o never.h5
echo '{"carom": 1, "name": "x", "dimension": 2, "wings": 2}' >scene.json
expect 1 'wings' simulate scene.json -o never.h5
no_file never.h5

# --- bad input files: none of them leaves an output
for kind in good nan infinity no-v points off-constraint rank text mass mass-negative mass-count \
  restitution misspelt; do
  holds "make_bad_h5 $kind" "$make_bad_h5" $kind $kind.h5
done
expect 0 'steps' simulate cp3 --init good.h5 --steps 3
expect 1 'nan.h5: /x\[0\]\[0\]\[0\] is NaN' simulate cp3 --init nan.h5 -o never.h5
expect 1 'infinity.h5: /x\[0\]\[0\]\[0\] is infinite' simulate cp3 --init infinity.h5 -o never.h5
expect 1 'no-v.h5: dataset /v is missing, expected \[samples = 1\]\[points = 3\]' \
  simulate cp3 --init no-v.h5 -o never.h5
expect 1 'points.h5: .* shape \[1\]\[2\]\[2\], expected \[samples\]\[points = 3\]\[dimension = 2\]' \
  simulate cp3 --init points.h5 -o never.h5
expect 1 'rank.h5: .* shape \[3\]\[2\], expected \[samples\]' simulate cp3 --init rank.h5 -o never.h5
expect 1 'text.h5: dataset /x does not hold numbers' simulate cp3 --init text.h5 -o never.h5
expect 1 'off-constraint.h5: ' simulate cp3 --init off-constraint.h5 -o never.h5
expect 0 'steps' simulate cp3 --init off-constraint.h5 --tolerance 1 --steps 3
expect 1 'missing.h5: cannot be read: No such file' simulate cp3 --init missing.h5 -o never.h5
expect 1 'scene.json: is not an HDF5 file' simulate cp3 --init scene.json -o never.h5
expect 1 'is not a regular file' simulate cp3 --init . -o never.h5
head -c 3000 a.h5 >short.h5
expect 1 'short.h5: ' simulate cp3 --init short.h5 -o never.h5
expect 1 'points = 12|points = 4' simulate gyro --init a.h5 -o never.h5
expect 1 'expected \[samples\]\[states\]' gradient cp3 --init good.h5 --target good.h5 -o never.h5
expect 0 'steps' simulate cp3 --parameters mass.h5 --steps 3
expect 1 "mass of body 'a' is -1, expected > 0" simulate cp3 --parameters mass-negative.h5 -o never.h5
expect 1 'shape \[4\], expected \[bodies = 3\]' simulate cp3 --parameters mass-count.h5 -o never.h5
expect 1 'restitution.h5: .*restitution' simulate cp3 --parameters restitution.h5 -o never.h5
expect 1 '/masses is not a parameter' simulate cp3 --parameters misspelt.h5 -o never.h5
no_file never.h5
no_leftover

# --- bad outputs
expect 1 'no-folder/x.h5: cannot be written: No such file' simulate cp3 -o no-folder/x.h5
expect 1 'a.h5/x.h5: cannot be written: Not a directory' simulate cp3 -o a.h5/x.h5
expect 1 'cannot be written: Is a directory' simulate cp3 -o .
expect 1 'cannot be written: No such file' gradient cp3 --init a.h5 --target a.h5 -o no-folder/x.h5
if [ -c /dev/full ]; then
  expect 1 '/dev/full: cannot be written: No space left' simulate cp3 -o /dev/full
  holds "/dev/full is still a device" test -c /dev/full
  "$carom" list >/dev/full 2>err
  if [ $? -eq 1 ] && grep -q 'No space left' err; then pass; else fail "carom list >/dev/full"; fi
fi
expect 0 'written +/dev/null' simulate cp3 -o /dev/null
holds "/dev/null is still a device" test -c /dev/null

# an existing file stays as it was when a run fails
cp a.h5 kept.h5
expect 1 'nan.h5' simulate cp3 --init nan.h5 -o kept.h5
holds "kept.h5 is as it was" cmp a.h5 kept.h5
# a link stays a link
ln -s real.h5 link.h5
: >real.h5
expect 0 'written' simulate cp3 -o link.h5
holds "link.h5 is a link" test -L link.h5
holds "real.h5 is written" test -s real.h5

# --- Ctrl-C: ends soon, says so, leaves nothing
for signal in INT TERM; do
  "$carom" simulate billiards --sample 8 --steps 20000 --substeps 2000 --threads 1 -q \
    -o stopped.h5 >out 2>err &
  job=$!
  sleep 0.5
  kill -$signal $job
  wait $job
  code=$?
  if [ $code -eq 130 ] && grep -q 'interrupted' err; then pass; else fail "$signal: code $code"; fi
  no_file stopped.h5
  no_leftover
done

finish
