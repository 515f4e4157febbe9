#!/usr/bin/env bash
# The walk of a training step: the files and functions of src/ that one call of carom_trainer_step runs
# through, counted by gcov on CP3; once everything is allocated, and the first call beside it.
#   scripts/walk.sh [--list]      --list: every function, with its calls
# Then the comments: lines of comment for each line of code in src/**/*.c.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/walk
mkdir -p $build

cat >$build/step.c <<'END'
#include <carom.h>
#include <stdio.h>
#include <stdlib.h>

void __gcov_reset(void);
void __gcov_dump(void);

// argument: steps that are not counted, before the one that is
int main(int argc, char **argv) {
  carom_error error = {0};
  carom_system *system;
  carom_dataset *data;
  carom_model *model;
  carom_trainer *trainer;
  if (argc < 2 || carom_system_load("cp3", &system, &error) != CAROM_OK) return 1;
  carom_dataset_options d = carom_dataset_default_options(system);
  d.train = 100, d.validation = d.test = 0, d.threads = 1;
  carom_model_options m = carom_model_default_options(system);
  m.hidden_size = 32, m.threads = 1;
  const carom_trainer_options t = carom_trainer_default_options();
  if (carom_dataset_generate(system, NULL, &d, &data, &error) != CAROM_OK ||
      carom_model_options_by_data(&m, system, data, &error) != CAROM_OK ||
      carom_model_create(system, &m, &model, &error) != CAROM_OK ||
      carom_trainer_create(model, data, &t, &trainer, &error) != CAROM_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  for (int k = atoi(argv[1]); k >= 0; k--) {
    __gcov_reset();
    if (carom_trainer_step(trainer, 100, NULL, NULL, &error) != CAROM_OK) return 1;
  }
  __gcov_dump();
  _Exit(0); // what comes after is not counted
}
END

cmake -S . -B $build -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=--coverage -DCAROM_TESTS=OFF \
  -DCAROM_EXAMPLES=OFF >/dev/null
cmake --build $build -j "$(nproc)" --target carom_static >/dev/null
read -ra libraries <<<"$(pkg-config --libs openblas jansson) $(pkg-config --libs hdf5 2>/dev/null ||
  pkg-config --libs hdf5-serial)"
cc -Iinclude $build/step.c $build/libcarom.a --coverage -fopenmp "${libraries[@]}" -lm -o $build/step

# walk BEFORE [LIST]: runs, then reads what gcov counted
walk() {
  find $build -name '*.gcda' -delete
  $build/step "$1"
  (cd $build && find . -name '*.gcda' -exec gcov --json-format --stdout {} + 2>/dev/null) |
    python3 -c '
import json, sys
calls = {}
for line in sys.stdin:
    for file in json.loads(line)["files"]:
        name = file["file"].split("/src/")[-1]
        if "/src/" not in file["file"] or name.startswith("../"):
            continue
        for f in file["functions"]:
            key = (name, f["name"])
            calls[key] = max(calls.get(key, 0), f["execution_count"])
ran = sorted(key for key in calls if calls[key] > 0)
sources = {file for file, _ in ran if not file.endswith(".h")}
headers = {file for file, _ in ran if file.endswith(".h")}
inside = sum(file.endswith(".h") for file, _ in ran)
print(f"{len(sources)} files, {len(ran) - inside} functions; {inside} inline functions of {len(headers)} headers")
if len(sys.argv) > 1:
    for file in sorted(sources | headers):
        print(file)
        for key in ran:
            if key[0] == file: print(f"  {calls[key]:9d}  {key[1]}")
' "${@:2}"
}

printf 'a training step, warm:   %s\n' "$(walk 1 "$@")"
printf 'the first one:           %s\n' "$(walk 0)"

# a line with a comment alone is a line of comment; blank lines are neither
find src -name '*.c' -exec cat {} + | awk '
  /^[ \t]*$/ {next}
  inside {comment++; if (/\*\//) inside = 0; next}
  /^[ \t]*\/\// {comment++; next}
  /^[ \t]*\/\*/ {comment++; if (!/\*\//) inside = 1; next}
  {code++}
  END {printf "comments:                %d lines for %d of code, %.3f\n", comment, code, comment / code}'
