#!/usr/bin/env bash
# `carom view` and `carom render` as a user calls them: every kind of input, bad ones, and what comes out.
# What the page does in a browser is tried in viewer/browser.
#   test_cli_view.sh PROGRAM BUILD
set -uo pipefail
program=$(realpath "$1")
source "$(dirname "$0")/support/checks.sh"
cd "$folder" || exit 1

# fails STATUS TEXT COMMAND...: ends with this status, the message has the text, and nothing is written
fails() {
  local status=$1 text=$2
  shift 2
  rm -f out.*
  "$program" "$@" >fails.out 2>fails.err
  local code=$?
  [ "$code" -eq "$status" ] || { echo "exit code $code of: $*"; cat fails.err; return 1; }
  grep -qF -- "$text" fails.err || { echo "no '$text' in:"; cat fails.err; return 1; }
  ! ls out.* >/dev/null 2>&1
}
size_of() { stat -c %s "$1"; }

check "simulate" "$program" simulate bd5 --sample 3 --steps 50 -o bd5.h5
check "simulate again" "$program" simulate bd5 --sample 3 --seed 4 --steps 50 -o other.h5
check "simulate space" "$program" simulate gyro --steps 50 -o gyro.h5
check "data" "$program" dataset cp3 --train 8 --val 2 --test 2 -o data.h5
check "train" "$program" train cp3 --data data.h5 --epochs 2 --hidden 4 --layers 1 -o runs/a
check "evaluate" "$program" evaluate runs/a
check "gradient" "$program" gradient bd5 --init bd5.h5 --target bd5.h5 --steps 50 -o gradient.h5

# ---- pages ----
for input in bd5.h5 gyro.h5 data.h5 runs/a runs runs/a/evaluation.h5 runs/a/best.h5 gradient.h5; do
  check "view $input" "$program" view "$input" -o page.html
  check "page of $input" grep -q '</html>' page.html
  check "a document of $input" grep -q 'class="carom-document">[A-Za-z0-9+/]' page.html
done
check "view of two files" "$program" view bd5.h5 other.h5 -o page.html
check "motions of one scene are one document" test "$(grep -c 'class="carom-document">' page.html)" -eq 1
check "view of two scenes" "$program" view bd5.h5 gyro.h5 -o page.html
check "two documents" test "$(grep -c 'class="carom-document">' page.html)" -eq 2
check "a small page" test "$(size_of page.html)" -lt 2000000
check "nothing from the network" sh -c "! grep -oE '(src|href)=\"https?:' page.html"
# names are text
cp bd5.h5 '<img src=x onerror=alert(1)>.h5'
check "view of a name with markup" "$program" view '<img src=x onerror=alert(1)>.h5' -o page.html
check "it is escaped" grep -qF '<title>&lt;img src=x onerror=alert(1)&gt;.h5</title>' page.html
check "and nowhere as it is" sh -c "! grep -qF '<img src=x' page.html"

# a name may be any bytes
cp bd5.h5 $'no\xffutf.h5'
check "view of a name that is no UTF-8" "$program" view $'no\xffutf.h5' -o page.html
mkdir $'runs\xff' && cp -r runs/a $'runs\xff/a'
check "and of such a folder" "$program" view $'runs\xff/a' -o page.html

# ---- inputs that cannot be shown ----
: >empty.h5
head -c 3000 bd5.h5 >cut.h5
{ head -c 4000 bd5.h5; printf 'XXXX'; tail -c +4005 bd5.h5; } >damaged.h5
echo '{"carom": 1}' >scene.json
mkdir nothing broken
echo '{' >broken/config.json
check "an empty file" fails 1 "empty.h5: is not an HDF5 file" view empty.h5 -o out.html
check "a file that is cut" fails 1 "cut.h5: damaged" view cut.h5 -o out.html
check "a damaged file" fails 1 "damaged.h5: damaged" view damaged.h5 -o out.html
check "no file" fails 1 "missing.h5: cannot be read" view missing.h5 -o out.html
check "a scene" fails 1 "scene.json: is not an HDF5 file" view scene.json -o out.html
check "a folder without runs" fails 1 "nothing: a folder without config.json" view nothing -o out.html
check "a broken run" fails 1 "broken/config.json" view broken -o out.html
check "one bad file among good ones" fails 1 "empty.h5" view bd5.h5 empty.h5 -o out.html
check "no input" fails 2 "what to view is missing" view -o out.html
check "no output" fails 2 "-o FILE is missing" view bd5.h5
check "output is input" fails 1 "bd5.h5" view bd5.h5 -o bd5.h5
check "another scene" fails 1 "" view bd5.h5 --scene missing.json -o out.html
head -c 100 runs/a/evaluation.json >evaluation.json
cp -r runs/a runs/b && mv evaluation.json runs/b/evaluation.json
check "a damaged evaluation" fails 1 "carom evaluate runs/b" view runs/b -o out.html

# ---- pictures ----
kind() { head -c "$2" "$1" | tail -c +"$3"; }
check "a PNG" "$program" render bd5.h5 --at 0.2 --size 200x150 -o still.png
check "that is one" test "$(kind still.png 4 2)" = PNG
check "of this size" test "$(od -An -tu1 -j16 -N8 still.png | tr -s ' ')" = " 0 0 0 200 0 0 0 150"
check "an SVG" "$program" render bd5.h5 --strobe 4 --trail 0 --theme dark -o still.svg
check "that is one" grep -q '<svg' still.svg
check "a GIF" "$program" render bd5.h5 --rate 10 --size 120x90 --range 0.1:0.4 --quiet -o motion.gif
check "that is one" test "$(kind motion.gif 6 1)" = GIF89a
check "space" "$program" render gyro.h5 --size 120x90 --turn 10,40 --quiet -o gyro.gif
check "truth and prediction" "$program" render runs/a/evaluation.h5 --sample 1 --size 120x90 -o pair.png
check "prediction alone" "$program" render runs/a/evaluation.h5 --role predicted --size 120x90 -o one.png
check "they differ" sh -c '! cmp -s pair.png one.png'
check "an overlay" "$program" render bd5.h5 --overlay other.h5 --size 120x90 -o overlay.png
check "the same bits again" sh -c "'$program' render bd5.h5 --at 0.2 --size 200x150 -o again.png && cmp still.png again.png"
if command -v ffmpeg >/dev/null; then
  check "an MP4" "$program" render bd5.h5 --rate 10 --size 121x91 --quiet -o motion.mp4
  check "that is one" test "$(kind motion.mp4 8 5)" = ftyp
else
  echo "SKIPPED: MP4, there is no ffmpeg"
fi
no_ffmpeg() {
  ! PATH=$folder/nothing "$program" render bd5.h5 -q -o out.mp4 2>no-ffmpeg.err &&
    grep -q 'needs the program ffmpeg' no-ffmpeg.err && [ -z "$(find . -name 'out.mp4*')" ]
}
check "no ffmpeg" no_ffmpeg
check "an unknown ending" fails 2 ".gif, .mp4, .png or .svg" render bd5.h5 -o out.bmp
check "no such sample" fails 1 "has 3 trajectories" render bd5.h5 --sample 7 -o out.png
check "no such role" fails 1 "has no motion 'predicted'" render bd5.h5 --role predicted -o out.png
check "a range that is over" fails 1 "the motion ends at" render bd5.h5 --range 100: -o out.png
check "a range that is upside down" fails 2 "--range" render bd5.h5 --range 3:1 -o out.png
check "a bad size" fails 2 "--size" render bd5.h5 --size 4 -o out.png
check "an overlay of another scene" fails 1 "is of gyro, not of bd5" render bd5.h5 --overlay gyro.h5 -o out.png
check "numbers that do not move" fails 1 "nothing to draw" render gradient.h5 -o out.png
check "a damaged file" fails 1 "damaged" render damaged.h5 -o out.png
check "an empty file" fails 1 "is not an HDF5 file" render empty.h5 -o out.gif

finish
