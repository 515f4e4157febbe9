#!/usr/bin/env bash
# Builds and installs the Python package.
#   scripts/python.sh install          for the Python that is active: a virtual environment's, else the user's
#   scripts/python.sh target PRESET    into build/python/PRESET, with the library that a preset has built
# PYTHON is /usr/bin/python3 unless it is given or a virtual environment is active. Nothing is asked of the
# network.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python3}}
python=${python:-/usr/bin/python3}
options=(. --no-build-isolation --no-deps --no-index --quiet --root-user-action=ignore)

case "${1:-}" in
  install)
    # Debian's own folders are left alone: --user is not among them
    if [ -z "${VIRTUAL_ENV:-}" ]; then
      options+=(--user)
      ! "$python" -m pip install --help | grep -q break-system-packages || options+=(--break-system-packages)
    fi
    CAROM_BUILD_DIR=build/release "$python" -m pip install "${options[@]}" --force-reinstall
    "$python" -c 'import carom; print("carom", carom.__version__, "in", carom.__path__[0])'
    ;;
  target)
    preset=${2:?a preset}
    flags=()
    [ "$preset" != asan ] || flags=(CFLAGS="-fsanitize=address,undefined -g" LDFLAGS="-fsanitize=address,undefined")
    env CAROM_BUILD_DIR="build/$preset" "${flags[@]}" "$python" -m pip install "${options[@]}" --upgrade \
      --target "build/python/$preset"
    ;;
  *)
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
