#!/bin/sh
# Every module that Sluice and the playground, or Sluice and the notifier, are built from must have one version in both: or else it, and all that
# imports it, is compiled twice, which is minutes where it is a Kubernetes library; and tests would meet another client than
# users do. Names the modules that differ, and how to fix it.
set -eu
cd "$(dirname "$0")/.."

# versions prints "module version" for all that the module in folder $1 and its tests are built from. -e, because it is
# for the compiler, not for this, to say what does not build.
versions() {
	(cd "$1" && go list -e -deps -test -f '{{with .Module}}{{if not .Main}}{{.Path}} {{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}{{end}}{{end}}' ./...) >"$work/list"
	sort -u "$work/list"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
versions . >"$work/main"
status=0
for other in playground notifier; do
	versions "$other" >"$work/other"
	join "$work/main" "$work/other" | awk '$2 != $3' >"$work/differ"
	while read -r module main theirs; do
		newer=$(printf '%s\n%s\n' "$main" "$theirs" | sort -V | tail -n 1)
		folder=$other
		if [ "$newer" = "$theirs" ]; then folder=.; fi
		echo "$module is $main in go.mod but $theirs in $other/go.mod. Fix it: (cd $folder && go get $module@$newer)" >&2
		status=1
	done <"$work/differ"
done
exit $status
