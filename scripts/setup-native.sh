# Read by setup.sh: the native programs of this checkout, compiled, or taken from a cache of this user's that lies outside
# it, so that a second checkout need not compile what the first one has.
#
# A first run wants programs soon: they get the profile `checkout`, and the worker for WebAssembly, whose engine takes
# minutes to compile, waits until somebody calls a module. Tests and releases have the profile `release`, and a checkout
# that has it once keeps it.

programs="ak-client ak-guest ak-jail ak-changes ak-copy ak-entry ak-probe ak-unpack ak-pack ak-vmm ak-init"
worker=ak-wasm
entries_kept=8

native_stamp=dist/native/.setup-stamp
worker_stamp=dist/native/.worker-stamp
compiled_by="scripts/compile-native.sh scripts/rustc-path-free.sh scripts/setup-native.sh"

all_there() {
  for program in "$@"; do [ -x "dist/native/$program" ] || return 1; done
}

program_inputs() {
  {
    find native -path native/target -prune -o -path native/fuzz -prune -o -path native/wasm/src -prune -o -type f -print0
    for file in $compiled_by; do printf '%s\0' "$file"; done
  } | hash_files
}

# The worker's own folder and those of our crates that it is made of, as their manifests name them.
worker_folders() {
  found=" wasm " left=wasm
  while [ -n "$left" ]; do
    next=
    for folder in $left; do
      for crate in $(sed -n 's/^ak-\([a-z]*\)[ .].*/\1/p' "native/$folder/Cargo.toml"); do
        case $found in *" $crate "*) ;; *) found="$found$crate " next="$next $crate" ;; esac
      done
    done
    left=$next
  done
  for folder in $found; do echo "native/$folder"; done
}

worker_inputs() {
  {
    find $(worker_folders) native/.cargo native/Cargo.toml native/Cargo.lock -type f -print0
    for file in $compiled_by; do printf '%s\0' "$file"; done
  } | hash_files
}

native_programs() {
  profile=$1
  known=$(cat "$native_stamp" 2>/dev/null || :)
  case $known in '' | *' checkout') ;; *) profile=release ;; esac
  hash=$(program_inputs)
  # shellcheck disable=SC2086
  [ "$known" != "$hash $profile" ] || ! all_there $programs || return 0
  announce "about a minute the first time"
  if ! from_cache "$hash" "$profile" $programs; then
    step "native programs" compile "$profile" $programs
    # Compiling may have brought Cargo.lock up to date.
    compiled_hash=$hash
    hash=$(program_inputs)
    # What changed meanwhile may be in the programs, and not in their key.
    [ "$hash" != "$compiled_hash" ] || into_cache "$hash" "$profile" $programs
  fi
  write_stamp "$native_stamp" "$hash $profile"
}

wasm_worker() {
  hash=$(worker_inputs)
  ! done_with "$worker_stamp" "$hash" || ! all_there $worker || return 0
  announce "the worker for WebAssembly, some minutes"
  if ! from_cache "$hash" worker $worker; then
    step "WebAssembly engine" compile worker $worker
    compiled_hash=$hash
    hash=$(worker_inputs)
    [ "$hash" != "$compiled_hash" ] || into_cache "$hash" worker $worker
  fi
  write_stamp "$worker_stamp" "$hash"
}

# Clippy compiles the worker's engine where it is not compiled yet. What it found nothing in is noted beside the worker in
# the cache, so that a checkout that took the worker from there need not compile the engine for this alone.
lint_worker() {
  clippy=$(clippy-driver -V)
  entry=$(cache_entry "$(worker_inputs)" worker) || entry=
  if [ -n "$entry" ] && [ "$(cat "$entry/linted" 2>/dev/null)" = "$clippy" ]; then
    echo "nothing has changed since clippy found nothing"
    return 0
  fi
  sh scripts/compile-native.sh "$root/.build/target" --lint-worker || return 1
  [ ! -d "$entry" ] || echo "$clippy" >"$entry/linted"
}

# compile PROFILE PROGRAM…
compile() {
  compiled=$(sh scripts/compile-native.sh "$root/.build/target" "--$1" | tail -n 1) && [ -d "$compiled" ] || return 1
  shift
  put_programs "$compiled" "$@"
}

# put_programs FOLDER PROGRAM…
put_programs() {
  from=$1
  shift
  mkdir -p dist/native || return 1
  for program in "$@"; do
    # A dynamic binary names its loader by path; a guest with one cannot start in a root filesystem that has none.
    if LC_ALL=C grep -q '/lib[0-9]*/ld-linux' "$from/$program"; then
      echo "$program is not static: native/.cargo/config.toml was not applied"
      return 1
    fi
    # By rename: a binary that is running keeps its file, and no reader sees half of one.
    cp "$from/$program" "dist/native/.$program.new" || return 1
    mv -f "dist/native/.$program.new" "dist/native/$program" || return 1
  done
}

# The cache's folder. Programs from it are run, so it must be this user's, and nobody else's to write.
cache_folder() {
  cache=${AGENTKERNEL_BUILD_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/agentkernel/builds}
  case $cache in /*) ;; *) return 1 ;; esac
  (umask 077 && mkdir -p "$cache") 2>/dev/null || return 1
  [ ! -h "$cache" ] && [ -O "$cache" ] && [ "$(stat -c %a "$cache")" = 700 ] && echo "$cache"
}

# The entry of HASH and PROFILE; all that decides about the bytes is in its name.
cache_entry() {
  folder=$(cache_folder) || return 1
  {
    echo "$1 $2"
    rustc -vV
    cargo -V
    cc --version | head -n 1
    sha256sum <"$(cc -print-file-name=libc.a)"
    rustc --print target-libdir --target "$(uname -m)-unknown-linux-musl" 2>/dev/null | xargs -r ls 2>/dev/null
    command -v "$(uname -m)-linux-musl-gcc"
    cat "${CARGO_HOME:-${HOME:-}/.cargo}/config.toml"
    env | grep -E '^(CARGO_|RUST|CC=|CFLAGS|LD)' | sort
  } 2>/dev/null | sha256sum | cut -c1-64 | sed "s|^|$folder/|"
}

# from_cache HASH PROFILE PROGRAM…: are they in the cache, with the digests that they were kept with?
from_cache() {
  # A release is made of what was compiled for it.
  [ "$mode" != build ] || return 1
  entry=$(cache_entry "$1" "$2") && [ -f "$entry/sums" ] || return 1
  shift 2
  for program in "$@"; do
    [ -f "$entry/$program" ] && [ ! -h "$entry/$program" ] && [ -O "$entry/$program" ] || return 1
  done
  (cd "$entry" && sha256sum --status --strict -c sums) || return 1
  [ "$(wc -l <"$entry/sums")" = $# ] || return 1
  touch "$entry"
  step "native programs from $(dirname "$entry")" put_programs "$entry" "$@"
}

# into_cache HASH PROFILE PROGRAM…: a cache that cannot be written is none, and no reason to fail.
into_cache() {
  entry=$(cache_entry "$1" "$2") || return 0
  shift 2
  fresh=$(mktemp -d "$(dirname "$entry")/.new-XXXXXX") || return 0
  if (cd dist/native && cp "$@" "$fresh/") && (cd "$fresh" && sha256sum "$@" >sums) && rm -rf "$entry" &&
    mv -T "$fresh" "$entry" 2>/dev/null; then
    # Names are digests, so a line of ls is a name.
    ls -td "$(dirname "$entry")"/* | tail -n "+$((entries_kept + 1))" | xargs -r rm -rf
  else
    rm -rf "$fresh"
  fi
}
