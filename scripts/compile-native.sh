#!/bin/sh
# Compiles native programs for release: scripts/compile-native.sh TARGET_FOLDER [words for cargo build]
# Where the checkout and cargo's own folder lie leaves no trace in the programs, so that everyone gets the same bytes.
# Prints, as its last line, the folder that has them. In place of words for cargo:
#
#   --release       all programs but the worker for WebAssembly
#   --worker        that worker alone
#   --checkout      all but the worker, soon: profile `checkout`, with the paths of this machine in messages of a panic
#   --lint-worker   clippy over the worker
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
# The worker for WebAssembly has a little C in it, for which musl needs a compiler of its own.
worker=$triple
if [ -d "$(rustc --print target-libdir --target "$lean" 2>/dev/null)" ]; then
  triple=$lean
  ! command -v "$(uname -m)-linux-musl-gcc" >/dev/null || worker=$lean
fi

# Messages of a panic name source files: those of crates from a registry here, our own and what dependencies generate
# below the checkout in rustc-path-free.sh.
path_free_flags() {
  for folder in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
    [ ! -d "$folder" ] || printf '"--remap-path-prefix=%s=/cargo",' "$folder"
  done
}

build() {
  for_target=$1
  shift
  # Found by PATH: cargo makes the linter's path part of the names of symbols, and so of the bytes.
  PATH=$root/scripts:$PATH AGENTKERNEL_CHECKOUT=$root RUSTC_WRAPPER=rustc-path-free.sh \
    RUSTC_WORKSPACE_WRAPPER=${lint:-} \
    cargo build --target "$for_target" --target-dir "$target" \
    --config "target.'cfg(target_os = \"linux\")'.rustflags=[$(path_free_flags)]" "$@"
}

cd "$root/native"
# Clippy over the worker for WebAssembly, while it is compiled as for use: the engine need not be looked at for that.
if [ "${1:-}" = --lint-worker ]; then
  lint=clippy-driver CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__ \
    build "$worker" --profile worker --package ak-wasm
  exit
fi
if [ "${1:-}" = --checkout ]; then
  # No crate is fetched that these do not need: the engine's are the most.
  cargo build --target "$triple" --target-dir "$target" --profile checkout --workspace --exclude ak-wasm --bins
  echo "$target/$triple/checkout"
  exit
fi

# The worker has settings of its own: see native/Cargo.toml.
build_worker() {
  build "$worker" --profile worker --package ak-wasm "$@"
  mkdir -p "$target/$triple/release"
  cp "$target/$worker/worker/ak-wasm" "$target/$triple/release/.ak-wasm.new"
  mv -f "$target/$triple/release/.ak-wasm.new" "$target/$triple/release/ak-wasm"
}

# Fetched first: where crates lie is part of the flags.
cargo fetch --target "$triple"
case " $* " in
  " --worker ") build_worker --bins ;;
  " --release ") build "$triple" --release --workspace --exclude ak-wasm --bins ;;
  *)
    build "$triple" --release --workspace --exclude ak-wasm "$@"
    # Whoever names one program wants that alone.
    case " $* " in *" --bin "*) ;; *) build_worker "$@" ;; esac
    ;;
esac
echo "$target/$triple/release"
