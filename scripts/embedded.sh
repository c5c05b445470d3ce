#!/bin/sh
# The command line of a checkout, without any daemon. When the bundle is older than its sources, or missing, the checkout
# is set up first; otherwise this starts no process but Node itself.

self=$0
case $self in */*) ;; *) self=./$self ;; esac
while [ -h "$self" ]; do
  link=$(readlink "$self")
  case $link in /*) self=$link ;; *) self=${self%/*}/$link ;; esac
done
# The physical path: Node would take ".." by its letters, and a linked folder's parent lies elsewhere.
root=$(CDPATH='' cd -P -- "${self%/*}/.." && pwd -P) || exit 125
node=${AGENTKERNEL_NODE:-node}
built=$root/dist/.built

# The build has listed what it was made from.
up_to_date() { [ -f "$built" ] && [ -f "$root/dist/sources.sh" ] && . "$root/dist/sources.sh"; }

# Only the owner of a checkout rebuilds it. Anyone else, and whoever finds it read-only, runs what was built.
mine() { [ -O "$root" ] && [ -w "$root" ]; }

if ! command -v "$node" >/dev/null || ! up_to_date; then
  if [ ! -f "$built" ] || mine || ! command -v "$node" >/dev/null; then
    quiet=--quiet
    [ ! -t 2 ] || quiet=
    sh "$root/scripts/setup.sh" runtime $quiet </dev/null >&2 || exit 125
  elif [ -t 2 ]; then
    echo "agentkernel: the sources are newer than the build; the owner can run $root/scripts/setup.sh" >&2
  fi
fi
# Node would read its whole list of authorities for it at once; the command line does when it needs them.
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
  export AGENTKERNEL_HELD_CA_CERTS="$NODE_EXTRA_CA_CERTS"
  unset NODE_EXTRA_CA_CERTS
fi
exec "$node" "$root/dist/agentkernel.js" "$@"
