#!/usr/bin/env bash
# Installs a build into a temporary prefix and uses it in one of the ways a user would.
#   scripts/test-install.sh BUILD WAY
# WAY is pkg-config-shared, pkg-config-static, cmake-shared, cmake-static, program or version.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath "$1")
way=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
example=$source/examples/resume.c

cmake --install "$build" --prefix "$prefix" >/dev/null
libdir=$(dirname "$(find "$prefix" -name libcarom.a)")
export PKG_CONFIG_PATH=$libdir/pkgconfig
cd "$work" # where the example leaves its files

# with_cmake COMPONENT: a project of its own that finds the package
with_cmake() {
  mkdir "$work/project"
  cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C)
find_package(carom 0.1 REQUIRED COMPONENTS $1)
add_executable(user $example)
target_link_libraries(user PRIVATE carom::carom m)
END
  cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
  cmake --build "$work/project/build" >/dev/null
  "$work/project/build/user" >/dev/null
}

# expect_link shared|static FILE: whether it asks for libcarom.so at run time
expect_link() {
  local found=static
  if readelf -d "$2" | grep -q 'NEEDED.*libcarom\.so\.'; then found=shared; fi
  if [ "$found" != "$1" ]; then
    echo "expected the $1 library, linked the $found one" >&2
    return 1
  fi
}

case "$way" in
  pkg-config-shared)
    read -ra flags <<<"$(pkg-config --cflags --libs carom)"
    cc "$example" "${flags[@]}" -lm -o "$work/user"
    expect_link shared "$work/user"
    LD_LIBRARY_PATH=$libdir "$work/user" >/dev/null
    ;;
  pkg-config-static)
    text=$(pkg-config --static --cflags --libs carom | sed 's/-lcarom/-l:libcarom.a/')
    read -ra flags <<<"$text"
    cc "$example" "${flags[@]}" -o "$work/user"
    expect_link static "$work/user"
    "$work/user" >/dev/null
    ;;
  cmake-shared)
    with_cmake shared
    expect_link shared "$work/project/build/user"
    ;;
  cmake-static)
    with_cmake static
    expect_link static "$work/project/build/user"
    ;;
  program)
    "$prefix/bin/carom" --version >/dev/null
    "$prefix/bin/carom" list >/dev/null
    headers=$(cd "$source" && ls include/carom.h include/carom/*.h)
    for file in $headers share/carom/docs/scene.schema.json share/carom/scenes/cp3.json; do
      if [ ! -f "$prefix/$file" ]; then
        echo "$file was not installed" >&2
        exit 1
      fi
    done
    ;;
  version)
    # header, library, soname, pkg-config and CMake package tell the same version
    header=$(sed -n 's/^#define CAROM_VERSION "\(.*\)"/\1/p' "$prefix/include/carom/version.h")
    soname=$(readelf -d "$libdir/libcarom.so" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')
    package=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$libdir"/cmake/carom/*version.cmake)
    cat >"$work/version.c" <<'END'
#include <carom.h>
#include <string.h>
int main(void) {
  return carom_version_number() != CAROM_VERSION_NUMBER || strcmp(carom_version(), CAROM_VERSION);
}
END
    read -ra flags <<<"$(pkg-config --cflags --libs carom)"
    cc "$work/version.c" "${flags[@]}" -o "$work/user"
    LD_LIBRARY_PATH=$libdir "$work/user" || { echo "header and library differ" >&2; exit 1; }
    told="$soname $(pkg-config --modversion carom) $package $("$prefix/bin/carom" --version)"
    if [ "$told" != "libcarom.so.${header%.*} $header $header carom $header" ]; then
      echo "the header has $header, the others tell $told" >&2
      exit 1
    fi
    ;;
  *)
    echo "unknown way '$way'" >&2
    exit 2
    ;;
esac
