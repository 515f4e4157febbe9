#!/usr/bin/env bash
# The shape of the tree: includes between the folders of src/ point one way, files stay short, the
# public headers stand alone, examples know nothing else, and the shared library exports just that.
#   test_layering.sh [PROGRAM BUILD]
set -uo pipefail
build=${2:+$(realpath "$2")}
cd "$(dirname "$0")/.." || exit 1
source tests/support/checks.sh

# a folder includes from itself and from those before it
order=(base system physics contact rollout nn learn fit plan io)
# lines of a file
max_lines=800

# rank FOLDER: its place in the order, empty if it has none
rank() {
  local i
  for i in "${!order[@]}"; do
    [ "${order[$i]}" = "$1" ] && echo "$i"
  done
}

# wrong_includes FOLDER: includes in quotes that are not "carom.h" and not from here or above
wrong_includes() {
  local file line target here there
  here=$(rank "$1")
  while IFS=: read -r file line target; do
    [ "$target" = carom.h ] && continue
    there=$(rank "${target%%/*}")
    if [ -z "$there" ] || [ "$there" -gt "$here" ]; then
      echo "  $file:$line: src/$1 may not include \"$target\""
    fi
  done < <(grep -nHE '^ *# *include *"' "src/$1"/*.[ch] 2>/dev/null |
    sed -E 's/^([^:]*:[0-9]+:) *# *include *"([^"]*)".*/\1\2/')
}

# late_headers: sources whose first include is not their own header
late_headers() {
  local file header first
  for file in src/*/*.c; do
    header=${file%.c}.h
    [ -e "$header" ] || continue
    first=$(grep -m1 -E '^ *# *include' "$file")
    [ "$first" = "#include \"${header#src/}\"" ] || echo "  $file begins with $first"
  done
}

# every folder of src/ has a place in the order and includes accordingly
for path in src/*/; do
  name=$(basename "$path")
  if [ -z "$(rank "$name")" ]; then
    expect_empty "src/$name" "  src/$name has no place in the order of dependence"
  else
    expect_empty "includes of src/$name" "$(wrong_includes "$name")"
  fi
done

# files stay short
long=$(find include src cli bench examples tests -name '*.[ch]' -exec wc -l {} + 2>/dev/null |
  awk -v max=$max_lines '$2 != "total" && $1 > max {print "  " $2 ": " $1 " lines"}')
expect_empty "files of at most $max_lines lines" "$long"

# the program is a user of the library: its own headers and carom.h. What bench/ measures inside is
# listed here
inside=(bench/event_fixture.c:base/rng.h bench/event_fixture.h:contact/contact_event.h
  bench/ranks.c:base/ranks.h bench/ranks.c:learn/adamw.h bench/ranks.c:learn/model.h
  bench/training.c:learn/model.h bench/training.c:nn/gemm.h
  bench/training.c:nn/kernels.h)
insides=$(grep -oHE '^ *# *include *"[^"]*"' cli/*.[ch] bench/*.[ch] |
  sed -E 's/ *# *include *"([^"]*)"/\1/' | grep -vE ':(carom\.h|cli/.*|bench/.*)$' | sort)
expect_empty "insides that cli/ and bench/ include" \
  "$(comm -23 <(echo "$insides") <(printf '%s\n' "${inside[@]}" | sort) | sed 's/^/  /')"
expect_empty "insides that are listed and not included" \
  "$(comm -13 <(echo "$insides") <(printf '%s\n' "${inside[@]}" | sort) | sed 's/^/  /')"

# examples include <carom.h> and the standard library only
foreign=$(grep -nHE '^ *# *include *("|<[^>]*/)' examples/*.c)
expect_empty "includes of examples" "$foreign"

# the first include of src/a/b.c is "a/b.h" where that exists, so that headers are complete
expect_empty "own header first" "$(late_headers)"

# carom.h has every part of the interface
expect_empty "parts of carom.h" \
  "$(comm -3 <(sed -n 's/^#include "carom\/\(.*\)".*/\1/p' include/carom.h | sort) <(ls include/carom))"

# headers compile alone: the public ones as C17 and as C++, the internal ones as C17
warnings=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only)
for header in include/carom.h include/carom/*.h; do
  expect_empty "$header as C17" "$(cc -std=c17 "${warnings[@]}" -x c "$header" 2>&1)"
  for standard in c++11 c++20; do
    expect_empty "$header as $standard" \
      "$(g++ -std=$standard "${warnings[@]}" -x c++ "$header" 2>&1)"
  done
done
read -ra dependencies <<<"$(pkg-config --cflags jansson hdf5 2>/dev/null)"
internal=(-Iinclude -Isrc "${dependencies[@]}" -D_GNU_SOURCE -Wno-unused-function)
for header in src/*/*.h; do
  complaints=$(cc -std=c17 "${warnings[@]}" "${internal[@]}" -x c "$header" 2>&1)
  expect_empty "$header alone" "$complaints"
done

# the shared library exports what the public headers declare, no less and no more
if [ -n "$build" ]; then
  # the type of a pointer to a function, carom_status (*gradient)(...), is none of its names
  declared=$(cc -E -x c include/carom.h | sed 's/( *\*/ /g' | grep -oE '\bcarom_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u)
  exported=$(nm -D --defined-only "$build/libcarom.so" | awk '$3 !~ /^[_.]/ {print $3}' | sort -u)
  expect_empty "declared but not exported" "$(comm -23 <(echo "$declared") <(echo "$exported"))"
  expect_empty "exported but not declared" "$(comm -13 <(echo "$declared") <(echo "$exported"))"

  # before 1.0 a minor version may change the interface: it is part of the soname
  version=$(sed -n 's/^#define CAROM_VERSION "\(.*\)"/\1/p' include/carom/version.h)
  soname=$(readelf -d "$build/libcarom.so" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')
  expect_empty "soname" "$([ "$soname" = "libcarom.so.${version%.*}" ] || echo "  $soname of $version")"
fi

finish
