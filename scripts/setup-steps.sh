# Read by setup.sh: how a set-up tells what it does. A terminal sees the step that runs, with its time; anything else
# gets one line for each step that is done. With --quiet, steps are told only where somebody waits for the first of them.

began=$(date +%s)
counted=

if [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; then terminal=yes; else terminal=; fi

say() { [ -n "$quiet" ] || echo "setup: $*"; }

# Whoever waits for a minute is told why, once, also where stderr is no terminal.
announce() {
  [ -n "$quiet" ] && [ -z "$announced" ] || return 0
  announced=yes
  echo "agentkernel: setting up this checkout, which happens once: $*"
}

is_told() { [ -z "$quiet" ] || [ -n "$announced" ]; }

# step NAME COMMAND…: output goes to the log; the log's end is shown when the command fails.
step() {
  name=$1
  shift
  # The log is that of the last set-up that did something.
  [ -n "$logging" ] || : >"$log"
  logging=yes
  echo "== $name: $*" >>"$log"
  step_began=$(date +%s)
  painter=
  if [ -n "$terminal" ] && is_told; then
    paint "$name" "$(wc -l <"$log")" 9>&- &
    painter=$!
  fi
  failed=
  # Commands inherit the lock: if this script is killed, it holds until the npm or cargo that it left behind ends.
  "$@" >>"$log" 2>&1 || failed=yes
  if [ -n "$painter" ]; then
    kill "$painter" 2>/dev/null || :
    wait "$painter" 2>/dev/null || :
    printf '\r\033[K'
  fi
  if [ -n "$failed" ]; then
    echo "The end of $log:"
    tail -n 20 "$log" | sed 's/^/  | /'
    die "set-up failed at: $name" "repair what the log names, then run: $root/scripts/setup.sh $mode"
  fi
  counted=yes
  ! is_told || echo "  $name: $(($(date +%s) - step_began)) s"
}

# paint NAME LINES: draws the step until its script ends; crates are counted after that many lines of the log.
paint() {
  seconds=0
  while kill -0 $$ 2>/dev/null; do
    crates=$(tail -n "+$2" "$log" | grep -c '^ *Compiling ') || :
    [ "$crates" = 0 ] && crates= || crates=", $crates crates"
    printf '\r\033[K  %s%s: %s s' "$1" "$crates" "$seconds"
    sleep 1
    seconds=$((seconds + 1))
  done
}

# Nothing where nothing was to be done.
say_total() {
  [ -z "$counted" ] || ! is_told || echo "  ready after $(($(date +%s) - began)) s"
}
