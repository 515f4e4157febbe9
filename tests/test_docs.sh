#!/usr/bin/env bash
# What the documents name is there: files, functions, types and tests in backticks, and the targets of
# links within the tree.
#   test_docs.sh
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
source tests/support/checks.sh

folders=(include src cli bench python tests examples scenes plans cmake scripts docs)
words=$folder/words
{
  grep -rhoE '[A-Za-z_][A-Za-z0-9_]*' include src cli bench python tests examples cmake scripts \
    --include='*.[ch]' --include='*.py' --include='*.sh' --include='*.cmake' --include='*.txt'
  # sources and tests by their names
  find src cli bench python tests -name '*.[ch]' -o -name '*.sh' -o -name '*.py' | sed 's|.*/||; s|\..*||'
} | sort -u >"$words"

# missing_files DOCUMENT: files in backticks, with or without their folder
missing_files() {
  local name
  grep -oE '`[A-Za-z0-9_./-]+\.(c|h|sh|json|md|svg|cmake)`' "$1" | tr -d '`' | sort -u |
    while read -r name; do
      case "$name" in
        config.json | evaluation.json | learning.json | learning.md | drop.json | mine.json) continue ;;
      esac
      [ -e "$name" ] && continue
      find "${folders[@]}" -path "*/$name" | grep -q . || echo "  $1 names $name, which is not there"
    done
}

# missing_names DOCUMENT: identifiers in backticks that no source has; a name that begins or ends with
# _ stands for all that end or begin so
missing_names() {
  local name
  grep -oE '`[a-z_][a-z0-9]*(_[a-z0-9]+)+_?\*?(\(\))?`' "$1" | tr -d '`()*' | sort -u |
    while read -r name; do
      case "$name" in
        _*) grep -q -- "$name\$" "$words" ;;
        *_) grep -q "^$name" "$words" ;;
        *) grep -qx "$name" "$words" ;;
      esac || echo "  $1 names $name, which is nowhere in the sources"
    done
}

# broken_links DOCUMENT: links to files of the tree
broken_links() {
  local target
  grep -oE '\]\([^)# ]+' "$1" | cut -c3- | grep -v '^https\?:' | sort -u | while read -r target; do
    [ -e "$(dirname "$1")/$target" ] || echo "  $1 links to $target, which is not there"
  done
}

# missing_in_picture FILE: identifiers in the text of a picture
missing_in_picture() {
  local name
  grep -oE '[a-z]+(_[a-z]+)+' "$1" | sort -u | while read -r name; do
    grep -qx "$name" "$words" || echo "  $1 names $name, which is nowhere in the sources"
  done
}
expect_empty "names in architecture.svg" "$(missing_in_picture docs/architecture.svg)"

for document in README.md CONTRIBUTING.md CHANGELOG.md docs/*.md; do
  expect_empty "links of $document" "$(broken_links "$document")"
done
# what users' own files and options are called stands in the others too
for document in CONTRIBUTING.md docs/architecture.md docs/theory.md; do
  expect_empty "files in $document" "$(missing_files "$document")"
  expect_empty "names in $document" "$(missing_names "$document")"
done

finish
