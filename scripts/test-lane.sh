#!/bin/sh
# Runs a command beside others of its kind: `scripts/test-lane.sh NAME COMMAND…`.
#
# Tests count the mounts and cgroups that sandboxes leave. With a mount namespace and cgroups of its own, a lane sees
# those of its own tests and no others. Status 125, before anything ran: this machine does not offer that.
set -u
lane=$1-$$
name=test-lane-$lane
shift

refuse() {
  echo "test-lane: $1" >&2
  leave
  exit 125
}

# The groups of this process that sandboxes are limited by, one folder a line. Fails where one is shared with others.
own_groups() {
  for controller in memory pids cpu freezer; do
    path=$(sed -n "s/^[0-9]*:$controller:\(.*\)/\1/p" /proc/self/cgroup)
    [ -n "$path" ] || return 1
    echo "/sys/fs/cgroup/$controller$path"
  done
  [ ! -d /sys/fs/cgroup/unified ] || echo "/sys/fs/cgroup/unified$(sed -n 's/^0:://p' /proc/self/cgroup)"
  # Limits nothing: it counts the processor time of a lane, where it is not one hierarchy with another controller.
  counting=$(sed -n 's/^[0-9]*:cpuacct:\(.*\)/\1/p' /proc/self/cgroup)
  [ -z "$counting" ] || echo "/sys/fs/cgroup/cpuacct$counting"
}

# What a test left behind would be in the way of the next, or stay for ever.
leave() {
  for group in $groups; do echo $$ >"$group/cgroup.procs"; done
  for group in $groups; do [ ! -d "$group/$name" ] || rmdir "$group/$name" 2>/dev/null || is_left=yes; done
  [ -z "${is_left-}" ] || sh "$(dirname "$0")/test-keeper.sh" "$lane" </dev/null
}

groups=$(own_groups) || {
  groups=
  refuse "the controllers have no hierarchies of their own here"
}
for group in $groups; do
  mkdir "$group/$name" && echo $$ >"$group/$name/cgroup.procs" || refuse "no cgroup can be made in $group"
done
unshare --mount --propagation private true || refuse "no mount namespace can be made"

unshare --mount --propagation private "$@"
status=$?
leave
exit "$status"
