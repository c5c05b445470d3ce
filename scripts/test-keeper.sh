#!/bin/sh
# Waits until nobody holds its input open any more, then takes away what lanes left: `scripts/test-keeper.sh NAME [FOLDER]`.
#
# However a run ends, by `kill -9` too, its worlds end with it: every process in a cgroup `test-lane-NAME`, where NAME may
# have a `*`, those cgroups, and FOLDER. Mounts go with the processes.
set -u
name=$1 folder=${2-}
while read -r _; do :; done

groups() { find /sys/fs/cgroup -type d -name "test-lane-$name" 2>/dev/null; }
members() { groups | while read -r group; do find "$group" -name cgroup.procs -exec cat {} + 2>/dev/null; done | sort -un; }

tries=0
while pids=$(members) && [ -n "$pids" ]; do
  # What is frozen does not even die.
  groups | while read -r group; do
    find "$group" -name freezer.state 2>/dev/null | while read -r state; do echo THAWED >"$state"; done
    find "$group" -name cgroup.freeze 2>/dev/null | while read -r state; do echo 0 >"$state"; done
  done 2>/dev/null
  # shellcheck disable=SC2086 # one word each
  kill -9 $pids 2>/dev/null
  tries=$((tries + 1))
  if [ "$tries" -gt 100 ]; then
    echo "test-keeper: processes do not end: $pids" >&2
    exit 1
  fi
  sleep 0.1
done
groups | while read -r group; do find "$group" -depth -type d -exec rmdir {} + 2>/dev/null; done
[ -z "$(groups)" ] || echo "test-keeper: cgroups are left: $(groups)" >&2
[ -z "$folder" ] || rm -rf --one-file-system "$folder"
