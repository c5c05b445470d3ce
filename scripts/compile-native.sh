#!/bin/sh
# Compiles native programs for release: scripts/compile-native.sh TARGET_FOLDER [words for cargo build]
# Where the checkout and cargo's own folder lie leaves no trace in the programs, so that everyone gets the same bytes.
# Prints, as its last line, the folder that has them.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
target=$1
shift
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS CARGO_BUILD_TARGET
# With the target named, the flags for static linking spare the procedural macros, which must be shared libraries.
triple=$(rustc -vV | sed -n 's/^host: //p')
# musl, where this Rust has it: at every start glibc asks the processor dozens of questions about itself, each of which
# leaves a virtual machine and comes back. That is a third of a millisecond for each program of ours that a run starts.
lean=${triple%-gnu}-musl
[ ! -d "$(rustc --print target-libdir --target "$lean" 2>/dev/null)" ] || triple=$lean

# Messages of a panic name source files.
path_free_flags() {
  for folder in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
    [ ! -d "$folder" ] || printf '"--remap-path-prefix=%s=/cargo",' "$folder"
  done
  printf '"--remap-path-prefix=%s=/agentkernel"' "$root"
}

cd "$root/native"
# Fetched first: where crates lie is part of the flags.
cargo fetch --target "$triple"
cargo build --release --workspace --target "$triple" --target-dir "$target" \
  --config "target.'cfg(target_os = \"linux\")'.rustflags=[$(path_free_flags)]" "$@"
echo "$target/$triple/release"
