#!/usr/bin/env bash
# `carom plan` as a user calls it: built-in plans, files, learned properties, bad input, Ctrl-C, and what
# pages and pictures make of its files.
#   test_cli_plan.sh PROGRAM BUILD
set -uo pipefail
carom=$(realpath "$1")
source "$(dirname "$0")/support/cli_harness.sh"

# number FIELD: of the JSON that the last command printed
number() { sed -n "s/^ *\"$1\": \([-0-9.e+]*\),*$/\1/p" out | head -n 1; }
# below A B: A < B
below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }

# ---- built-in plans ----
expect 0 'two-balls +Push one ball' plan --list
for name in billiards ground-wall hit vertical; do says "^$name "; done
expect 0 'written +tb.h5' plan two-balls -o tb.h5
expect 0 '"report"' plan two-balls --json --quiet
holds "two-balls is at its optimum" below "$(number loss)" 1.3975
holds "and not below it" below 1.3955 "$(number loss)"
expect 0 '"report"' plan two-balls --optimizer gradient-descent --lr 1 --json --quiet
holds "gradient descent arrives too" below "$(number loss)" 1.3975
expect 0 'success +yes' plan hit -o hit.h5
says 'absolute position of a just before contact 2 \(bottom\)'
expect 0 'success +yes' plan vertical
expect 0 '8 of 8 starts reach the goal' plan ground-wall --starts 8 --seed 3
expect 0 '"loss"' plan billiards --iterations 2 --json --quiet
holds "billiards goes down" below "$(number loss)" "$(number first_loss)"

# threads do not matter
expect 0 written plan ground-wall --starts 4 --threads 1 -o one.h5
expect 0 written plan ground-wall --starts 4 --threads 3 -o three.h5
holds "the same bytes from any threads" cmp one.h5 three.h5

# ---- pages, pictures, other commands ----
holds "view" "$carom" view hit.h5 -o page.html
holds "render" "$carom" render tb.h5 -o tb.png
holds "the motion after alone" "$carom" render hit.h5 --role after -o hit.png
holds "controls that were found" "$carom" view tb.h5 -o page.html

# ---- learned properties ----
expect 0 written train bd1 --train 20 --val 4 --test 4 --epochs 1 --hidden 8 --layers 1 --quiet -o run
expect 0 'loss in truth' plan hit --properties run --iterations 3 -o learned.h5
says 'success, truth'
holds "three motions" "$carom" view learned.h5 -o page.html
expect 1 'the run is of another scene than the plan' plan ground-wall --properties run -o no.h5
expect 1 'nowhere/config.json' plan hit --properties nowhere -o no.h5

# ---- files ----
cat >throw.json <<'END'
{
  "carom_plan": 1,
  "name": "throw",
  "scene": "box.json",
  "start": [{"body": "ball", "position": [0, 1]}],
  "unknowns": [{"body": "ball", "quantity": "velocity", "start": [1, 1], "low": -5, "high": 5}],
  "objective": [{"term": "position", "body": "ball", "target": [0.9, 0.3], "at": {"time": 0.5}}],
  "optimizer": {"goal": 1e-10}
}
END
cat >box.json <<'END'
{"carom": 1, "name": "box", "dimension": 2, "dt": 0.01, "steps": 100, "gravity": [0, -9.81],
 "bodies": [{"id": "ball", "type": "point", "mass": 1, "radius": 0.1}],
 "planes": [{"id": "floor", "normal": [0, 1], "offset": 0}],
 "contacts": {"friction": 0.1, "restitution": 0.7},
 "initial": {"sampler": "state", "bodies": [{"body": "ball", "position": [0, 0.5]}]}}
END
mkdir -p sub && cp throw.json box.json sub
expect 0 'success +yes' plan throw.json -o throw.h5
expect 0 'success +yes' plan sub/throw.json
expect 1 'time 0.5 is beyond the end of the motion, 0.3' plan throw.json --steps 30 -o no.h5
says 'throw.json:7: objective\[0\]'

# bad FROM TO PATTERN: the plan with one thing changed is refused with this message
bad() {
  sed "s/$1/$2/" throw.json >bad.json
  expect 1 "$3" plan bad.json -o no.h5
}
bad '"unknowns"' '"unknown"' 'bad.json:6: unknown: unknown field; did you mean .unknowns.'
bad '"body": "ball", "quantity"' '"body": "bell", "quantity"' \
  "bad.json:6: unknowns\[0\].body: there is no body 'bell'; did you mean 'ball'"
bad '"body": "ball", "target"' '"body": "cube", "target"' "bad.json:7: objective\[0\].body: there is no body 'cube'"
bad '0.5}' '1.5}' 'bad.json:7: objective\[0\]: time 1.5 is beyond the end'
bad '"velocity"' '"rate"' "'ball' is a point mass and does not turn"
bad '"position": \[0, 1\]' '"position": [0, 0.05]' 'would start in contact: ball\|floor overlap by 0.05'
bad '"time": 0.5' '"step": 0' 'without effect: the objective does not depend on ball velocity x, ball velocity y'
bad '"goal": 1e-10' '"goal": "far"' 'bad.json:8: optimizer.goal: goal far: expected'
bad '"scene": "box.json"' '"scene": "bx.json"' "bad.json:4: scene: 'bx.json' is neither a scene file"
bad '"carom_plan": 1' '"carom_plan": 2' 'bad.json:2: carom_plan: must be a whole number from 1 to 1'
expect 1 'this is a scene' plan box.json -o no.h5
expect 1 "'no.json' is neither a plan file nor a built-in plan" plan no.json -o no.h5
expect 2 'a plan is missing' plan
expect 2 'lr 0: expected a positive number' plan hit --lr 0
expect 2 'expected one of gradient-descent, adamw, l-bfgs' plan hit --optimizer newton
sed 's/"low": -5, "high": 5/"low": -5/' throw.json >open.json
expect 1 'does not say where to draw them' plan open.json --starts 3 -o no.h5
holds "nothing is written" test ! -e no.h5
expect 1 'No such file or directory|cannot' plan hit -o nowhere/out.h5
cp throw.json kept.json
expect 1 'kept.json' plan kept.json -o kept.json
holds "a plan is not overwritten" cmp throw.json kept.json

# ---- Ctrl-C: the best so far is written ----
"$carom" plan throw.json --optimizer adamw --lr 1e-7 --goal 0 --iterations 2000000 -o stopped.h5 >out 2>err &
job=$!
for _ in $(seq 200); do grep -q planning err && break; sleep 0.1; done
kill -INT "$job"
wait "$job"
holds "exit code 130" test $? -eq 130
holds "the best so far" test -s stopped.h5
holds "and says so" grep -q 'interrupted' err
finish
