#!/bin/sh
# Runs every fuzz target of the module for $1 each, such as 30s, and fails if one finds something. What it finds is written into the
# package's testdata/fuzz: commit it with the fix, so that every `go test` tries it again.
set -eu
cd "$(dirname "$0")/.."
time=${1:?say for how long each target is to run, such as 30s}

targets=$(grep -rno --include='*_test.go' '^func Fuzz[A-Za-z]*(f \*testing.F)' internal api cmd | sed 's/(f.*//; s/:[0-9]*:func / /')
[ -n "$targets" ] || { echo "no fuzz target was found" >&2; exit 1; }
failed=
while read -r file target; do
	package=./$(dirname "$file")
	echo "▸ $package $target"
	go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time" || failed="$failed $package.$target"
done <<END
$targets
END
[ -z "$failed" ] || { echo "these found something:$failed" >&2; exit 1; }
