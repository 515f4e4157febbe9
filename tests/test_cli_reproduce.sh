#!/bin/bash
# `carom reproduce` as a user would call it: runs that are those of `carom train` and `carom
# evaluate`, tables, going on after an interrupt, bad input. usage: test_cli_reproduce.sh PROGRAM
set -u

carom=$(realpath "$1")
source "$(dirname "$(realpath "$0")")/support/cli_harness.sh"

small=(--train 40 --val 8 --test 8 --hidden 8 --layers 2 --steps 60 --threads 1)

# row FOLDER SECTION PATTERN: the first row of a section of table2.md with the pattern
row() { sed -n "/^## $2/,/^## /p" "$1/table2.md" | grep -m 1 -- "$3"; }

# has ROW PATTERN: the row matches
has() {
  if grep -qE -- "$2" <<<"$1"; then pass; else fail "no '$2' in the row '$1'"; fi
}

# estimate FILE NAME: a number of the error along the chunks in evaluation.json
estimate() {
  awk -v name="\"$2\":" '/"relative_error"/ {in_it = 1}
    in_it && $1 == name {print $2 + 0; exit}' "$1/evaluation.json"
}

# set_contact FILE FRICTION RESTITUTION: puts learned values into an evaluation.json
set_contact() {
  sed -i -e "s/^      \"friction\": .*/      \"friction\": $2,/" \
    -e "s/^      \"restitution\": .*/      \"restitution\": $3,/" "$1/evaluation.json"
}

# --- runs and tables
expect 0 'Example:' reproduce --help
expect 0 'runs +8 trained, 0 were there' reproduce table2 --tasks cp3,bp5 \
  --models cm-cd-clnn,cmr-cd-chnn --seeds 2 --epochs 2 "${small[@]}" -o all
# no epoch is needed where the warm start is within the tolerance
holds "one line for each run" test "$(grep -c 'seed [01]  [0-2] epochs  error' out)" -eq 8
for file in config.json metrics.csv best.h5 last.h5 data.h5 evaluation.h5 evaluation.json; do
  holds "$file of the last run" test -s all/bp5/cmr-cd-chnn/seed1/$file
done

# --- a run is that of `carom train` and `carom evaluate`
expect 0 'friction' train cp3 --model cmr-cd-chnn --seed 1 --epochs 2 "${small[@]}" -o one
expect 0 'relative' evaluate one
for file in config.json data.h5 best.h5 last.h5 evaluation.h5; do
  holds "the same $file" cmp one/$file all/cp3/cmr-cd-chnn/seed1/$file
done
holds "the same evaluation" cmp <(grep -v '"run"' one/evaluation.json) \
  <(grep -v '"run"' all/cp3/cmr-cd-chnn/seed1/evaluation.json)

# --- the report: all tables, and a plot of each figure for each task
holds "a report" grep -q '</html>' all/report.html
holds "its tables" grep -q '<td>cp3</td><td>cm-cd-clnn</td><td class="number">2</td>' all/report.html
for figure in 'Figure 3' 'Figure 4' 'Figure 6'; do
  holds "$figure" grep -q "<h3>$figure" all/report.html
done
holds "plots" test "$(grep -c '<svg' all/report.html)" -eq 5
holds "the paper's error of CP3" grep -q 'paper (appendices K, L)' all/report.html
holds "no script" sh -c "! grep -q '<script' all/report.html"

# --- the tables: truth, learned with five decimals and its range, the paper's
number='[0-9]+\.[0-9]{5}'
has "$(row all Friction '| cp3 | cm-cd-clnn')" \
  "\| 2 \| 0.500 \| $number \($number .. $number\) \| 0.500 \|.*\| 0.005 \| \*\*no\*\* \|$"
has "$(row all Friction '| cp3 | cmr-cd-chnn')" '\| 0.023 \|'
holds "bp5 has no shared friction" test -z "$(row all Friction '| bp5 |')"
# the paper prints the ratios of CP3 under CP3-e
has "$(row all Mass '| cp3 | cm-cd-clnn | 2 | m2/m1')" '\| 2.000 \|.*\| 2.0006 \|'
has "$(row all Mass '| bp5 | cm-cd-clnn | 2 | m5/m1')" '\| 10.000 \|.*\| 10.0024 \|'
has "$(row all Properties '| bp5 | cm-cd-clnn | 1')" "^\\| bp5 \\| cm-cd-clnn \\| 1 \\| $number \\| $number \\|$"
has "$(row all Properties '| bp5 | a-c')" \
  "^\| bp5 \| a-c \| 0.400 \| $number \| 0.200 \| $number \| [0-9]+ \| [0-9]+ \|$"
has "$(row all Properties '| bp5 | e.|top')" '^\| bp5 \| e\\\|top \| 0.100'
has "$(row all Errors '| cp3 | cm-cd-clnn')" '\| 2.34e-05 \(1.3e-05\) \| \*\*no\*\* \|'
has "$(row all Runs 'bp5 cm-cd-clnn 1')" '`carom train bp5 --model cm-cd-clnn --seed 1 .*\| 0 of'
spent=$(awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == "seconds") at = k }
  NR > 1 { sum += $at } END { printf "%.1f", sum }' all/bp5/cm-cd-clnn/seed1/metrics.csv)
has "$(row all Runs 'bp5 cm-cd-clnn 1')" "\\| 2 \\| [012] \\| $spent \\| 0 of"
holds "the command is there" grep -q '^    carom reproduce table2 --tasks cp3,bp5' all/table2.md
for field in '"at_least_as_close": false' '"source": "appendix K"' '"unsolved_programs": 0'; do
  holds "table2.json has $field" grep -qF "$field" all/table2.json
done

# --- mean and interval over two seeds are those of one sample of 16 trajectories
pooled=$(for seed in 0 1; do
  for name in count mean half_width_95; do estimate all/cp3/cm-cd-clnn/seed$seed $name; done
done | awk '{v[NR] = $1} END {
  n = v[1] + v[4]; mean = (v[1] * v[2] + v[4] * v[5]) / n
  for (k = 0; k < 2; k++) {
    variance = v[3 * k + 1] * (v[3 * k + 3] / 1.96) ^ 2
    sum += (v[3 * k + 1] - 1) * variance + v[3 * k + 1] * (v[3 * k + 2] - mean) ^ 2
  }
  printf "%.2e (%.1e)", mean, 1.96 * sqrt(sum / (n * (n - 1)))}')
holds "the interval $pooled" grep -qF "| cp3 | cm-cd-clnn | 2 | $pooled |" all/table2.md

# --- every seed's value counts, rounded as the paper's
cp -r all edited
set_contact edited/cp3/cm-cd-clnn/seed0 0.49952 0.00548
set_contact edited/cp3/cm-cd-clnn/seed1 0.5 0.0
expect 0 'written' reproduce table2 --tables -o edited
has "$(row edited Friction '| cp3 | cm-cd-clnn')" '0.49976 \(0.49952 .. 0.50000\) \| 0.500 \| yes'
has "$(row edited Friction '| cp3 | cm-cd-clnn')" '0.00274 \(0.00000 .. 0.00548\) \| 0.005 \| yes'
set_contact edited/cp3/cm-cd-clnn/seed0 0.49949 0.00551
expect 0 'written' reproduce table2 --tables -o edited
has "$(row edited Friction '| cp3 | cm-cd-clnn')" '0.500 \| \*\*no\*\* \|.*0.005 \| \*\*no\*\*'

# --- what is done is not done again; other tasks and seeds join the tables
cp -r all again
expect 0 'runs +0 trained, 8 were there' reproduce table2 --tasks cp3,bp5 \
  --models cm-cd-clnn,cmr-cd-chnn --seeds 2 -o again
holds "no run was touched" diff -r -x "table2.*" -x report.html all again
expect 0 'runs +1 trained, 1 were there' reproduce table2 --tasks cp3,bd1 --models cm-cd-clnn \
  --epochs 2 "${small[@]}" -o again
has "$(row again Friction '| bd1 |')" "\| 1 \| 0.200 \| $number \| - \| - \| 0.800"
has "$(row again Friction '| cp3 | cmr-cd-chnn')" '\| 2 \| 0.500'
expect 0 'WARNING: kept as it is.*train.epochs = 2, not 3' reproduce table2 --tasks cp3 \
  --models cm-cd-clnn --epochs 3 -o again
expect 0 '"properties": \[' reproduce table2 --tables --json -o again
holds "as in the file" cmp out again/table2.json

# --- the command that the tables name makes the same run
expect 0 'runs +1 trained' reproduce table2 --tasks cp3 --models cm-cd-chnn --paper --epochs 1 \
  --lr 0.002 --double --noise 0.01 --share 0.3 --contact cmr --batch 7 "${small[@]}" \
  -o "the paper's"
command=$(grep -o '`carom train [^`]*`' "the paper's/table2.md" | tr -d '`')
holds "it names --paper" grep -q -- '--paper' <<<"$command"
mkdir remade
(cd remade && eval "\"$carom\" ${command#carom }" >/dev/null 2>&1)
for file in config.json last.h5; do
  holds "the same $file from '$command'" cmp "the paper's/cp3/cm-cd-chnn/seed0/$file" \
    remade/cp3/cm-cd-chnn/seed0/$file
done

# --- Ctrl-C, and the same command once more; meanwhile another process leaves the run alone
long=(table2 --tasks cp3 --models cm-cd-clnn --schedule constant --batch 1 "${small[@]}" -q)
"$carom" reproduce "${long[@]}" --epochs 1000000 -o stopped >out 2>err &
job=$!
metrics=stopped/cp3/cm-cd-clnn/seed0/metrics.csv
for _ in $(seq 600); do
  [ -e $metrics ] && [ "$(wc -l <$metrics)" -ge 4 ] && break
  kill -0 $job 2>/dev/null || break
  sleep 0.05
done
expect 0 '0 trained, 0 were there, 1 are trained by another' reproduce "${long[@]}" -o stopped
kill -INT $job
wait $job
code=$?
holds "exit code 130, not $code" test $code -eq 130
goal=$(($(tail -n 1 $metrics | cut -d, -f1) + 2))
expect 0 'runs +1 trained' reproduce "${long[@]}" --epochs $goal -o stopped
expect 0 'runs +1 trained' reproduce "${long[@]}" --epochs $goal -o whole
holds "the same as without the interrupt" cmp stopped/cp3/cm-cd-clnn/seed0/last.h5 \
  whole/cp3/cm-cd-clnn/seed0/last.h5
# trained, but not evaluated
rm whole/cp3/cm-cd-clnn/seed0/evaluation.json
expect 0 'taken up' reproduce table2 --tasks cp3 --models cm-cd-clnn -o whole
holds "evaluated again" test -s whole/cp3/cm-cd-clnn/seed0/evaluation.json

# --- a run that diverges does not keep the others from going on
expect 1 'smaller learning rate' train cp3 --lr 1e200 --epochs 9 "${small[@]}" \
  -o diverged/cp3/cm-cd-clnn/seed0
expect 1 '1 trained, 0 were there, 1 FAILED' reproduce table2 --tasks cp3 \
  --models cm-cd-clnn,cm-cd-chnn --epochs 9 "${small[@]}" -o diverged
holds "it says why" grep -q 'diverged/cp3/cm-cd-clnn/seed0: .*smaller learning rate' err
holds "the other is in the tables" grep -q '| cp3 | cm-cd-chnn | 1 |' diverged/table2.md
expect 1 '0 trained, 0 were there, 1 FAILED' reproduce table2 --tasks cp3 --models cm-cd-chnn \
  --lr 1e200 --epochs 9 "${small[@]}" -o diverged-alone

# --- experiments with options of their own, and baselines
tiny=(--val 4 --test 4 --hidden 8 --layers 2 --baseline-hidden 6 --epochs 2 --threads 1)
expect 0 'runs +7 trained, 0 were there' reproduce baselines --tasks cp3 --train 10 --steps 60 "${tiny[@]}" \
  -o more
holds "mu of ours alone" test "$(grep -c '  mu ' out)" -eq 4
for model in mlp-cd-clnn in-cp-clnn in-cp-sp; do
  holds "$model" grep -qE "^\| cp3 \| $model \| 1 \| [0-9.e+-]+ \([0-9.e+-]+\)" more/baselines.md
done
expect 0 'runs +0 trained, 7 were there' reproduce long --tasks cp3 --train 10 --steps 60 "${tiny[@]}" -o more
holds "steps" grep -q 'step 50' more/long.md
expect 0 'runs +0 trained, 1 were there' reproduce energy --tasks cp3 --models in-cp-sp --train 10 --steps 60 \
  "${tiny[@]}" -o more
expect 0 'left out +3 experiments' reproduce samples --quick --models mlp-cd-clnn "${tiny[@]}" -o more
holds "what was shortened" grep -qF -- '**--quick: 100 training' more/samples.md
holds "its size" grep -qE '^\| bp5\+n50 \| mlp-cd-clnn \| 50 \|' more/samples.md
expect 0 'runs +4 trained' reproduce regularizer --tasks cp3 --train 10 "${tiny[@]}" -o more
holds "the paper's" grep -qE '^\| cp3\+epsilon0.1 \| cmr-cd-clnn .*\| 0.501 \|.*\| 0.180 \|' more/regularizer.md
expect 0 'runs +2 trained, 1 were there' reproduce noise --tasks cp3 --models cm-cd-clnn --train 10 --steps 60 \
  "${tiny[@]}" -o more
expect 0 'runs +1 trained' reproduce scalability --tasks rope50 --quick "${tiny[@]}" -q -o more
holds "times" grep -qE '^\| rope50\+time \| cm-cd-clnn \| 0\.[0-9]+ \| 0.869 \|' more/scalability.md
expect 0 'runs +1 trained' reproduce rope --tasks rope50 --models mlp-cd-clnn --train 10 "${tiny[@]}" -o more
holds "the paper's error" grep -qE '\| 1.85e-02 \(2.5e-03\) \|' more/rope.md
expect 0 'runs +4 trained' reproduce lcp --tasks cp3 --train 10 --steps 60 "${tiny[@]}" -o more
holds "LCP data" grep -qE '`carom train cp3 --model cm-cd-clnn .*--contact lcp' more/lcp.md
for name in lcp baselines long energy samples regularizer noise scalability rope; do
  holds "data of $name" test -s more/$name.h5
done
holds "all in one report" grep -q 'Appendix L: ropes' more/report.html
expect 0 'runs +0 trained, 1 were there' reproduce learning --tasks cp3 --models cm-cd-clnn --train 10 --steps 60 \
  "${tiny[@]}" -o more
holds "no rows of variants" sh -c "! grep -q 'n25' more/table2.md"
expect 2 'samples has no experiment on these tasks' reproduce samples --tasks gyro -o more
expect 2 'that --quick does not leave out' reproduce rope --tasks rope200 --quick -o more

# --- plans, with the scene's properties and with learned ones; solved once
plans=(--train 10 --val 4 --test 4 --hidden 4 --layers 1 --epochs 1 --threads 1 -q -o planned)
expect 0 'written +planned/planning.md' reproduce planning "${plans[@]}"
holds "eight plans" test "$(grep -cE '^\| [a-z-]+ \| (the scene.s|learned, cm-cd-clnn, seed 0) \| [a-z-]+ \| (event|step) \|' \
  planned/planning.md)" -eq 8
holds "the throw is found" grep -qE "^\| hit \| the scene's \|.* \| 1e-02 \| yes \|" planned/planning.md
# gradient descent ends where the reference implementation does
near_reference() {
  awk -F ' *[|] *' '$2 == "billiards-as-paper" && NF == 8 {
      off = $6 - $7; n++; if (off > 5e-4 || off < -5e-4) bad = 1} END {exit bad || n != 4}' planned/planning.md
}
holds "the reference's end of billiards" near_reference
holds "pictures" test "$(grep -o '<img ' planned/report.html | wc -l)" -eq 8
holds "curves" grep -q 'Loss of ground-wall' planned/report.html
holds "a page of all plans" test "$(grep -c 'class="carom-document">' planned/planning.html)" -eq 8
before=$(stat -c '%n %y' planned/plans/*)
if [ -z "${CAROM_TEST_QUICK:-}" ]; then # else the next one says it of the plans that are whole
  expect 0 'runs +0 trained, 1 were there' reproduce planning "${plans[@]}"
  holds "no plan is solved again" test "$before" = "$(stat -c '%n %y' planned/plans/*)"
fi
echo '{' >planned/plans/hit.json
rm planned/plans/vertical.h5
touch planned/bd1+event/cm-cd-clnn/seed0/best.h5
expect 0 'runs +0 trained, 1 were there' reproduce planning "${plans[@]}"
holds "but those whose files are broken, missing or older than their run" test \
  "$(stat -c '%n %y' planned/plans/* | grep -vxF "$before" | grep -cE '/(hit|vertical)(-learned.*)?\.json')" -eq 4

# --- wrong usage and broken folders
expect 2 'what to reproduce is missing' reproduce -o x
expect 2 '-o DIR is missing' reproduce table2
expect 2 'expected one of table2' reproduce teaching -o x
expect 2 "'cp4' is not a built-in scene" reproduce table2 --tasks cp3,cp4 -o x
expect 2 '--models: .*cnn' reproduce table2 --models cnn -o x
expect 2 'cp3 is there twice' reproduce table2 --tasks cp3,cp3 -o x
expect 2 'expected an integer from 1' reproduce table2 --seeds 0 -o x
expect 2 'unrecognized option' reproduce table2 --data x.h5 -o x
expect 1 'x: holds no evaluated run' reproduce table2 --tables -o x
holds "nothing was made" test ! -e x
rm again/cp3/cm-cd-clnn/seed0/evaluation.json
expect 2 'train.batch = 200, not 8' reproduce table2 --tasks cp3 --models cm-cd-clnn --batch 8 \
  -o again
echo '{}' >again/cp3/cm-cd-clnn/seed0/evaluation.json
expect 1 'cp3/cm-cd-clnn/seed0/evaluation.json: is not an evaluation' reproduce table2 -o again
head -c 3000 all/cp3/cm-cd-clnn/seed0/evaluation.json >again/cp3/cm-cd-clnn/seed0/evaluation.json
expect 1 'seed0/evaluation.json:[0-9]+:[0-9]+: cannot be read' reproduce table2 --tables -o again
rm all/bp5/cm-cd-clnn/seed0/metrics.csv
expect 1 'metrics.csv: cannot be read: No such file' reproduce table2 --tables -o all

finish
