#!/bin/sh
# Builds the kernel of sandboxes that have one of their own:
#
#   images/kernel/build.sh OUT [--check] [--source TARBALL] [--jobs N]
#
#   OUT        the folder that gets `kernel` (an ELF file, not compressed) and `kernel.json`; made by rename
#   --check    configure only: does every line of microvm.config hold?
#   --source   linux-source-6.1.tar.xz; without it Debian's package linux-source-6.1 is downloaded, not installed
#
# The same inputs are the same bytes, wherever and whenever it is built. What was built from them before (by the hash in
# kernel.json) is not built again. Needs make, gcc, flex, bison, bc, xz, libelf-dev; the Dockerfile beside has them all.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
out=
check=
source=
jobs=$(nproc)
while [ $# -gt 0 ]; do
  case $1 in
    --check) check=yes ;;
    --source) shift && source=$1 ;;
    --jobs) shift && jobs=$1 ;;
    -*)
      echo "build.sh: unknown option $1; use: build.sh OUT [--check] [--source TARBALL] [--jobs N]" >&2
      exit 2
      ;;
    *) out=$1 ;;
  esac
  shift
done
[ -n "$out" ] || { echo "build.sh: name the folder that gets the kernel" >&2 && exit 2; }
for tool in make gcc flex bison bc xz sha256sum; do
  command -v "$tool" >/dev/null || {
    echo "build.sh: $tool is missing" >&2
    echo "  next: apt-get install -y --no-install-recommends make gcc flex bison bc xz-utils libelf-dev" >&2
    exit 1
  }
done
[ "$(uname -m)" = x86_64 ] || { echo "build.sh: the configuration is for x86_64; this machine is $(uname -m)" >&2 && exit 1; }

umask 022
mkdir -p "$(dirname "$out")"
out=$(cd "$(dirname "$out")" && pwd -P)/$(basename "$out")
work=$(mktemp -d "${TMPDIR:-/tmp}/kernel.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

if [ -z "$source" ]; then
  (cd "$work" && apt-get download linux-source-6.1) >"$work/log" 2>&1 || { cat "$work/log" >&2 && exit 1; }
  dpkg-deb --extract "$work"/linux-source-6.1_*.deb "$work"
  source=$work/usr/src/linux-source-6.1.tar.xz
fi

# Everything that could make a difference.
inputs=$(
  {
    sha256sum <"$source"
    sha256sum <"$here/microvm.config"
    sha256sum <"$here/build.sh"
    gcc --version | head -n 1
    ld --version | head -n 1
  } | sha256sum | cut -c1-64
)
if [ -z "$check" ] && [ -f "$out/kernel.json" ] && grep -q "\"inputs\": \"$inputs\"" "$out/kernel.json"; then
  kept=$(sed -n 's/.*"kernelSha256": "\([0-9a-f]*\)".*/\1/p' "$out/kernel.json")
  [ "$(sha256sum <"$out/kernel" | cut -c1-64)" != "$kept" ] || { echo "build.sh: $out is up to date" >&2 && exit 0; }
fi

echo "build.sh: unpacking the source" >&2
tar -xJf "$source" -C "$work"
cd "$work/linux-source-6.1"
# Of the source, not of the build.
export SOURCE_DATE_EPOCH=0 KBUILD_BUILD_TIMESTAMP='1970-01-01 00:00:00 UTC' KBUILD_BUILD_USER=agentkernel
export KBUILD_BUILD_HOST=agentkernel KBUILD_BUILD_VERSION=1 LC_ALL=C TZ=UTC
unset MAKEFLAGS MFLAGS CFLAGS LDFLAGS KCFLAGS ARCH CROSS_COMPILE LOCALVERSION

# Paths of the build must not be in what is built.
flags="-ffile-prefix-map=$PWD=."
make -s ARCH=x86 KCONFIG_ALLCONFIG="$here/microvm.config" allnoconfig
lost=$(grep -E '^(CONFIG_[A-Z0-9_]+=|# CONFIG_[A-Z0-9_]+ is not set)' "$here/microvm.config" | while read -r line; do
  case $line in
    # What another symbol does not even offer is off as well.
    '#'*) name=${line#\# } && ! grep -q "^${name%% *}=" .config || echo "$line" ;;
    *) grep -qxF "$line" .config || echo "$line" ;;
  esac
done)
[ -z "$lost" ] || {
  echo "build.sh: these lines of microvm.config do not hold in this source:" >&2
  echo "$lost" | sed 's/^/  /' >&2
  exit 1
}
release=$(make -s ARCH=x86 kernelrelease)
[ -z "$check" ] || { echo "build.sh: all of microvm.config holds for $release" >&2 && exit 0; }

echo "build.sh: compiling $release" >&2
make -s ARCH=x86 -j "$jobs" KCFLAGS="$flags" KAFLAGS="$flags" LDFLAGS_vmlinux=--build-id=none vmlinux
mkdir "$work/set"
strip --strip-all --remove-section=.comment -o "$work/set/kernel" vmlinux
chmod 644 "$work/set/kernel"
size() { wc -c | tr -d ' '; }
digest=$(sha256sum <"$work/set/kernel" | cut -c1-64)
bytes=$(size <"$work/set/kernel")
compressed=$(xz -9 -c <"$work/set/kernel" | size)
[ "$compressed" -le 4194304 ] || { echo "build.sh: $compressed bytes compressed are more than 4 MiB" >&2 && exit 1; }
cat >"$work/set/kernel.json" <<JSON
{
  "version": 1,
  "name": "$release",
  "acpi": false,
  "commandLine": "console=ttyS0 quiet reboot=t panic=-1 oops=panic no_timer_check tsc=reliable",
  "kernelSha256": "$digest",
  "modulesSha256": null,
  "inputs": "$inputs"
}
JSON
rm -rf "$out.new"
cp -R "$work/set" "$out.new"
rm -rf "$out"
mv "$out.new" "$out"
echo "build.sh: $out: $bytes bytes, $compressed compressed, sha256 $digest" >&2
