#!/bin/sh
# Runs the projects of examples/ in sandboxes and compares what each prints with its expected.txt:
#
#   scripts/run-examples.sh [FOLDER…]
#
# The toolchains are this machine's own (the image `host`); what it lacks is skipped, and said. With an empty
# AGENTKERNEL_IMAGE in the environment each project gets the image that agentkernel chooses for it. Status 1: one
# printed something else, or there was nothing to run.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
export AGENTKERNEL_IMAGE="${AGENTKERNEL_IMAGE-host}"
# What a sandbox finds without being told where to look.
system_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# folder | program | command
examples='c|make|make -s run
dotnet|dotnet|dotnet run
elixir|elixir|elixir main.exs
go|go|go run .
java|java|java Main.java
javascript|node|node main.js
kotlin|kotlinc|kotlinc main.kt -include-runtime -d /tmp/main.jar && java -jar /tmp/main.jar
lua|lua|lua main.lua
php|php|php main.php
python|python3|python3 main.py
ruby|ruby|ruby main.rb
rust|cargo|cargo run --quiet --offline
shell|sh|sh main.sh
terraform|terraform|terraform apply -auto-approve >/dev/null && terraform output -raw greeting'

# The folder of a toolchain that is not in the system's folders; nothing for one that is, status 1 for none.
toolchain_of() {
  ! PATH=$system_path command -v "$1" >/dev/null || return 0
  case $1 in
    cargo) rustc --print sysroot 2>/dev/null ;;
    go) go env GOROOT 2>/dev/null ;;
    *) return 1 ;;
  esac
}

# Without the compiled standard library, Go's first build takes half a minute; links to it leave the original alone.
go_cache() {
  cache=$(PATH="$PATH:$toolchain/bin" go env GOCACHE 2>/dev/null) && [ -d "$cache" ] || return 1
  set_options -v "$cache:/go-cache:ro" -e GOCACHE=/tmp/go-cache
  command="cp -rs /go-cache /tmp/go-cache && $command"
}

# One option or value a line, since folders may have spaces in their names.
set_options() { options="$options$(printf '\n%s' "$@")"; }

run_in_sandbox() {
  (
    cd "$root/examples/$folder" || exit 1
    IFS='
'
    # shellcheck disable=SC2086
    exec "$root/bin/agentkernel" run --no-network --timeout 5m $options -- sh -c "$command" </dev/null
  )
}

run_example() {
  options='' toolchain=''
  if [ "$AGENTKERNEL_IMAGE" = host ]; then
    toolchain=$(toolchain_of "$program") || {
      echo "skipped  $folder: this machine has no $program"
      skipped=$((skipped + 1))
      return
    }
    case $toolchain in
      '') ;;
      /usr/*) set_options -e "PATH=$toolchain/bin:$system_path" ;;
      *) set_options -v "$toolchain:/toolchain:ro" -e "PATH=/toolchain/bin:$system_path" ;;
    esac
    [ "$folder" != go ] || go_cache || :
  fi
  printed=$(run_in_sandbox; echo "status $?")
  if [ "$printed" = "$(cat "$root/examples/$folder/expected.txt"; echo 'status 0')" ]; then
    echo "ok       $folder"
    passed=$((passed + 1))
  else
    echo "FAILED   $folder: $command"
    echo "$printed" | sed 's/^/         | /'
    failed=$((failed + 1))
  fi
}

passed=0 failed=0 skipped=0
for name in "$@"; do
  echo "$examples" | grep -q "^$name|" || {
    echo "there is no example '$name'; there are: $(echo "$examples" | cut -d'|' -f1 | tr '\n' ' ')" >&2
    exit 2
  }
done
while IFS='|' read -r folder program command <&3; do
  case " ${*:-$folder} " in *" $folder "*) run_example ;; esac
done 3<<END
$examples
END
echo "$passed ok, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
