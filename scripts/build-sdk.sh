#!/bin/sh
# Builds the SDK of one language, with its conformance runner and its examples, from what is in the checkout.
#
#   scripts/build-sdk.sh typescript|python|golang|rust|swift
#
# Everything that is made lies under .build and dist folders; a second time only what changed is made again.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
built=$root/.build/sdk
mkdir -p "$built"
cd "$root/sdk/${1:?which language?}"

case $1 in
  typescript)
    "$root/node_modules/.bin/tsc" -p tsconfig.json
    "$root/node_modules/.bin/tsc" -p tsconfig.checks.json
    ;;
  python)
    hash=$(sha256sum pyproject.toml | cut -c1-64)
    if [ "$(cat "$built/python/.stamp" 2>/dev/null || true)" != "$hash" ]; then
      rm -rf "$built/python"
      python3 -m venv "$built/python"
      # In place: the sources are used as they are in the checkout.
      "$built/python/bin/pip" install --quiet --disable-pip-version-check --editable ".[check]"
      echo "$hash" >"$built/python/.stamp"
    fi
    ;;
  golang)
    # Its own and the standard library only, so nothing is fetched.
    GOTOOLCHAIN=local GOFLAGS=-mod=mod GOPROXY=off go build -o "$built/golang/" ./conformance ./examples/...
    ;;
  rust)
    cargo build --locked --quiet --examples --target-dir "$root/.build/target-sdk"
    ;;
  swift)
    swift build --scratch-path "$built/swift"
    ;;
  *)
    echo "build-sdk: unknown language '$1'" >&2
    exit 2
    ;;
esac
