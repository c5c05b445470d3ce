#!/bin/sh
# Prints the folder of a root filesystem with Debian's Swift, and makes it where there is none (about a minute, 2.7 GB).
#
# It is named after the versions of its packages and lies outside the checkout, in ${XDG_CACHE_HOME:-~/.cache}/
# agentkernel-test: whatever checkout asks next finds it, and a new version of a package makes a new one. Where Debian's
# archive does not answer, the newest that was made before is used. Needs root, mmdebstrap, and nothing of the network
# but Debian's packages, from the mirror that apt on this machine uses. Status 3: none can be had here.
set -eu

packages=swiftlang,libstdc++-13-dev,libc6-dev,ca-certificates,git
suite=trixie
# So that a silent mirror fails a test run with a message, and not by its own limit.
ask_s=90
make_s=600
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/agentkernel-test

say() { echo "swift-toolchain: $*" >&2; }

newest() { ls -dt "$cache"/swift-*/ 2>/dev/null | sed 's,/$,,' | grep -v '\.new$' | head -n 1; }

debootstrap() {
  limit=$1
  shift
  timeout -k 10 "$limit" mmdebstrap --variant=apt --mode=root --aptopt='APT::Install-Recommends "false"' \
    --include="$packages" "$@"
}

# The versions that would be installed now; what they are is all that the root depends on.
versions() {
  empty=$(mktemp -d)
  status=0
  debootstrap "$ask_s" --verbose --simulate "$suite" "$empty" >"$empty.log" 2>&1 || status=$?
  grep '^Inst ' "$empty.log" | sort -u || true
  [ "$status" = 0 ] || tail -n 3 "$empty.log" >&2
  rm -rf "$empty" "$empty.log"
  return "$status"
}

command -v mmdebstrap >/dev/null || {
  say "there is no swift on the PATH, and no mmdebstrap to get Debian's (apt-get install mmdebstrap)"
  exit 3
}
[ "$(id -u)" = 0 ] || {
  say "there is no swift on the PATH, and only root can make a root filesystem with Debian's"
  exit 3
}
mkdir -p "$cache"
# Two checkouts at once make one root; the lock ends with its holder.
exec 9>"$cache/swift.lock"
flock -w 900 9 || {
  say "another process has been making a toolchain in $cache for 15 minutes"
  exit 1
}

# Asked once an hour: the answer takes some seconds.
checked=$(find "$cache/swift.checked" -mmin -60 2>/dev/null | xargs -r cat)
if [ -n "$checked" ] && [ -d "$checked" ]; then
  echo "$checked"
  exit 0
fi

if wanted=$(versions 9>&-) && [ -n "$wanted" ]; then
  folder=$cache/swift-$(printf '%s\n' "$suite $wanted" | sha256sum | cut -c1-16)
else
  folder=$(newest)
  [ -n "$folder" ] || {
    say "Debian's archive did not answer within $ask_s s, and no toolchain was made before in $cache"
    say "next: check what \`apt-get update\` says, or install Swift"
    exit 1
  }
  say "Debian's archive did not answer; using $folder, which was made before"
fi

if [ ! -d "$folder" ]; then
  say "making $folder of Debian's packages, which happens once"
  rm -rf --one-file-system "$cache"/swift-*.new
  log=$cache/swift.log
  debootstrap "$make_s" "$suite" "$folder.new" >"$log" 2>&1 9>&- || {
    tail -n 20 "$log" >&2
    rm -rf --one-file-system "$folder.new"
    say "the root could not be made; the whole log is $log"
    exit 1
  }
  mv "$folder.new" "$folder"
  # One that another checkout works with at this moment may lose its root; its next run makes no second one.
  for old in "$cache"/swift-*/; do [ "${old%/}" = "$folder" ] || rm -rf --one-file-system "$old"; done
fi
touch "$folder"
echo "$folder" >"$cache/swift.checked"
echo "$folder"
