# Read by setup.sh: finds which tools are missing, installs them where it may, or says the one command that does.
# It never installs anything as an ordinary user and never fetches anything but Debian packages and rustup components.

# command (or a check below) | Debian package
build_needs="cc|gcc
libc-static|libc6-dev"
runtime_wants="python3|python3
newuidmap|uidmap"
test_needs="bwrap|bubblewrap
newuidmap|uidmap
unshare|util-linux
python3|python3
git|git
docker-registry|docker-registry
skopeo|skopeo
umoci|umoci
podman|podman
runc|runc
runsc|runsc
dockerd|docker.io
mmdebstrap|mmdebstrap
busybox|busybox-static
dpkg-deb|dpkg
zstd|zstd
openssl|openssl
ip|iproute2
perl|perl
systemd-analyze|systemd
curl|curl
nc|netcat-openbsd
tmux|tmux
strace|strace
vim.tiny|vim-tiny
pip3|python3-pip
python3-venv|python3-venv
psql|postgresql-client
postgresql-server|postgresql
javac|default-jdk-headless
go|golang-go
make|make
qemu-system-x86_64|qemu-system-x86
mkfs.erofs|erofs-utils
mke2fs|e2fsprogs"

have() {
  case $1 in
    # The native binaries are linked statically, so the archive of the C library must be there, not only its headers.
    libc-static)
      case $(cc -print-file-name=libc.a 2>/dev/null) in /*) return 0 ;; *) return 1 ;; esac
      ;;
    # Debian keeps what fills a virtual environment in a package of its own.
    python3-venv) python3 -c 'import ensurepip' >/dev/null 2>&1 ;;
    # Its programs are in no folder of the PATH.
    dockerd) command -v dockerd >/dev/null 2>&1 || [ -x /usr/sbin/dockerd ] ;;
    postgresql-server) ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

# packages_for NEEDS: the packages of the lines whose command is missing, each once.
packages_for() {
  echo "$1" | while IFS='|' read -r tool package; do
    have "$tool" || echo "$package"
  done | sort -u | tr '\n' ' '
}

node_ok() {
  have "$node" && version="$("$node" --version)" && version_at_least "${version#v}" "$node_floor" && have npm
}

cargo_ok() {
  have cargo && version="$(cargo --version 2>/dev/null)" && version=${version#cargo } &&
    version_at_least "$version" "$rust_floor"
}

# debian_offers PACKAGE FLOOR: would apt-get install a version that is new enough?
debian_offers() {
  have apt-cache || return 1
  candidate=$(apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: //p')
  case $candidate in '' | '(none)') return 1 ;; esac
  candidate=${candidate#*:}
  version_at_least "$candidate" "$2"
}

# Another apt or dpkg (unattended upgrades, on a machine that has just started) is waited for.
lock_wait="-o DPkg::Lock::Timeout=120"

# The lists are fetched only when the packages cannot be had without. fd 9 is the set-up's lock: a service that a
# package starts would hold it for ever.
apt_install() {
  apt_get_install "$1" 9>&- || { apt-get $lock_wait update 9>&- && apt_get_install "$1" 9>&-; }
}

# shellcheck disable=SC2086
apt_get_install() { DEBIAN_FRONTEND=noninteractive apt-get $lock_wait install -y --no-install-recommends $1; }

may_install() { [ "$mode" != build ] && [ "$(id -u)" = 0 ] && have apt-get; }

rust_checkers_ok() { cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1; }

# Tests compile modules of their own; where Rust cannot, they take those that were compiled before.
wasm_target_ok() { [ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-wasip1" ]; }

wasm_target() {
  say "installing Rust's target wasm32-wasip1"
  rustup target add wasm32-wasip1 >>"$log" 2>&1 || say "without it: tests take the modules of test/fixtures/wasm/compiled"
}

# Programs of ours start a third of a millisecond sooner with musl (compile-native.sh), and a run starts several.
lean_target_ok() { [ -d "$(rustc --print sysroot)/lib/rustlib/$(uname -m)-unknown-linux-musl" ]; }

lean_target() {
  say "installing Rust's target $(uname -m)-unknown-linux-musl"
  rustup target add "$(uname -m)-unknown-linux-musl" >>"$log" 2>&1 || say "without it: programs start more slowly, with glibc"
}

check_tools() {
  needed=$(packages_for "$build_needs")
  wanted=
  case $mode in
    test) needed="$needed$(packages_for "$test_needs")" ;;
    runtime) wanted=$(packages_for "$runtime_wants") ;;
  esac
  by_hand=
  node_ok || {
    # Where the user chose a Node, installing another one would not help.
    [ -z "${AGENTKERNEL_NODE:-}" ] ||
      die "AGENTKERNEL_NODE is '$node', which is not Node.js $node_floor or newer (npm is needed too)" "correct or unset it"
    if debian_offers nodejs "$node_floor"; then
      needed="$needed nodejs npm"
    else
      by_hand="Node.js $node_floor or newer with npm (https://nodejs.org)"
    fi
  }
  cargo_ok || {
    if debian_offers cargo "$rust_floor"; then
      needed="$needed cargo"
    else
      by_hand="${by_hand:+$by_hand, and }Rust $rust_floor or newer (https://rustup.rs)"
    fi
  }
  if [ -n "$(echo $needed)" ]; then
    if may_install; then
      step "installing Debian packages: $(echo $needed)" apt_install "$needed"
    elif have apt-get; then
      die "Debian packages are missing: $(echo $needed)${by_hand:+; also needed: $by_hand}" \
        "sudo apt-get install -y --no-install-recommends $(echo $needed)"
    else
      die "these are missing: $(echo $needed) (Debian's names)${by_hand:+, $by_hand}" "install them, then run again"
    fi
  fi
  [ -z "$by_hand" ] || die "missing or too old: $by_hand" "install it, then run again"
  if [ -n "$(echo $wanted)" ]; then
    if may_install; then
      say "installing Debian packages: $(echo $wanted)"
      apt_install "$wanted" >>"$log" 2>&1 || say "could not install $(echo $wanted); sandboxes work without"
    else
      say "optional packages are missing: $(echo $wanted) (sudo apt-get install -y $(echo $wanted))"
    fi
  fi
  [ "$mode" = build ] || lean_target_ok || ! have rustup || lean_target
  [ "$mode" != test ] || rust_checkers_ok || rust_checkers
  [ "$mode" != test ] || wasm_target_ok || ! have rustup || wasm_target
}

# A kernel for virtual machines, of Debian's: downloaded, not installed.
machine_kernel() {
  # One that was fetched before machines showed projects by FUSE lacks its driver.
  ! grep -qas '^fuse\.ko$' .build/kernels/debian/modules.cpio || return 0
  if have apt-get && have dpkg-deb && [ "$(uname -m)" = x86_64 ]; then
    step "downloading a kernel for virtual machines" fetch_kernel
  else
    say "without Debian's packages there is no kernel for virtual machines; tests of them are left out"
  fi
}

fetch_kernel() {
  "$node" scripts/fetch-kernel.mjs .build/kernels/debian ||
    { may_install && apt-get update && "$node" scripts/fetch-kernel.mjs .build/kernels/debian; } ||
    # An older one does: machines copy the project then.
    [ -f .build/kernels/debian/kernel.json ]
}

rust_checkers() {
  if have rustup; then
    step "installing rustfmt and clippy" rustup component add rustfmt clippy
  elif may_install; then
    step "installing Debian packages: rustfmt rust-clippy" apt_install "rustfmt rust-clippy"
  fi
  rust_checkers_ok || die "cargo fmt or cargo clippy is missing" "sudo apt-get install -y rustfmt rust-clippy"
}
