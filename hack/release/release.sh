#!/usr/bin/env bash
# Builds a release into dist/: the programs for every platform, built twice from what is committed, in two folders with a cache each, and
# compared byte by byte; a CycloneDX bill of materials beside each; the manifests and the chart with the version as the image's tag; and
# the checksums of all. Usage: release.sh VERSION [PLATFORM...]
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1:-}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || { echo "make release: VERSION is \"$version\": write it as v1.2.3" >&2; exit 2; }
shift
platforms=("$@")
[ -z "$(git status --porcelain)" ] || { git status --short; echo "make release: a release is what is committed: commit these first" >&2; exit 1; }

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
rm -rf dist
mkdir dist

# build FOLDER: all programs, from a fresh copy with a cache of its own.
build() {
	mkdir -p "$1/src" "$1/out"
	git archive HEAD | tar -x -C "$1/src"
	local platform program suffix module main
	for platform in "${platforms[@]}"; do
		for program in sluice-controller sluice-dashboard sluice-notifier sluice; do
			suffix= module=. main=./cmd/$program
			case $program-$platform in
			sluice-controller-linux/* | sluice-dashboard-linux/*) ;;
			sluice-controller-* | sluice-dashboard-*) continue ;; # they run in clusters
			sluice-notifier-*) module=notifier main=. ;; # people try templates with it, too
			esac
			case $platform in windows/*) suffix=.exe ;; esac
			(cd "$1/src/$module" && GOCACHE="$1/cache" CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} go build -trimpath -buildvcs=false \
				-ldflags "-s -w -X github.com/sluice-delivery/sluice/internal/buildinfo.version=$version" \
				-o "$1/out/$program-${platform//\//-}$suffix" "$main")
			echo "built $program for $platform" >&2
		done
	done
}
build "$work/one"
build "$work/two"
for f in "$work"/one/out/*; do
	cmp "$f" "$work/two/out/${f##*/}" || { echo "make release: ${f##*/} is not reproducible" >&2; exit 1; }
done
cp "$work"/one/out/* dist/

(cd hack/release && go build -o "$work/bill" .)
for f in "$work"/one/out/*; do
	"$work/bill" "$f" >"dist/${f##*/}.cdx.json"
done

# The manifests, with this version's image.
for folder in config deploy charts; do
	cp -RL "$folder" "$work/$folder"
done
grep -rlE 'sluice-(controller|dashboard|notifier):v' "$work/config" | xargs sed -i -E "s#(sluice-(controller|dashboard|notifier)):v[^ \"]*#\1:$version#"
sed -i "s|^appVersion: .*|appVersion: $version|; s|^version: .*|version: ${version#v}|" "$work/charts/sluice/Chart.yaml"
# Owners, times and order are fixed, so that the archives are reproducible, too.
pack() { tar --sort=name --owner=0 --group=0 --numeric-owner --mtime='@0' -C "$work" --exclude='*.go' --exclude=testdata -cf - "$2" "${@:3}" | gzip -n >"$1"; }
pack "dist/sluice-manifests-$version.tar.gz" config deploy
pack "dist/sluice-chart-$version.tgz" charts/sluice
(cd dist && sha256sum -- * >SHA256SUMS)
echo "the release is in dist/, and was the same twice:" >&2
cat dist/SHA256SUMS
