#!/bin/sh
# Runs a command in a world of its own: `scripts/test-world.sh NAME FOLDER own|machine COMMAND…`.
#
# To the mounts and cgroups of a lane (test-lane.sh) it adds `/tmp` and messages between processes. With `own`, also
# processes, a network of loopback alone, and a home folder with what is in the machine's (toolchains, caches); with
# `machine`, these are the machine's, for tests that fetch what is then kept. All of it is in FOLDER or in the cgroups.
# Status 125, before anything ran: this machine does not offer that.
set -eu

# Mounts what is in a folder into an empty one. What agentkernel and others keep of their state and settings is left out.
mirror() {
  for entry in "$1"/.[!.]* "$1"/*; do
    case $entry in
      */.local | */.config)
        mkdir "$2/${entry##*/}"
        mirror "$entry" "$2/${entry##*/}"
        ;;
      */state | */agentkernel) ;;
      *)
        if [ -d "$entry" ] && [ ! -L "$entry" ]; then
          mkdir "$2/${entry##*/}"
          mount --rbind "$entry" "$2/${entry##*/}"
        elif [ -L "$entry" ]; then
          cp -P "$entry" "$2/"
        elif [ -e "$entry" ]; then
          cp -p "$entry" "$2/"
        fi
        ;;
    esac
  done
}

inside() {
  folder=$1 first_pid=$2 network=$3
  shift 3
  if [ "$network" = own ]; then
    # Numbers of processes name files in caches that worlds share.
    echo "$first_pid" >/proc/sys/kernel/ns_last_pid 2>/dev/null || true
    # A machine's own network has it up already.
    ip link set lo up
    mkdir "$folder/home"
    chown --reference="$HOME" "$folder/home"
    chmod --reference="$HOME" "$folder/home"
    mirror "$HOME" "$folder/home"
    mount --rbind "$folder/home" "$HOME"
  fi
  mkdir -m 1777 "$folder/tmp"
  # What is used from below /tmp stays there.
  for used in "$PWD" "$HOME"; do
    case $used in
      /tmp/*)
        mkdir -p "$folder/tmp/${used#/tmp/}"
        mount --rbind "$used" "$folder/tmp/${used#/tmp/}"
        ;;
    esac
  done
  mount --rbind "$folder/tmp" /tmp
  unset TMPDIR
  # Not instead of this shell: the first process of a world has to wait for whatever loses its parent.
  status=0
  "$@" || status=$?
  exit "$status"
}

if [ "$1" = --inside ]; then
  shift
  inside "$@"
fi

name=$1 folder=$2 network=$3
shift 3
# The first numbers of worlds are far from each other.
first_pid=$((1000 + ${name##*-} * 100000))
case $network in
  own) apart="--net --pid --fork --kill-child --mount-proc" ;;
  # Whose a socket in the machine's network is, is told by the process that holds it.
  machine) apart= ;;
esac
# shellcheck disable=SC2086 # several options
exec sh "$(dirname "$0")/test-lane.sh" "$name" \
  unshare --mount --propagation private --ipc $apart \
  sh "$0" --inside "$folder" "$first_pid" "$network" "$@"
