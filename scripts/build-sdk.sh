#!/bin/sh
# Builds the SDK of one language, with its conformance runner and its examples, from what is in the checkout.
#
#   scripts/build-sdk.sh typescript|claude-agent|python|golang|rust|swift [check]
#
#   check   build, and run the linters and type checkers of the language; of Swift, its own tests
#
# Everything that is made lies under .build and dist folders; a second time only what changed is made again.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
built=$root/.build/sdk
mkdir -p "$built"
cd "$root/sdk/${1:?which language?}"

isolated_go() { GOTOOLCHAIN=local GOFLAGS=-mod=mod GOPROXY=off go "$@"; }

case $1 in
  typescript)
    "$root/node_modules/.bin/tsc" -p tsconfig.json
    "$root/node_modules/.bin/tsc" -p tsconfig.checks.json
    ;;
  claude-agent)
    # On top of the one for TypeScript, whose declarations it is compiled with.
    "$root/node_modules/.bin/tsc" -p ../typescript/tsconfig.json
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
    isolated_go build -o "$built/golang/" ./conformance ./examples/...
    ;;
  rust)
    cargo build --locked --quiet --examples --target-dir "$root/.build/target-sdk"
    ;;
  swift)
    sh "$root/scripts/swift.sh" toolchain
    sh "$root/scripts/swift.sh" build --build-tests
    ;;
  *)
    echo "build-sdk: unknown language '$1'" >&2
    exit 2
    ;;
esac

[ "${2:-}" = check ] || exit 0
case $1 in
  python)
    python3 make_sync.py --check
    "$built/python/bin/ruff" check --quiet .
    "$built/python/bin/ruff" format --check --quiet .
    "$built/python/bin/mypy" --no-error-summary
    ;;
  golang)
    unformatted=$(gofmt -l .)
    [ -z "$unformatted" ] || {
      echo "gofmt: $unformatted" >&2
      exit 1
    }
    isolated_go vet ./...
    ;;
  rust)
    cargo fmt --check
    cargo clippy --locked --quiet --all-targets --target-dir "$root/.build/target-sdk" -- -D warnings
    ;;
  swift)
    sh "$root/scripts/swift.sh" test --skip-build
    sh "$root/scripts/swift.sh" describe | grep -q "Name: AgentKernel"
    ;;
esac
