#!/usr/bin/env bash
# Runs the checks and sums them up in a last line "N passed, N failed".
#   scripts/test.sh [all|gcc|clang|asan|valgrind|mpi|fuzz|install|viewer|python|arm64]...
#     gcc, clang   build with warnings as errors, run the suite
#     asan         the suite under AddressSanitizer and UndefinedBehaviorSanitizer
#     valgrind     the unit tests and a few commands, shortened, under valgrind
#     mpi          built with MPI: the program and its library as 1, 2 and 4 ranks
#     fuzz         the scene parser, for FUZZ_SECONDS (20)
#     install      into a temporary prefix, and build an example with what is there
#     viewer       the viewer: types, units, whether viewer/dist is up to date, pages in headless Chromium
#     python       the Python package with Debian's Python, and once under AddressSanitizer
#     arm64        unit tests of the engine and the network for arm64, cross-compiled and run by qemu (not
#                  part of all; the packages: scripts/install-dependencies.sh arm64)
# One failing check does not keep the others from running.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
jobs=$(nproc)
passed=0
failed=0
failures=()
skipped=()

# pass NAME, fail NAME: one check is over
pass() {
  passed=$((passed + 1))
}
fail() {
  failed=$((failed + 1))
  failures+=("$1")
}

# skip NAME: a check that cannot be made here; the reason is told at the end
skip() {
  skipped+=("$1")
}

# check NAME COMMAND...: a command whose success is one check
check() {
  local name=$1
  shift
  if "$@"; then
    pass "$name"
  else
    fail "$name"
    return 1
  fi
}

# build PRESET: configures and compiles, once
declare -A built
build() {
  if [ -z "${built[$1]:-}" ]; then
    echo "== build: $1"
    check "build: $1" build_quietly "$1"
    built[$1]=$?
  fi
  return "${built[$1]}"
}
build_quietly() {
  cmake --preset "$1" >/dev/null && cmake --build --preset "$1" -j "$jobs"
}

# suite PRESET: builds and runs CTest, whose tests are counted one by one
suite() {
  build "$1" || return 1
  echo "== suite: $1"
  local log=build/$1/ctest.log
  ctest --preset "$1" -j "$jobs" 2>&1 | tee "$log"
  local failing total
  total=$(sed -n 's/.*tests failed out of \([0-9]*\)$/\1/p' "$log")
  failing=$(sed -n 's/.* \([0-9]*\) tests failed out of [0-9]*$/\1/p' "$log")
  if [ -z "$total" ]; then
    fail "suite: $1 (no tests ran)"
    return 1
  fi
  passed=$((passed + total - failing))
  failed=$((failed + failing))
  local name
  while read -r name; do
    failures+=("$1: $name")
  done < <(sed -n 's/^[ \t]*[0-9]* - \([^ ]*\) (.*)$/\1/p' "$log")
}

# fuzz: a bounded run from the seeds in tests/fuzz/corpus; what it finds grows build/fuzz/corpus
fuzz() {
  build fuzz || return 1
  echo "== fuzz: scene parser, ${FUZZ_SECONDS:-20} s"
  mkdir -p build/fuzz/corpus build/fuzz/artifacts
  check "fuzz: scene parser" fuzz_quietly
}
fuzz_quietly() {
  local options=(-max_total_time="${FUZZ_SECONDS:-20}" -max_len=4096 -timeout=10 -rss_limit_mb=2048
    -artifact_prefix=build/fuzz/artifacts/ -print_final_stats=1)
  local dictionary
  for dictionary in tests/fuzz/*.dict; do
    [ -e "$dictionary" ] && options+=(-dict="$dictionary")
  done
  build/fuzz/scene_fuzz "${options[@]}" build/fuzz/corpus tests/fuzz/corpus \
    >build/fuzz/fuzz.log 2>&1
  local status=$?
  if [ $status -ne 0 ]; then
    tail -n 40 build/fuzz/fuzz.log
  else
    grep -E 'number_of_executed_units|new_units_added' build/fuzz/fuzz.log
  fi
  return $status
}

# install: each way in which a user may find the library
installed() {
  build gcc || return 1
  echo "== install"
  local way
  for way in pkg-config-shared pkg-config-static cmake-shared cmake-static program version; do
    check "install: $way" scripts/test-install.sh build/gcc "$way"
  done
}

# in_viewer COMMAND...: runs it in viewer/
in_viewer() { (cd viewer && "$@"); }

# npm's packages, as package-lock.json says, where they are not there yet
viewer_packages() {
  local done=viewer/node_modules/.package-lock.json
  if [ ! -e "$done" ] || [ viewer/package-lock.json -nt "$done" ]; then
    in_viewer npm ci --no-audit --no-fund --loglevel=error --fetch-retries=1 --fetch-timeout=60000
  fi
}
registry_answers() { in_viewer npm ping --loglevel=error --fetch-retries=0 --fetch-timeout=20000 >/dev/null 2>&1; }

# viewer: once, whatever compiled the program. Without npm's registry there are no packages to test with.
viewer() {
  build gcc || return 1
  echo "== viewer"
  if ! viewer_packages; then
    if registry_answers; then
      fail "viewer: packages (npm ci in viewer/ failed)"
    else
      skip "viewer: npm's registry ($(npm config get registry)) does not answer, and viewer/node_modules is not there"
    fi
    return 1
  fi
  pass "viewer: packages"
  check "viewer: types" in_viewer npx --no-install tsc --noEmit
  check "viewer: units" in_viewer node test.mjs
  check "viewer: dist is up to date" in_viewer node build.mjs --check
  check "viewer: pages in Chromium" in_viewer node browser/run.mjs ../build/gcc
}

# python_suite PRESET [COMMAND...]: installs the package with the library of a preset and runs its tests, which
# are counted one by one; the command runs them (env, to set variables)
python_suite() {
  local preset=$1
  shift
  build "$preset" || return 1
  echo "== python: $preset"
  check "python: $preset: installs" scripts/python.sh target "$preset" || return 1
  local log=build/$preset/pytest.log
  PYTHONPATH=build/python/$preset "$@" /usr/bin/python3 -m pytest -q -rf -p no:cacheprovider python/tests \
    2>&1 | tee "$log"
  local status=${PIPESTATUS[0]}
  local good bad name
  good=$(grep -oE '[0-9]+ passed' "$log" | tail -n 1 | cut -d ' ' -f 1)
  bad=$(grep -cE '^(FAILED|ERROR) ' "$log")
  passed=$((passed + ${good:-0}))
  failed=$((failed + bad))
  while read -r _ name _; do
    failures+=("python $preset: $name")
  done < <(grep -E '^(FAILED|ERROR) ' "$log")
  if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then fail "python: $preset (pytest ended with $status)"; fi
}

# python: at full speed, then numpy's part under the sanitizers; Python itself is not built for them and leaks
python_package() {
  python_suite gcc env
  python_suite asan env CAROM_TEST_QUICK=1 CAROM_TEST_NO_TORCH=1 LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 OMP_WAIT_POLICY=passive
}

# arm64: libraries in a folder of their own, then the tests that the preset names
arm64_libraries() { scripts/arm64-sysroot.sh build/arm64-sysroot; }
arm64() {
  echo "== libraries: arm64"
  check "libraries: arm64" arm64_libraries || return 1
  suite arm64
}

[ $# -eq 0 ] && set -- all
for stage in "$@"; do
  case "$stage" in
    all)
      suite gcc
      suite clang
      suite asan
      suite valgrind
      suite mpi
      fuzz
      installed
      viewer
      python_package
      ;;
    gcc | clang | asan | valgrind | mpi) suite "$stage" ;;
    fuzz) fuzz ;;
    install) installed ;;
    viewer) viewer ;;
    python) python_package ;;
    arm64) arm64 ;;
    *)
      echo "usage: scripts/test.sh [all|gcc|clang|asan|valgrind|mpi|fuzz|install|viewer|python|arm64]..." >&2
      exit 2
      ;;
  esac
done

echo
for name in "${failures[@]+"${failures[@]}"}"; do
  echo "failed: $name"
done
for name in "${skipped[@]+"${skipped[@]}"}"; do
  echo "SKIPPED $name"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
