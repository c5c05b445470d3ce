#!/bin/sh
# Installs agentkernel for one user, without root: sh install.sh [--prefix DIR] [--from URL|FOLDER]
# Upgrades it when called again, and removes it with --uninstall. Nothing outside the prefix is written.
#
# Trust: the list of checksums is signed (Ed25519), and the key is in this script. Node.js checks it, since agentkernel
# needs Node.js anyway and every machine that has it can: no gpg, minisign or new OpenSSL is asked for. A copy of this
# script is installed, so that upgrades are checked with the key of the first installation and not with one that came
# along with the files.
set -eu

release_key='@RELEASE_KEY@'
default_from='@RELEASE_FROM@'

usage() {
  cat <<'EOF'
Usage: sh install.sh [options]

  --prefix DIR       install below DIR (~/.local)
  --from WHERE       a release: an https address, or a folder on this machine
  --allow-downgrade  take a release that is older than what is installed
  --uninstall        end sandboxes and daemon, and remove the program; sandboxes, images, log and settings stay
  --purge            with --uninstall: remove those too
  --force            with --uninstall: remove the program even where it cannot end what it runs
  -h, --help         show this
EOF
}

say() { echo "agentkernel install: $*"; }

fail() {
  echo "agentkernel install: $1" >&2
  [ -z "${2:-}" ] || echo "  hint: $2" >&2
  exit 1
}

read_options() {
  prefix=${HOME:+$HOME/.local}
  is_named=
  from=$default_from
  does=install
  purges=
  downgrades=
  forces=
  kept_prefix
  while [ $# -gt 0 ]; do
    case $1 in
      --prefix)
        [ $# -gt 1 ] && [ -n "$2" ] || fail "$1 needs a value"
        prefix=$2 is_named=yes
        shift
        ;;
      --from)
        [ $# -gt 1 ] && [ -n "$2" ] || fail "$1 needs a value"
        from=${2%/}
        shift
        ;;
      --uninstall) does=uninstall ;;
      --purge) purges=yes ;;
      --force) forces=yes ;;
      --allow-downgrade) downgrades=yes ;;
      -h | --help)
        usage
        exit 0
        ;;
      *) fail "there is no option $1" "sh install.sh --help lists them" ;;
    esac
    shift
  done
  [ -n "$prefix" ] || fail "HOME is not set" "name a folder: --prefix DIR"
  case $prefix in
    *"
"*) fail "a prefix cannot have a line break in it" ;;
    /*) ;;
    *) prefix=$PWD/$prefix ;;
  esac
  while [ "${prefix%/}" != "$prefix" ]; do prefix=${prefix%/}; done
  settle_prefix
}

# The script that an installation keeps is about that installation.
kept_prefix() {
  case $0 in */*) beside=${0%/*} ;; *) beside=. ;; esac
  [ -f "$beside/made-folders" ] && [ -f "$beside/install.sh" ] || return 0
  beside=$(cd "$beside/" && pwd -P) || return 0
  case $beside in
    */lib/agentkernel)
      prefix=${beside%/lib/agentkernel}/
      is_named=yes
      ;;
  esac
}

# However it was spelled, and whatever links are on the way, it has one name from here on.
settle_prefix() {
  [ ! -d "$prefix/" ] || prefix=$(cd "$prefix/" && pwd -P) || fail "$prefix cannot be entered"
  prefix=${prefix%/}
  base=$prefix/lib/agentkernel
}

# Sets `node`. Asks for the version that the command line itself asks for.
find_node() {
  node=${AGENTKERNEL_NODE:-node}
  command -v "$node" >/dev/null 2>&1 || fail "Node.js is not here" \
    "install Node.js 20.16 or newer from your system's packages, then run this again"
  "$node" -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 16) ? 0 : 1)' ||
    fail "Node.js $("$node" --version) is too old" "agentkernel needs 20.16 or newer"
}

# With sudo, HOME may still be that of the user, who could then neither change nor remove what root has put there.
check_home() {
  [ -z "$is_named" ] || return 0
  "$node" -e 'const found = require("node:fs").statSync(process.argv[1], { throwIfNoEntry: false });
    process.exit(found === undefined || found.uid === process.getuid() ? 0 : 1)' "$HOME" ||
    fail "$HOME belongs to another user" "run this as that user, without sudo, or name a folder: --prefix DIR"
}

# Sets `platform`, as the files of a release are named.
find_platform() {
  case $(uname -s) in
    Linux) ;;
    Darwin) fail "this version has no sandboxes on macOS" "for the TypeScript SDK: npm install agentkernel" ;;
    *) fail "this version does not run on $(uname -s)" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) platform=linux-x64 ;;
    aarch64 | arm64) platform=linux-arm64 ;;
    *) fail "this version does not run on $(uname -m)" "it runs on x86_64 and aarch64" ;;
  esac
}

# fetch NAME: into $work/NAME. Whatever arrives is checked afterwards.
fetch() {
  case $from in
    https://* | http://127.0.0.1:* | http://localhost:*)
      if command -v curl >/dev/null 2>&1; then
        curl -fsSL --retry 2 -o "$work/$1" "$from/$1"
      elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$work/$1" "$from/$1"
      else
        "$node" -e 'fetch(process.argv[1]).then(async (answer) => {
          if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
          require("node:fs").writeFileSync(process.argv[2], Buffer.from(await answer.arrayBuffer()));
        }).catch((error) => { console.error(String(error.cause ?? error)); process.exit(1); });' "$from/$1" "$work/$1"
      fi || fail "$from/$1 cannot be had" "look whether the address is right, and whether this machine reaches it"
      ;;
    http://*) fail "$from is not encrypted" "use https" ;;
    *) cp "${from#file://}/$1" "$work/$1" || fail "$from/$1 cannot be read" ;;
  esac
}

# The signature of the list, then the file that the list has for this machine. Prints its name, digest and version.
verified_entry() {
  "$node" - "$work" "$release_key" "$platform" <<'EOF'
const { createPublicKey, verify } = require("node:crypto");
const { readFileSync } = require("node:fs");
const [, , work, key, platform] = process.argv;
const refuse = (why) => { console.error(`agentkernel install: ${why}`); process.exit(1); };
const sums = readFileSync(`${work}/SHA256SUMS`);
const signature = Buffer.from(readFileSync(`${work}/SHA256SUMS.sig`, "utf8").trim(), "base64");
let isGood = false;
try {
  const publicKey = createPublicKey({ key: Buffer.from(key, "base64"), format: "der", type: "spki" });
  isGood = publicKey.asymmetricKeyType === "ed25519" && verify(null, sums, publicKey, signature);
} catch (error) {
  refuse(`this script has no usable release key (${error.message}): it is not one of a release`);
}
if (!isGood) refuse("the list of checksums is not signed by the release key: nothing was installed");
const pattern = new RegExp(`^([0-9a-f]{64})  (agentkernel-(\\d+\\.\\d+\\.\\d+)-${platform}\\.tar\\.gz)$`, "m");
const found = pattern.exec(sums.toString("latin1"));
if (found === null) refuse(`this release has nothing for ${platform}`);
console.log(found[2], found[1], found[3]);
EOF
}

# check_digest FILE DIGEST
check_digest() {
  "$node" -e 'const hash = require("node:crypto").createHash("sha256");
    require("node:fs").createReadStream(process.argv[1]).on("data", (chunk) => hash.update(chunk))
      .on("end", () => process.exit(hash.digest("hex") === process.argv[2] ? 0 : 1))' "$1" "$2" ||
    fail "${1##*/} is not the file that the release signed: nothing was installed" \
      "it was cut short or changed on the way; try again, and tell the project if it stays so"
}

# is_older ONE OTHER
is_older() {
  "$node" -e 'const [a, b] = process.argv.slice(1).map((text) => text.split(".").map(Number));
    const at = a.findIndex((part, index) => part !== b[index]);
    process.exit(at >= 0 && a[at] < b[at] ? 0 : 1)' "$1" "$2"
}

# What was unpacked, as one digest: but for this script's own note, and what V8 has compiled since.
tree_digest() {
  "$node" - "$1" <<'EOF'
const { createHash } = require("node:crypto");
const { readdirSync, readFileSync, statSync } = require("node:fs");
const hash = createHash("sha256");
const visit = (folder, below) => {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const [path, name] = [`${folder}/${entry.name}`, `${below}/${entry.name}`];
    if (entry.isDirectory()) visit(path, name);
    else if (!entry.isFile()) hash.update(`${name}\0no file\0`);
    else if (name !== "/.digest" && !name.endsWith(".code")) {
      const digest = createHash("sha256").update(readFileSync(path)).digest("hex");
      hash.update(`${name}\0${statSync(path).mode & 0o111}\0${digest}\0`);
    }
  }
};
visit(process.argv[2], "");
console.log(hash.digest("hex"));
EOF
}

# is_whole FOLDER DIGEST: is this what an archive with that digest was unpacked to, unchanged since?
is_whole() {
  [ -f "$1/.digest" ] && [ "$(cat "$1/.digest")" = "$2 $(tree_digest "$1")" ]
}

# Makes a folder and those above it; the ones that were not there are noted, so that an uninstall takes only them.
make_folder() {
  [ ! -d "$1/" ] || return 0
  make_folder "${1%/*}"
  mkdir "$1" || fail "$1 cannot be made" "choose a folder that you may write: --prefix DIR"
  made="$made$1
"
}

# Whatever else has this name is not taken for ours, and so never removed either.
make_base() {
  if [ -e "$base" ] || [ -h "$base" ]; then
    if [ -h "$base" ] || [ ! -d "$base" ] ||
      { [ ! -f "$base/made-folders" ] && [ -n "$(cd "$base" && find . ! -name . | head -n 1)" ]; }; then
      fail "$base is there and not from this script" "move it away, or choose another --prefix"
    fi
  fi
  make_folder "$base"
  : >>"$base/made-folders" || fail "$base cannot be written" "choose a folder that you may write: --prefix DIR"
  make_folder "$base/versions"
}

# Sets `work`, a folder that has the number of this process in its name. What a killed one has left is removed.
take_turn() {
  for other in "$base"/.work.*; do
    [ -d "$other" ] || continue
    holder=${other##*/.work.}
    holder=${holder%%.*}
    # Another user's may not be signalled, and is there all the same.
    [ ! -d "/proc/$holder" ] ||
      fail "another installation is at work there, process $holder" "wait until it is done; if it is none, remove $other"
    rm -rf "$other"
  done
  work=$(mktemp -d "$base/.work.$$.XXXXXX") || fail "$base cannot be written"
}

# replace_link TARGET PATH: at once, whatever is being started meanwhile.
replace_link() {
  "$node" -e 'const { symlinkSync, renameSync, rmSync } = require("node:fs"); const [target, path] = process.argv.slice(1);
    const fresh = `${path}.${process.pid}`; rmSync(fresh, { force: true });
    symlinkSync(target, fresh); renameSync(fresh, path);' "$1" "$2"
}

# is_ours PATH: a link into our own folder.
is_ours() {
  [ -h "$1" ] || return 1
  leads=$(readlink "$1")
  case $leads in "$base"/current/*) return 0 ;; ../*) ;; *) return 1 ;; esac
  while [ "${leads#../}" != "$leads" ]; do leads=${leads#../}; done
  case $leads in lib/agentkernel/current/*) ;; *) return 1 ;; esac
}

# is_taken PATH: something is there, if only a link to nowhere, and it is not ours.
is_taken() { { [ -e "$1" ] || [ -h "$1" ]; } && ! is_ours "$1"; }

# way_from FOLDER: to our own folder. Relative, so that it outlives a move of the whole prefix; but not from a folder that
# is itself a link to somewhere else.
way_from() {
  if [ "$(cd "$1" && pwd -P)" = "$1" ]; then
    printf '%s/lib/agentkernel\n' "$(printf '%s\n' "${1#"$prefix"/}" | sed 's|[^/][^/]*|..|g')"
  else
    printf '%s\n' "$base"
  fi
}

# Links below $prefix/share, each beside those of other programs.
link_shared() {
  last=
  (cd "$base/current/share" && find . -type f) | sed 's|^\./||' | while read -r file; do
    place=$prefix/share/$file
    [ "${place%/*}" = "$last" ] || {
      last=${place%/*}
      way=$(way_from "$last")
    }
    if is_taken "$place"; then
      say "left alone: $place is not from this script"
    elif [ "$(readlink "$place")" != "$way/current/share/$file" ]; then
      ln -sfn "$way/current/share/$file" "$place"
    fi
  done
}

make_shared_folders() {
  for folder in $(cd "$base/current/share" && find . -type d ! -name . | sed 's|^\./||'); do make_folder "$prefix/share/$folder"; done
}

# Those of verbs that this version does not have any more, or all of them.
unlink_shared() {
  for folder in man/man1 bash-completion/completions zsh/site-functions fish/vendor_completions.d; do
    for place in "$prefix/share/$folder/"*agentkernel*; do
      if is_ours "$place" && { [ "$1" = all ] || [ ! -e "$place" ]; }; then rm "$place"; fi
    done
  done
}

install() {
  find_node
  find_platform
  [ -n "$from" ] || fail "where the release lies is not known" "name it: --from https://…, or a folder"
  command -v tar >/dev/null 2>&1 || fail "tar is not here" "install it from your system's packages"
  check_home
  made=
  work=
  trap clear_up EXIT
  trap 'exit 130' INT HUP TERM PIPE
  make_folder "$prefix"
  settle_prefix
  own=$prefix/bin/agentkernel
  ! is_taken "$own" || fail "$own is there and not from this script" "remove it first, or choose another --prefix"
  make_base
  make_folder "$prefix/bin"
  [ -w "$prefix/bin" ] || fail "$prefix/bin cannot be written" "choose a folder that you may write: --prefix DIR"
  take_turn

  fetch SHA256SUMS
  fetch SHA256SUMS.sig
  entry=$(verified_entry) || exit 1
  # shellcheck disable=SC2086 # three words
  set -- $entry
  file=$1 digest=$2 version=$3
  before=$(readlink "$base/current" 2>/dev/null || true)
  before=${before#versions/}
  if [ -n "$before" ] && [ -z "$downgrades" ] && is_older "$version" "$before"; then
    fail "version $version is older than $before, which is installed" "--allow-downgrade installs it all the same"
  fi
  # The script may have come through a pipe; then the one of the release is kept for it, checked by the same list.
  fetch install.sh
  check_digest "$work/install.sh" "$(sed -n 's/^\([0-9a-f]\{64\}\)  install\.sh$/\1/p' "$work/SHA256SUMS")"
  if is_whole "$base/versions/$version" "$digest"; then
    say "$version is here already, as the release signed it"
  else
    fetch "$file"
    check_digest "$work/$file" "$digest"
    mkdir "$work/tree"
    tar -xzof "$work/$file" -C "$work/tree"
    echo "$digest $(tree_digest "$work/tree/${file%.tar.gz}")" >"$work/tree/${file%.tar.gz}/.digest"
    # One of the same version that is not the same, or was changed since, is replaced.
    [ ! -e "$base/versions/$version" ] || mv "$base/versions/$version" "$work/replaced"
    mv "$work/tree/${file%.tar.gz}" "$base/versions/$version"
    say "$version verified and put into $base/versions/$version"
  fi
  # The key of the first installation stays; a later script is taken only with the same one.
  if [ ! -e "$base/install.sh" ] || [ "$(key_in "$base/install.sh")" = "$(key_in "$work/install.sh")" ]; then
    mv "$work/install.sh" "$base/install.sh"
  fi
  replace_link "versions/$version" "$base/current"
  replace_link "$(way_from "$prefix/bin")/current/dist/native/ak-client" "$own"
  make_shared_folders
  link_shared
  unlink_shared dangling
  note_folders
  say "$own leads there; pages of the manual and completions are in $prefix/share"
  hand_over
  for old in "$base"/versions/*; do
    [ "${old##*/}" = "$version" ] || {
      rm -rf "$old"
      say "${old##*/} removed"
    }
  done
  case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) say "not in PATH yet; add to your shell's start-up file: export PATH=$(shell_word "$prefix/bin"):\"\$PATH\"" ;;
  esac
  first=$(command -v agentkernel || true)
  [ -z "$first" ] || [ "$first" -ef "$own" ] || say "another one comes first in PATH: $first"
  say "first steps: agentkernel doctor, then agentkernel run echo hello"
}

# What is running with the version before goes on under the new one.
hand_over() {
  [ -n "$before" ] && "$own" daemon status >/dev/null 2>&1 || return 0
  if "$own" daemon reload >/dev/null 2>"$work/reload"; then
    say "the daemon was handed over to this version; sandboxes go on"
  else
    say "a daemon of the version before is up: $(head -n 1 "$work/reload")"
  fi
}

key_in() { sed -n "s/^release_key='\(.*\)'$/\1/p" "$1"; }

# As a shell reads it back.
shell_word() {
  case $1 in
    *[!A-Za-z0-9_./@%+,-]*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s' "$1" ;;
  esac
}

note_folders() {
  [ -z "$made" ] || printf %s "$made" >>"$base/made-folders"
}

# Deepest first, and only what is empty.
remove_folders() {
  sort -r | while read -r folder; do [ -z "$folder" ] || rmdir "$folder" 2>/dev/null || true; done
}

# An installation that did not come about leaves no folder.
clear_up() {
  [ -z "$work" ] || rm -rf "$work"
  [ -z "$made" ] || [ -e "$base/current" ] || {
    case $made in *"$base
"*) rm -f "$base/made-folders" ;; esac
    printf %s "$made" | remove_folders
  }
}

uninstall() {
  [ -f "$base/made-folders" ] || {
    say "nothing is installed below $prefix"
    exit 0
  }
  if [ -h "$base/current" ]; then
    keeps=--keep-data
    [ -z "$purges" ] || keeps=
    # shellcheck disable=SC2086 # none or one word
    "$base/current/dist/native/ak-client" setup --uninstall --yes $keeps || [ -n "$forces" ] ||
      fail "what agentkernel runs and keeps could not be ended and removed" \
        "see above, then run this again; --force removes the program all the same"
  fi
  own=$prefix/bin/agentkernel
  ! is_ours "$own" || rm "$own"
  unlink_shared all
  folders=$(cat "$base/made-folders")
  rm -rf "$base/versions" "$base/current" "$base/install.sh" "$base/made-folders" "$base"/.work.*
  printf '%s\n' "$folders" | remove_folders
  [ ! -d "$base" ] || rmdir "$base" 2>/dev/null || say "left alone: $base has files that are not from this script"
  say "removed from $prefix"
  [ -n "$purges" ] || say "sandboxes, images, the audit log and settings are still there; --purge removes them too"
}

# All of it is read before anything is done: a script that was cut short on the way does nothing.
main() {
  umask 022
  unset CDPATH
  read_options "$@"
  $does
}
main "$@"
