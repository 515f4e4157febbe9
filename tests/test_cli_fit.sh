#!/usr/bin/env bash
# `carom fit` and `carom import` as a user calls them: a tracked ball from a CSV file, poses, bad input.
#   test_cli_fit.sh PROGRAM BUILD
set -uo pipefail
carom=$(realpath "$1")
build=$(realpath "$2")
here=$(realpath "$(dirname "$0")")
source "$(dirname "$0")/support/cli_harness.sh"

# a ball that falls from 0.5 above the ground and bounces with restitution 0.8 under 9.81, in closed form,
# positions in centimetres at 100 frames a second; it moves to the right by 0.3 a second
cat >ball.json <<'JSON'
{"carom": 1, "name": "ball", "dimension": 2, "dt": 0.01, "steps": 100, "gravity": [0, -9],
 "bodies": [{"id": "ball", "type": "point", "mass": 1, "radius": 0.1}],
 "planes": [{"id": "ground", "normal": [0, 1], "offset": 0}],
 "contacts": {"friction": 0, "restitution": 0.5, "time": "event"},
 "initial": {"sampler": "state", "bodies": [{"body": "ball", "position": [0, 0.6]}]}}
JSON
awk 'BEGIN {
  g = 9.81; e = 0.8; print "t,x,y"
  for (k = 0; k < 120; k++) {
    t = k * 0.01; height = 0.5; flight = sqrt(2 * height / g); speed = 0; s = t
    if (s < flight) y = height - g * s * s / 2
    else {
      s -= flight; speed = g * flight * e
      while (s > 2 * speed / g) { s -= 2 * speed / g; speed *= e }
      y = speed * s - g * s * s / 2
    }
    printf "%.4f,%.12g,%.12g\n", t, 100 * 0.3 * t, 100 * (y + 0.1)
  }
}' >track.csv

expect 0 "1 of 120 to 120 states, time step 0.01" import ball.json track.csv --length-factor 0.01 -o track.h5
says "there are none"
expect 0 "written +run/fit.json" fit ball.json --data track.h5 --unknown gravity,restitution -o run
holds "gravity" awk '$1 == "gravity" && $2 > 9.80 && $2 < 9.82 {found = 1} END {exit !found}' out
holds "restitution" awk '$1 ~ /^restitution/ && $2 > 0.795 && $2 < 0.805 {found = 1} END {exit !found}' out
holds "files" test -s run/fit.h5 -a -s run/parameters.h5 -a -s run/fit.json
expect 0 "impacts" simulate ball.json --parameters run/parameters.h5
expect 0 '"estimates"' fit ball.json --data track.h5 --unknown gravity --json

# missing states, several trajectories and files
sed 's/^0.5000.*/0.5000,,/' track.csv >gap.csv
expect 0 "2 of 120" import ball.json track.csv gap.csv --length-factor 0.01 -o two.h5
expect 0 "gravity" fit ball.json --data two.h5 --unknown gravity --use 0-0 --quiet
says "is not determined|gravity"

# bad input
printf 'a,b\n1,2\n' >wrong.csv
expect 1 "no position of body 'ball'" import ball.json wrong.csv -o none.h5
holds "nothing written" test ! -e none.h5
printf 'x,y\n0,1\n0,1\n' >still.csv
expect 1 "give --dt" import ball.json still.csv -o none.h5
printf 't,x,y\n0,0,1\n0.01,0,1\n0.05,0,1\n' >uneven.csv
expect 1 "row 4: a time step|row 3: a time step" import ball.json uneven.csv -o none.h5
expect 1 "No such file" import ball.json nowhere.csv -o none.h5
expect 2 "no file to import" import ball.json -o none.h5
expect 2 "--unknown LIST is missing" fit ball.json --data track.h5
expect 2 "--data FILE is missing" fit ball.json --unknown gravity
expect 1 "did you mean 'gravity'" fit ball.json --data track.h5 --unknown gravty
expect 1 "trajectories 0 to 0" fit ball.json --data track.h5 --unknown gravity --use 0-5
expect 1 "nothing else is left" fit ball.json --data track.h5 --unknown gravity --hold-out 0-0
expect 2 "expected A-B" fit ball.json --data track.h5 --unknown gravity --use five
expect 1 "No such file" fit ball.json --data nowhere.h5 --unknown gravity

# real tosses of a cube, where they are
tosses=$here/../../shared/data/cube_tosses.h5
if [ -e "$tosses" ]; then
  expect 0 "500 of 80 to 442 states" import "$here/../examples/scenes/cube.json" "$tosses" -o cube.h5
  says "step before each state"
  # from far values to those that predict: friction beside what others found, predictions of tosses that were not fitted
  expect 0 "predicted  *4 trajectories" fit "$here/../examples/scenes/cube.json" --data cube.h5 --velocity next \
    --use 0-7 --hold-out 400-403 --horizon 60 --unknown friction:start=0.3,moment:shared
  says "friction.* 0\.1[5-9]"
  says "spread between trajectories"
else
  echo "SKIPPED: no cube_tosses.h5"
fi

finish
