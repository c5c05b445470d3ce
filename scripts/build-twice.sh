#!/bin/sh
# Shows that everything of a release has the same bytes when it is made again: scripts/build-twice.sh FOLDER
#
# Takes the commit that is checked out and built (scripts/setup.sh build), clones it into FOLDER, compiles every native
# program and the bundle there from nothing, makes a release of each of the two and compares them. FOLDER must not exist.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
[ $# -eq 1 ] || {
  echo "use: scripts/build-twice.sh FOLDER" >&2
  exit 2
}
mkdir "$1"
folder=$(cd "$1" && pwd -P)
again=$folder/checkout
[ -z "$(git -C "$root" status --porcelain)" ] || {
  echo "build-twice: there are changes that are not committed, which a clone does not have" >&2
  exit 2
}
git clone -q "$root" "$again"
git -C "$again" checkout -q --detach "$(git -C "$root" rev-parse HEAD)"
# Packages are given; what is made of them is not.
ln -s "$root/node_modules" "$again/node_modules"
printf '/node_modules\n' >>"$again/.git/info/exclude"
compiled=$(sh "$again/scripts/compile-native.sh" "$folder/target" --bins | tail -n 1)
mkdir -p "$again/dist/native"
for program in "$root"/dist/native/ak-*; do
  cmp "$program" "$compiled/${program##*/}"
  cp "$compiled/${program##*/}" "$again/dist/native/"
done
node "$again/scripts/build.mjs"
node "$root/scripts/release.mjs" "$folder/first" >/dev/null
node "$again/scripts/release.mjs" "$folder/second" >/dev/null
diff -r "$folder/first" "$folder/second"
cat "$folder/second/SHA256SUMS"
echo "build-twice: the same bytes, $(find "$folder/first" -type f | wc -l) files"
