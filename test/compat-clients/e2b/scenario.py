"""Every public method of E2B's Python SDK, against the server that E2B_API_URL names: `scenario.py FOLDER sync|async`.

One scenario for both kinds of the SDK: what is awaitable is awaited. The SDK is used as its users use it.
"""

import asyncio
import inspect
import json
import os
import re
import sys
import time
import urllib.request

sys.path.insert(0, sys.argv[1])
KIND = sys.argv[2]

import e2b  # noqa: E402

IS_ASYNC = KIND == "async"
Sandbox = e2b.AsyncSandbox if IS_ASYNC else e2b.Sandbox
Volume = e2b.AsyncVolume if IS_ASYNC else e2b.Volume
Template = e2b.AsyncTemplate if IS_ASYNC else e2b.Template
results = {}
made = []


async def a(value):
    return await value if inspect.isawaitable(value) else value


async def check(methods, work):
    # Where it hangs is the last line on stderr.
    print(f"{time.strftime('%H:%M:%S')} {methods}", file=sys.stderr, flush=True)
    result = "ok"
    try:
        await work()
    except Exception as error:  # what went wrong is the result
        result = f"{type(error).__name__}: {error}"[:500]
    for method in methods.split():
        results[method] = result


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


async def fails(work, words):
    try:
        await a(work())
    except Exception as error:
        if re.search(words, f"{type(error).__name__}: {error}"):
            return
        raise
    raise AssertionError(f"nothing failed with {words}")


async def until(look):
    for _ in range(200):
        found = await a(look())
        if found:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError("it did not come to that")


async def main():
    who = f"a b&c {os.getpid()}"
    sandbox = await a(Sandbox.create(metadata={"who": who}, envs={"FOO": "bar"}, timeout=120))
    made.append(sandbox)
    sid = sandbox.sandbox_id
    files, commands, pty, git = sandbox.files, sandbox.commands, sandbox.pty, sandbox.git

    async def creating():
        other = await a(Sandbox.create("base", timeout=60, allow_internet_access=False))
        made.append(other)
        equal((await a(other.get_info())).allow_internet_access, False)
        await fails(lambda: Sandbox.create(api_key="e2b_00"), "AuthenticationException")

    await check("Sandbox.create Sandbox.sandbox_id", creating)

    async def running():
        pieces = []
        done = await a(commands.run("echo $FOO-$BAZ; pwd; echo err >&2", envs={"BAZ": "qux"}, cwd="/tmp", on_stdout=pieces.append))
        equal([done.stdout, done.stderr, done.exit_code], ["bar-qux\n/tmp\n", "err\n", 0])
        equal("".join(pieces), done.stdout)
        await fails(lambda: commands.run("exit 3"), "CommandExitException")
        await fails(lambda: commands.run("sleep 100", timeout=0.3), "TimeoutException")
        large = await a(commands.run("head -c 3000000 /dev/zero | tr '\\0' x"))
        equal(len(large.stdout), 3_000_000)

    await check("commands.run CommandHandle.wait", running)

    async def feeding():
        first = await a(commands.run("cat; echo done", background=True, stdin=True))
        listed = [one for one in await a(commands.list()) if one.pid == first.pid]
        equal([listed[0].cmd, listed[0].args], ["/bin/bash", ["-l", "-c", "cat; echo done"]])
        second = await a(commands.connect(first.pid))
        await a(commands.send_stdin(first.pid, "one\n"))
        expected = "one\n"
        if hasattr(commands, "stream_input"):
            await stream(commands, first.pid, ["two\n", b"three\n"])
            expected += "two\nthree\n"
        await a(commands.close_stdin(first.pid))
        equal((await a(first.wait())).stdout, f"{expected}done\n")
        equal((await a(second.wait())).exit_code, 0)
        await fails(lambda: commands.send_stdin(first.pid, "x"), "NotFoundException")

    await check("commands.list commands.connect commands.send_stdin commands.close_stdin commands.stream_input", feeding)

    async def killing():
        one = await a(commands.run("sleep 1000", background=True))
        equal([await a(commands.kill(one.pid)), await a(commands.kill(one.pid))], [True, False])
        other = await a(commands.run("sleep 1000 & wait", background=True))
        await a(other.disconnect())
        equal(any(one.pid == other.pid for one in await a(commands.list())), True)
        equal(await a(commands.kill(other.pid)), True)

    await check("commands.kill CommandHandle.kill CommandHandle.disconnect", killing)

    async def typing():
        seen = []
        more = {"on_data": seen.append} if IS_ASYNC else {}
        one = await a(pty.create(e2b.PtySize(rows=20, cols=90), envs={"A": "b"}, **more))
        await a(pty.resize(one.pid, e2b.PtySize(rows=30, cols=100)))
        await a(one.disconnect())
        again = await a(pty.connect(one.pid, **more))
        await a(pty.send_stdin(one.pid, b"stty size; echo $A-$((1+1)); exit\n"))
        await a(again.wait() if IS_ASYNC else again.wait(on_pty=seen.append))
        text = b"".join(seen).decode()
        equal(["30 100" in text, "b-2" in text], [True, True])
        last = await a(pty.create(e2b.PtySize(rows=20, cols=90), **more))
        if hasattr(pty, "stream_input"):
            await stream(pty, last.pid, [b"true\n"])
        equal(await a(pty.kill(last.pid)), True)

    await check("pty.create pty.resize pty.connect pty.send_stdin pty.kill pty.stream_input", typing)

    async def writing():
        written = await a(files.write("dir/a.txt", "text ü"))
        equal([written.path, written.name], ["/home/user/dir/a.txt", "a.txt"])
        equal(await a(files.read("dir/a.txt")), "text ü")
        await a(files.write("/tmp/b", b"\x00\xff\r\n"))
        equal(bytes(await a(files.read("/tmp/b", format="bytes"))), b"\x00\xff\r\n")
        await a(files.write("empty", ""))
        equal(await a(files.read("empty")), "")
        stream = await a(files.read("dir/a.txt", format="stream"))
        pieces = [piece async for piece in stream] if hasattr(stream, "__aiter__") else list(stream)
        equal(b"".join(pieces).decode(), "text ü")
        equal(len(await a(files.write_files([{"path": "m1", "data": "1"}, {"path": "/tmp/m2", "data": b"2"}]))), 2)
        equal([await a(files.exists("m1")), await a(files.exists("nope"))], [True, False])
        info = await a(files.get_info("dir/a.txt"))
        equal([info.name, info.size, info.mode, info.permissions], ["a.txt", 7, 0o644, "-rw-r--r--"])
        paths = [one.path for one in await a(files.list(".", depth=2))]
        equal(["/home/user/dir/a.txt" in paths, "/home/user/m1" in paths], [True, True])
        await fails(lambda: files.read("nope"), "NotFoundException")
        await fails(lambda: files.list("nope"), "NotFoundException")
        large = b"0123456789" * 5_000_000
        await a(files.write("large", large))
        equal(bytes(await a(files.read("large", format="bytes"))) == large, True)

    await check("files.write files.write_files files.read files.exists files.get_info files.list", writing)

    async def moving():
        equal([await a(files.make_dir("x/y")), await a(files.make_dir("x/y"))], [True, False])
        equal((await a(files.rename("m1", "x/y/moved"))).path, "/home/user/x/y/moved")
        await a(files.remove("x"))
        equal(await a(files.exists("x")), False)

    await check("files.make_dir files.rename files.remove", moving)

    async def watching():
        seen = []
        await a(files.make_dir("watched"))
        more = {"on_event": seen.append} if IS_ASYNC else {}
        handle = await a(files.watch_dir("watched", recursive=True, **more))

        def names():
            if not IS_ASYNC:
                seen.extend(handle.get_new_events())
            return [f"{one.type.value} {one.name}" for one in seen]

        await a(files.write("watched/in/a", "1"))
        await until(lambda: "create in/a" in names())
        await a(files.remove("watched/in/a"))
        await until(lambda: "remove in/a" in names())
        await a(handle.stop())

    await check("files.watch_dir WatchHandle.stop WatchHandle.get_new_events", watching)

    async def signing():
        await a(files.write("signed", "by url"))
        for url in [sandbox.download_url("signed"), sandbox.download_url("signed", use_signature_expiration=60)]:
            with urllib.request.urlopen(await a(url)) as answer:
                equal(answer.read(), b"by url")
        body = b'--e\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nsent\r\n--e--\r\n'
        headers = {"Content-Type": "multipart/form-data; boundary=e"}
        with urllib.request.urlopen(urllib.request.Request(await a(sandbox.upload_url("sent")), body, headers)) as answer:
            equal(answer.status, 200)
        equal(await a(files.read("sent")), "sent")

    await check("Sandbox.download_url Sandbox.upload_url", signing)

    async def hosting():
        serving = """python3 -c 'import http.server, os; os.chdir("/home/user")
http.server.HTTPServer(("127.0.0.1", 3000), http.server.SimpleHTTPRequestHandler).serve_forever()'"""
        web = await a(commands.run(serving, background=True))

        def get():
            asked = urllib.request.Request(f"{os.environ['E2B_API_URL']}/signed", headers={"Host": sandbox.get_host(3000)})
            try:
                with urllib.request.urlopen(asked) as answer:
                    return answer.read() == b"by url"
            except OSError:
                return False

        await until(get)
        await a(web.kill())

    await check("Sandbox.get_host", hosting)

    async def looking():
        info = await a(Sandbox.get_info(sid))
        equal([info.sandbox_id, info.template_id, info.state.value, info.metadata], [sid, "base", "running", {"who": who}])
        equal((await a(sandbox.get_info())).sandbox_id, sid)
        equal(await a(sandbox.is_running()), True)
        metrics = (await a(sandbox.get_metrics()))[0]
        equal([metrics.cpu_count > 0, metrics.mem_total > 0], [True, True])
        await fails(lambda: Sandbox.get_info("nobody"), "NotFoundException")
        found = Sandbox.list(query=e2b.SandboxQuery(metadata={"who": who}))
        equal([one.sandbox_id for one in await a(found.next_items())], [sid])
        pages = Sandbox.list(limit=1, query=e2b.SandboxQuery(state=[e2b.SandboxState.RUNNING]))
        ids = []
        while pages.has_next:
            ids += [one.sandbox_id for one in await a(pages.next_items())]
        equal(all(one.sandbox_id in ids for one in made), True)

    await check("Sandbox.get_info Sandbox.is_running Sandbox.get_metrics Sandbox.list", looking)

    async def timing():
        await a(sandbox.set_timeout(300))
        left = (await a(sandbox.get_info())).end_at.timestamp() - time.time()
        equal(290 < left <= 300, True)

    await check("Sandbox.set_timeout", timing)

    async def pausing():
        await a(commands.run("echo kept > kept; (sleep 1000 &) "))
        equal([bool(await a(sandbox.pause())) or True, await a(sandbox.is_running())], [True, False])
        again = await a(Sandbox.connect(sid, timeout=120))
        equal((await a(again.commands.run("pgrep -c sleep; cat kept"))).stdout, "1\nkept\n")
        await a(sandbox.beta_pause())
        await a(sandbox.connect())
        equal(await a(sandbox.is_running()), True)

    await check("Sandbox.pause Sandbox.beta_pause Sandbox.connect", pausing)

    async def copying():
        for fork in await a(sandbox.fork(count=2)):
            made.append(fork)
            equal(await a(fork.files.read("kept")), "kept\n")
        taken = await a(sandbox.create_snapshot())
        ids = [one.snapshot_id for one in await a(sandbox.list_snapshots().next_items())]
        equal(taken.snapshot_id in ids, True)
        copy = await a(Sandbox.create(taken.snapshot_id))
        made.append(copy)
        equal(await a(copy.files.read("kept")), "kept\n")
        equal([await a(Sandbox.delete_snapshot(taken.snapshot_id)) for _ in range(2)], [True, False])

    await check("Sandbox.fork Sandbox.create_snapshot Sandbox.list_snapshots Sandbox.delete_snapshot", copying)

    async def networking():
        await a(sandbox.update_network({"allow_out": ["example.com"], "deny_out": ["0.0.0.0/0"]}))
        equal((await a(sandbox.get_info())).network["allow_out"], ["example.com"])

    await check("Sandbox.update_network", networking)

    async def versioning():
        await a(git.init("/tmp/repo", initial_branch="main"))
        await a(git.configure_user("A", "a@example.com"))
        await a(git.set_config("pull.rebase", "false"))
        equal(await a(git.get_config("pull.rebase")), "false")
        await a(files.write("/tmp/repo/file", "1"))
        equal((await a(git.status("/tmp/repo"))).is_clean, False)
        await a(git.add("/tmp/repo"))
        await a(git.commit("/tmp/repo", "first"))
        await a(git.create_branch("/tmp/repo", "side"))
        await a(git.checkout_branch("/tmp/repo", "main"))
        equal(sorted((await a(git.branches("/tmp/repo"))).branches), ["main", "side"])
        await a(git.delete_branch("/tmp/repo", "side"))
        await a(commands.run("git init -q --bare /tmp/bare.git -b main"))
        await a(git.remote_add("/tmp/repo", "origin", "/tmp/bare.git"))
        equal(await a(git.remote_get("/tmp/repo", "origin")), "/tmp/bare.git")
        await a(git.push("/tmp/repo", remote="origin", branch="main", set_upstream=True))
        await a(git.clone("/tmp/bare.git", path="/tmp/clone"))
        await a(git.pull("/tmp/clone"))
        await a(files.write("/tmp/clone/file", "2"))
        await a(git.restore("/tmp/clone", paths=["file"]))
        equal(await a(files.read("/tmp/clone/file")), "1")
        await a(git.reset("/tmp/clone", mode="hard"))
        await a(git.dangerously_authenticate(username="u", password="p", host="example.com"))

    names = "init configure_user set_config get_config status add commit create_branch checkout_branch branches delete_branch"
    more = "remote_add remote_get push clone pull restore reset dangerously_authenticate"
    await check(" ".join(f"git.{name}" for name in f"{names} {more}".split()), versioning)

    async def ending():
        equal([await a(sandbox.kill()), await a(sandbox.kill()), await a(Sandbox.kill("nobody"))], [True, False, False])
        equal(await a(sandbox.is_running()), False)
        for one in made[1:]:
            equal(await a(one.kill()), True)

    await check("Sandbox.kill", ending)

    refused = {}
    for name, work in {
        "Volume.create": lambda: Volume.create("v"),
        "Template.build": lambda: Template.build(e2b.Template().from_image("debian:13"), alias="x"),
        "Sandbox.create, mcp": lambda: Sandbox.create(mcp={"time": {}}),
    }.items():
        try:
            await a(work())
            refused[name] = "ok"
        except Exception as error:
            refused[name] = f"{type(error).__name__}: {error}"
    parts = {"Sandbox": Sandbox, "commands": type(commands), "files": type(files), "pty": type(pty), "git": type(git)}
    every = [f"{part}.{name}" for part, kind in parts.items() for name in dir(kind) if not name.startswith("_")]
    print("\n" + json.dumps({"methods": {"all": every, "refused": refused}, "results": results}), flush=True)


async def stream(part, pid, pieces):
    if not IS_ASYNC:
        return part.stream_input(pid, pieces)
    handle = part.stream_input(pid)
    for piece in pieces:
        await handle.send(piece)
    await handle.close()


asyncio.run(main())
