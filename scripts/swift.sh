#!/bin/sh
# Swift for the SDK: that of the PATH, else Debian's in a sandbox of our own.
#
#   scripts/swift.sh toolchain          makes the toolchain, and says what will be used; status 3: none can be had here
#   scripts/swift.sh build|test …       `swift build …` or `swift test …` of sdk/swift
#   scripts/swift.sh describe           what the package is that other programs take from this repository
#   scripts/swift.sh version            the first line of `swift --version`
#   scripts/swift.sh exec PROGRAM …     runs on this machine what was built
#
# Debian's packages become a root filesystem (scripts/swift-toolchain.sh) that is the sandbox's image as it is
# (`--image rootfs:FOLDER`): what is 2.7 GB is stored once. Build products lie in .build/sdk/swift.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
built=$root/.build/sdk/swift
# The toolchain that the last `swift.sh toolchain` found.
link=$root/.build/sdk/swift-toolchain

has_own() { command -v swift >/dev/null 2>&1; }

toolchain() {
  mkdir -p "$built"
  if has_own; then
    rm -f "$link"
    echo "the Swift of the PATH: $(swift --version 2>/dev/null | head -n 1)"
    return
  fi
  # Not in a pipe or a substitution's status: 3 goes on to the caller.
  folder=$(sh "$root/scripts/swift-toolchain.sh")
  ln -sfn "$folder" "$link.new"
  mv -fT "$link.new" "$link"
  echo "Debian's Swift in $folder"
}

# The sandbox is of a state directory of its own, and has no network.
in_sandbox() {
  own=$(mktemp -d "${TMPDIR:-/tmp}/agentkernel-swift-XXXXXX")
  trap 'rm -rf "$own"' EXIT
  mkdir -m 700 "$own/run"
  (
    cd "$root/sdk/swift"
    env XDG_STATE_HOME="$own/state" XDG_CONFIG_HOME="$own/config" XDG_DATA_HOME="$own/data" XDG_CACHE_HOME="$own/cache" \
      XDG_RUNTIME_DIR="$own/run" \
      sh "$root/scripts/embedded.sh" run --image "rootfs:$(readlink "$link")" --backend linux --no-network --memory 6g \
      --workspace copy \
      -v "$built:/build" -v "$root/Package.swift:/repository/Package.swift:ro" \
      -v "$root/sdk/swift/Sources:/repository/sdk/swift/Sources:ro" --timeout 10m -- "$@"
  )
}

swift_in() {
  if [ -h "$link" ]; then in_sandbox swift "$@" --scratch-path /build; else
    swift "$@" --package-path "$root/sdk/swift" --scratch-path "$built"
  fi
}

case ${1:-} in
  toolchain) toolchain ;;
  build | test) swift_in "$@" ;;
  describe)
    if [ -h "$link" ]; then
      in_sandbox swift package --package-path /repository --scratch-path /tmp/root describe
    else
      swift package --package-path "$root" --scratch-path "$built/root" describe
    fi
    ;;
  version)
    if [ -h "$link" ]; then in_sandbox swift --version; else swift --version; fi 2>/dev/null | head -n 1
    ;;
  exec)
    shift
    [ -h "$link" ] || exec "$@"
    # Its loader and libraries are those of the toolchain, which may be newer than this machine's.
    folder=$(readlink "$link")
    loader=$(ls "$folder"/usr/lib64/ld-linux-*.so.* "$folder"/usr/lib/ld-linux-*.so.* 2>/dev/null | head -n 1)
    libraries=$folder/usr/libexec/swift/lib/swift/linux:$folder/usr/lib/$(uname -m)-linux-gnu
    exec "$loader" --library-path "$libraries" "$@"
    ;;
  *)
    echo "swift.sh: what is asked? toolchain, build, test, describe, version or exec" >&2
    exit 2
    ;;
esac
