# What the tests of the command line share; sourced after `carom` is set. Works in a folder of its own
# that is removed at the end.
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
cd "$folder" || exit 1

# built NAME: the path of a program in the folder `build`
built() {
  local found
  found=$(find "$build" -name "$1" -type f -perm -u+x | head -n 1)
  [ -n "$found" ] || { echo "$1 is not in $build" >&2; exit 1; }
  echo "$found"
}

fail() {
  failed=$((failed + 1))
  echo "FAILED: $1"
  sed 's/^/    /' out err 2>/dev/null | head -n 20
}

# expect CODE PATTERN ARGUMENTS...: exit code, and a piece of the output (standard error included)
expect() {
  local code=$1 pattern=$2
  shift 2
  "$carom" "$@" >out 2>err </dev/null
  local found=$?
  if [ $found -ne "$code" ]; then
    fail "carom $*: exit code $found, expected $code"
  elif ! grep -qE -- "$pattern" out err; then
    fail "carom $*: no '$pattern' in the output"
  else
    pass
  fi
}

# says PATTERN: the output of the last `expect` has this piece too
says() {
  if grep -qE -- "$1" out err; then pass; else fail "no '$1' in the output of the last command"; fi
}

# holds DESCRIPTION COMMAND...: the command succeeds
holds() {
  local description=$1
  shift
  if "$@" >/dev/null 2>&1; then pass; else fail "$description"; fi
}
