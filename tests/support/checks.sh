# What all test scripts share: a folder that is removed at the end, the count of checks, the closing
# line.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0
failed=0

pass() { passed=$((passed + 1)); }

# check NAME COMMAND...: the command succeeds; its output is shown if it does not
check() {
  local name=$1
  shift
  if "$@" >"$folder/check.log" 2>&1; then
    pass
  else
    failed=$((failed + 1))
    echo "FAILED $name"
    cat "$folder/check.log"
  fi
}

# expect_empty NAME TEXT: passes if there is nothing to complain about
expect_empty() {
  if [ -z "$2" ]; then
    pass
  else
    failed=$((failed + 1))
    printf 'FAILED %s\n%s\n' "$1" "$2"
  fi
}

# finish: the closing line; the script's exit code
finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}
