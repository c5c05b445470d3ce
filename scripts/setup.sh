#!/bin/sh
# Brings a checkout to a state in which it runs: tools, Debian packages, npm packages, native binaries, bundle.
#
#   scripts/setup.sh [runtime|wasm|test|build|lint-worker] [--quiet]
#
#   runtime   what `agentkernel run` needs (the default), compiled to be there soon
#   wasm      the worker for WebAssembly, which the first call of a module makes too; an engine of minutes
#   test      everything, compiled as for a release, and what `npm test` needs beside it
#   build     everything, compiled as for a release and never taken from a cache; install no Debian package
#   lint-worker   clippy over the worker for WebAssembly, a step of `npm test`; sets nothing up
#
# Each step carries a stamp beside its output, with a hash of its inputs, and is skipped while that hash holds; so a
# removed output or a killed set-up is always made again. One set-up runs at a time; the lock is a kernel lock on
# .build/lock, which ends with its holder however that dies. Nothing is written to stdout: it belongs to the caller.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
mode=runtime
quiet=
announced=
for word in "$@"; do
  case $word in
    runtime | wasm | test | build | lint-worker) mode=$word ;;
    --quiet) quiet=yes ;;
    *)
      echo "setup: unknown word '$word'; use: scripts/setup.sh [runtime|wasm|test|build|lint-worker] [--quiet]" >&2
      exit 2
      ;;
  esac
done
exec </dev/null 1>&2

node=${AGENTKERNEL_NODE:-node}
node_floor=20.16
[ "$mode" != test ] || node_floor=20.19 # the test runner's own floor
rust_floor=1.88
log=$root/.build/setup.log
logging=

die() {
  echo "agentkernel: $1"
  [ -z "${2:-}" ] || echo "  next: $2"
  exit 1
}

# version_at_least FOUND FLOOR, on the first two numbers.
version_at_least() {
  found_major=${1%%.*} found_rest=${1#*.}
  found_minor=${found_rest%%[!0-9]*}
  [ "$found_major" -gt "${2%%.*}" ] || { [ "$found_major" -eq "${2%%.*}" ] && [ "${found_minor:-0}" -ge "${2#*.}" ]; }
}

hash_files() { sort -z | xargs -0 sha256sum -- | sha256sum | cut -c1-64; }

# done_with STAMP HASH: is this output already made from these inputs?
done_with() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

write_stamp() {
  echo "$2" >"$1.new"
  mv -f "$1.new" "$1"
}

. "$root/scripts/setup-steps.sh"
. "$root/scripts/setup-tools.sh"
. "$root/scripts/setup-native.sh"

# A run needs those that are bundled, and what bundles them; a checkout that has had all keeps all.
npm_packages() {
  which=$1
  case $(cat node_modules/.setup-stamp 2>/dev/null) in '' | *' run') ;; *) which=all ;; esac
  hash="$(cat package.json package-lock.json | sha256sum | cut -c1-64) $which"
  ! done_with node_modules/.setup-stamp "$hash" || return 0
  announce "about a minute the first time"
  omit=
  [ "$which" = all ] || omit=--omit=dev
  # shellcheck disable=SC2086
  step "npm packages" npm ci --ignore-scripts --no-audit --no-fund $omit
  write_stamp node_modules/.setup-stamp "$hash"
}

bundle() {
  hash=$(
    {
      find src -type f ! -name '*.test.ts' -print0
      find spec -maxdepth 1 -type f -name '*.json' -print0
      printf '%s\0' scripts/build.mjs scripts/bundle/entry.mjs scripts/bundle/parts.mjs package.json package-lock.json
    } | hash_files
  )
  ! done_with dist/.setup-stamp "$hash" || [ ! -f dist/agentkernel.js ] || [ ! -f dist/build-id ] || [ ! -f dist/wasm/quickjs.wasm ] ||
    return 0
  step "the command line" "$node" scripts/build.mjs
  write_stamp dist/.setup-stamp "$hash"
}

# What is compared with the build at every start, by the client and by scripts/embedded.sh: a plain list, since looking
# for files would take longer than looking at them. Folders are in it too: a file that was added, removed or renamed
# changes nothing but its folder.
list_sources() {
  {
    find src native spec -name '*.test.ts' -prune -o -path native/target -prune -o -print
    printf '%s\n' scripts/build.mjs scripts/bundle/entry.mjs scripts/bundle/parts.mjs package.json package-lock.json
  } >dist/.sources.new
  mv -f dist/.sources.new dist/sources.list
  {
    echo 'for source in \'
    sed "s/'/'\\\\''/g; s/.*/  \"\$root\"\/'&' \\\\/" <dist/sources.list
    echo '  ; do'
    echo '  [ ! "$source" -nt "$built" ] || return 1'
    echo 'done'
  } >dist/.sources.new
  mv -f dist/.sources.new dist/sources.sh
}

cd "$root"
mkdir -p .build 2>/dev/null && [ -w .build ] ||
  die "this checkout is not built and its folder cannot be written" "run as its owner: $root/scripts/setup.sh"
command -v flock >/dev/null || die "flock is missing" "install the package util-linux"
exec 9>.build/lock
flock -n 9 || {
  say "waiting for another set-up of this checkout"
  flock 9
}
# Made before anything is read: a source that changes from here on is newer than the build.
: >.build/started

if [ "$mode" = lint-worker ]; then
  lint_worker || exit 1
  exit 0
fi
check_tools
if [ "$mode" = wasm ]; then
  wasm_worker
  say_total
  exit 0
fi
if [ "$mode" = runtime ]; then
  npm_packages run
  native_programs checkout
  # One that is there is kept in step with its sources.
  ! all_there "$worker" || wasm_worker
else
  npm_packages all
  [ "$mode" != test ] || machine_kernel
  native_programs release
  wasm_worker
fi
bundle
list_sources
mv -f .build/started dist/.built
say_total
