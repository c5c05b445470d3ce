/**
 * Git's own files written by hand, as a program of an attacker's would: the images of some backends have no git, and git
 * itself would refuse part of this.
 */
export const gitWriter = `
import hashlib, os, shutil, subprocess, sys, time, zlib
git = ".git"
def store(kind, data):
    whole = kind.encode() + b" " + str(len(data)).encode() + b"\\0" + data
    name = hashlib.sha1(whole).hexdigest()
    path = f"{git}/objects/{name[:2]}/{name[2:]}"
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(zlib.compress(whole))
    return name
def load(name):
    with open(f"{git}/objects/{name[:2]}/{name[2:]}", "rb") as file:
        return zlib.decompress(file.read()).split(b"\\0", 1)[1]
def head():
    return open(f"{git}/refs/heads/main").read().strip()
def tree_of(commit):
    return load(commit).split(b"\\n", 1)[0].split()[1].decode()
def entries(tree):
    rest, found = load(tree), {}
    while rest:
        mode, rest = rest.split(b" ", 1)
        name, rest = rest.split(b"\\0", 1)
        found[name] = (mode, rest[:20])
        rest = rest[20:]
    return found
def write_tree(found):
    order = sorted(found, key=lambda name: name + (b"/" if found[name][0] == b"40000" else b""))
    return store("tree", b"".join(found[name][0] + b" " + name + b"\\0" + found[name][1] for name in order))
def changed(tree, **changes):
    found = entries(tree)
    for name, entry in changes.items():
        name = {"env": b".env"}.get(name, name.encode())
        if entry is None:
            found.pop(name, None)
        else:
            found[name] = (entry[0], bytes.fromhex(entry[1]))
    return write_tree(found)
def commit(tree, *parents, message="lossy"):
    who = f"Eve <eve@example.com> {int(time.time())} +0000"
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), f"author {who}", f"committer {who}", "", message, ""]
    return store("commit", "\\n".join(lines).encode())
def point(reference, commit):
    os.makedirs(os.path.dirname(f"{git}/{reference}"), exist_ok=True)
    with open(f"{git}/{reference}", "w") as file:
        file.write(commit + "\\n")
empty = store("blob", b"")
old = head()
base = tree_of(old)
lossless = base
without = changed(base, env=None, deploy=None)
`;
