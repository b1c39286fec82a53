#!/bin/sh
# Runs every fuzz target of the module for $1 each, such as 30s, or those that match $2, and fails if one finds something. What it finds is
# written into the package's testdata/fuzz: commit it with the fix, so that every `go test` tries it again.
set -eu
cd "$(dirname "$0")/.."
time=${1:?say for how long each target is to run, such as 30s}
wanted=${2:-.}

module=$(go list -m)
binaries=$(mktemp -d)
trap 'rm -rf "$binaries"' EXIT

# fuzz runs a target of a package. Minimizing is for what is found: by default it takes up to a minute for each input that reaches new code.
fuzz() {
	if ! go list -test -deps "./$1" | grep -qx sigs.k8s.io/controller-runtime; then
		go test "./$1" -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 20x
		return
	fi
	# `go test -fuzz` instruments all that is linked, Kubernetes' libraries too, and compares and sends their counters with every run: 20 runs a
	# second. With those of this module alone there are 2,000.
	binary=$binaries/$(echo "$1" | tr / -)
	[ -e "$binary" ] || go test -c -gcflags="$module/...=-d=libfuzzer" -o "$binary" "./$1" || return
	(cd "$1" && "$binary" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$time" -test.fuzzminimizetime 20x -test.fuzzcachedir "$(go env GOCACHE)/fuzz/$module/$1")
}

targets=$(grep -rno --include='*_test.go' '^func Fuzz[A-Za-z]*(f \*testing.F)' internal api cmd | sed 's/(f.*//; s/:[0-9]*:func / /' | grep -e "$wanted")
[ -n "$targets" ] || { echo "no fuzz target was found" >&2; exit 1; }
failed=
while read -r file target; do
	package=$(dirname "$file")
	echo "▸ $package $target"
	fuzz "$package" "$target" || failed="$failed $package.$target"
done <<END
$targets
END
[ -z "$failed" ] || { echo "these found something:$failed" >&2; exit 1; }
