#!/bin/sh
# Makes sure that there is a Prometheus server and its promtool, for the tests that ask a real one: those on the PATH, or else the release
# that go.mod pins, built into the folder $1 (about four minutes the first time), or else Debian's package where that may be installed.
# Where none of these works it says so and succeeds: the tests that need them are then skipped, and $1/not-run says which and why.
set -u
folder=$(cd "$1" && pwd)
rm -f "$folder/not-run"

if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
	exit 0
fi
echo "building Prometheus, which some tests ask, into bin/: minutes the first time (apt-get install prometheus is faster)" >&2
if (cd "$(dirname "$0")" && go build -ldflags '-s -w' -o "$folder/" github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/prometheus/cmd/promtool); then
	exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && { apt-get install -y prometheus || { apt-get update && apt-get install -y prometheus; }; }; then
	exit 0
fi
echo "NOT RUN: the tests of the Prometheus provider, the alerts and the dashboard, because there is no Prometheus: install the programs prometheus and promtool (Debian: apt-get install prometheus), then run make test again" >"$folder/not-run"
