#!/bin/sh
# The inside of a container of the double: a root of this machine's programs, in namespaces that `unshare` has made.
# machine.sh ROOT BINDS TMPFS ro|rw BOUNDING-SET LIMITS PROGRAM…
set -eu
root=$1 binds=$2 places=$3 access=$4 bounding=$5 limits=$6
shift 6

mount --make-rprivate /
mount -t tmpfs -o mode=755 root "$root"
for name in bin sbin lib lib64 usr; do
  if [ -L "/$name" ]; then
    cp -P "/$name" "$root/$name"
  elif [ -d "/$name" ]; then
    mkdir "$root/$name"
    mount --bind "/$name" "$root/$name"
    mount -o remount,bind,ro "$root/$name"
  fi
done
mkdir "$root/proc" "$root/dev" "$root/etc" "$root/home" "$root/root" "$root/var"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 dev "$root/dev"
mkdir "$root/dev/shm" "$root/dev/pts"
for name in null zero full random urandom tty; do
  : >"$root/dev/$name"
  mount --bind "/dev/$name" "$root/dev/$name"
done
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
echo "$places" | while read -r place; do
  [ -n "$place" ] || continue
  mkdir -p "$root$place"
  mount -t tmpfs -o mode=1777 tmpfs "$root$place"
done
echo "$binds" | while IFS=: read -r source target; do
  [ -n "$source" ] || continue
  mkdir -p "$root$target"
  mount --bind "$source" "$root$target"
  mount -o remount,bind,ro "$root$target"
done
[ "$access" = rw ] || mount -o remount,ro "$root"
# shellcheck disable=SC2086 # The limits are words of their own.
exec prlimit $limits setpriv --bounding-set="$bounding" chroot "$root" "$@"
