#!/bin/sh
# Brings a checkout to a state in which it runs: tools, Debian packages, npm packages, native binaries, bundle.
#
#   scripts/setup.sh [runtime|test|build] [--quiet]
#
#   runtime   what `agentkernel run` needs (the default)
#   test      runtime, and what `npm test` needs beside it
#   build     compile only; install no Debian package
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
    runtime | test | build) mode=$word ;;
    --quiet) quiet=yes ;;
    *)
      echo "setup: unknown word '$word'; use: scripts/setup.sh [runtime|test|build] [--quiet]" >&2
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

say() { [ -n "$quiet" ] || echo "setup: $*"; }

# Whoever waits for a minute is told why, once, also where stderr is no terminal.
announce() {
  [ -n "$quiet" ] && [ -z "$announced" ] || return 0
  announced=yes
  echo "agentkernel: setting up this checkout, which happens once: $*"
}

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

# step NAME COMMAND…: output goes to the log; the log's end is shown when the command fails.
step() {
  name=$1
  shift
  say "$name"
  # The log is that of the last set-up that did something.
  [ -n "$logging" ] || : >"$log"
  logging=yes
  echo "== $name: $*" >>"$log"
  # Commands inherit the lock: if this script is killed, it holds until the npm or cargo that it left behind ends.
  if ! "$@" >>"$log" 2>&1; then
    echo "The end of $log:"
    tail -n 20 "$log" | sed 's/^/  | /'
    die "set-up failed at: $name" "repair what the log names, then run: $root/scripts/setup.sh $mode"
  fi
}

hash_files() { sort -z | xargs -0 sha256sum -- | sha256sum | cut -c1-64; }

# done_with STAMP HASH: is this output already made from these inputs?
done_with() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

write_stamp() {
  echo "$2" >"$1.new"
  mv -f "$1.new" "$1"
}

. "$root/scripts/setup-tools.sh"

npm_packages() {
  hash=$(cat package.json package-lock.json | sha256sum | cut -c1-64)
  ! done_with node_modules/.setup-stamp "$hash" || return 0
  announce "npm packages and native binaries, a few minutes"
  step "installing npm packages" npm ci --ignore-scripts --no-audit --no-fund
  write_stamp node_modules/.setup-stamp "$hash"
}

native_binaries() {
  hash=$(find native -path native/target -prune -o -type f -print0 | hash_files)
  if done_with dist/native/.setup-stamp "$hash" && [ -x dist/native/ak-guest ] && [ -x dist/native/ak-jail ] &&
    [ -x dist/native/ak-probe ] && [ -x dist/native/ak-unpack ] && [ -x dist/native/ak-pack ] &&
    [ -x dist/native/ak-client ] && [ -x dist/native/ak-changes ] &&
    [ -x dist/native/ak-copy ] && [ -x dist/native/ak-entry ] && [ -x dist/native/ak-wasm ] &&
    [ -x dist/native/ak-vmm ] && [ -x dist/native/ak-init ]; then
    return 0
  fi
  announce "compiling native binaries, a few minutes"
  step "compiling native binaries" compile_native
  # Compiling may have brought Cargo.lock up to date.
  hash=$(find native -path native/target -prune -o -type f -print0 | hash_files)
  write_stamp dist/native/.setup-stamp "$hash"
}

compile_native() {
  compiled=$(sh scripts/compile-native.sh "$root/.build/target" --bins | tail -n 1) && [ -d "$compiled" ] || return 1
  mkdir -p dist/native || return 1
  for binary in ak-client ak-guest ak-jail ak-changes ak-copy ak-entry ak-probe ak-unpack ak-pack ak-wasm ak-vmm ak-init; do
    # A dynamic binary names its loader by path; a guest with one cannot start in a root filesystem that has none.
    if LC_ALL=C grep -q '/lib[0-9]*/ld-linux' "$compiled/$binary"; then
      echo "$binary is not static: native/.cargo/config.toml was not applied"
      return 1
    fi
    # By rename: a binary that is running keeps its file, and no reader sees half of one.
    cp "$compiled/$binary" "dist/native/.$binary.new" || return 1
    mv -f "dist/native/.$binary.new" "dist/native/$binary" || return 1
  done
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
  step "bundling the command line" "$node" scripts/build.mjs
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

check_tools
npm_packages
[ "$mode" != test ] || machine_kernel
native_binaries
bundle
list_sources
mv -f .build/started dist/.built
