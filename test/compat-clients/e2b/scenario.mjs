// Every public method of E2B's JavaScript SDK, against the server that E2B_API_URL names: `node scenario.mjs FOLDER`,
// where the SDK is installed. The SDK is used as its users use it: nothing of it is changed.

import { request } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { equal, fails, Report, until } from "./report.mjs";

const e2b = await import(pathToFileURL(join(process.argv[2], "node_modules/e2b/dist/index.mjs")).href);
const { Sandbox, Secret, Template, Volume } = e2b;
const report = new Report();
const server = new URL(process.env.E2B_API_URL);
const bytes = (text) => new TextEncoder().encode(text);

const sandbox = await Sandbox.create({ metadata: { who: "a b&c" }, envs: { FOO: "bar" }, timeoutMs: 120_000 });
const id = sandbox.sandboxId;
const made = [sandbox];

await report.check("Sandbox.create Sandbox#sandboxId", async () => {
  equal(/^[a-z0-9]+$/.test(id), true);
  const other = await Sandbox.create("base", { timeoutMs: 60_000, allowInternetAccess: false });
  made.push(other);
  equal((await other.getInfo()).allowInternetAccess, false);
  await fails(() => Sandbox.create({ apiKey: "e2b_00" }), /AuthenticationError/);
});
await report.check("commands.run commands.start CommandHandle#wait", async () => {
  const pieces = [];
  const done = await sandbox.commands.run("echo $FOO-$BAZ; pwd; echo err >&2", {
    envs: { BAZ: "qux" },
    cwd: "/tmp",
    onStdout: (piece) => pieces.push(piece),
  });
  equal([done.stdout, done.stderr, done.exitCode], ["bar-qux\n/tmp\n", "err\n", 0]);
  equal(pieces.join(""), done.stdout);
  await fails(() => sandbox.commands.run("exit 3"), /CommandExitError/);
  await fails(() => sandbox.commands.run("sleep 100", { timeoutMs: 300 }), /TimeoutError/);
  const large = await sandbox.commands.run("head -c 3000000 /dev/zero | tr '\\0' x");
  equal(large.stdout.length, 3_000_000);
  equal((await sandbox.commands.run("whoami >/dev/null; echo ok", { user: "root" })).stdout, "ok\n");
});
await report.check(
  "commands.sendStdin commands.closeStdin commands.list commands.connect commands.supportsStdinClose",
  async () => {
    const first = await sandbox.commands.run("cat; echo done", { background: true, stdin: true });
    const listed = (await sandbox.commands.list()).find(({ pid }) => pid === first.pid);
    equal([listed.cmd, listed.args], ["/bin/bash", ["-l", "-c", "cat; echo done"]]);
    const seen = [];
    const second = await sandbox.commands.connect(first.pid, { onStdout: (piece) => seen.push(piece) });
    await sandbox.commands.sendStdin(first.pid, "one\n");
    await sandbox.commands.sendStdin(first.pid, bytes("two\n"));
    await sandbox.commands.closeStdin(first.pid);
    equal((await first.wait()).stdout, "one\ntwo\ndone\n");
    equal((await second.wait()).exitCode, 0);
    equal(seen.join(""), "one\ntwo\ndone\n");
    await fails(() => sandbox.commands.sendStdin(first.pid, "x"), /NotFoundError/);
  },
);
await report.check("commands.kill CommandHandle#kill CommandHandle#disconnect", async () => {
  const one = await sandbox.commands.run("sleep 1000", { background: true });
  equal(await sandbox.commands.kill(one.pid), true);
  equal(await sandbox.commands.kill(one.pid), false);
  const other = await sandbox.commands.run("sleep 1000 & wait", { background: true });
  await other.disconnect();
  equal(
    (await sandbox.commands.list()).some(({ pid }) => pid === other.pid),
    true,
  );
  equal(await other.kill(), true);
});
await report.check("pty.create pty.sendInput pty.resize pty.connect pty.kill", async () => {
  let text = "";
  const take = (piece) => {
    text += Buffer.from(piece).toString();
  };
  const one = await sandbox.pty.create({ cols: 90, rows: 20, onData: take, envs: { A: "b" } });
  await sandbox.pty.sendInput(one.pid, bytes("stty size; echo $A-$((1+1))\n"));
  await until(() => text.includes("20 90") && text.includes("b-2"));
  await sandbox.pty.resize(one.pid, { cols: 100, rows: 30 });
  text = "";
  await one.disconnect();
  const again = await sandbox.pty.connect(one.pid, { onData: take });
  await sandbox.pty.sendInput(one.pid, bytes("stty size\n"));
  await until(() => text.includes("30 100"));
  equal(await sandbox.pty.kill(again.pid), true);
});
await report.check("files.write files.writeFiles files.read files.exists files.getInfo files.list", async () => {
  const written = await sandbox.files.write("dir/a.txt", "text ü");
  equal([written.path, written.type], ["/home/user/dir/a.txt", "file"]);
  equal(await sandbox.files.read("dir/a.txt"), "text ü");
  await sandbox.files.write("/tmp/b", new Uint8Array([0, 255, 13, 10]).buffer);
  equal([...(await sandbox.files.read("/tmp/b", { format: "bytes" }))], [0, 255, 13, 10]);
  await sandbox.files.write("empty", "");
  equal(await sandbox.files.read("empty"), "");
  equal((await (await sandbox.files.read("/tmp/b", { format: "blob" })).arrayBuffer()).byteLength, 4);
  const stream = await sandbox.files.read("dir/a.txt", { format: "stream" });
  equal(await new Response(stream).text(), "text ü");
  await sandbox.files.write("streamed", new Blob(["from a stream"]).stream());
  equal(await sandbox.files.read("streamed"), "from a stream");
  await sandbox.files.write("packed", "z".repeat(100_000), { gzip: true });
  equal((await sandbox.files.read("packed")).length, 100_000);
  equal(
    (
      await sandbox.files.writeFiles([
        { path: "m1", data: "1" },
        { path: "/tmp/m2", data: "2" },
      ])
    ).length,
    2,
  );
  equal([await sandbox.files.exists("m1"), await sandbox.files.exists("nope")], [true, false]);
  const info = await sandbox.files.getInfo("dir/a.txt");
  equal([info.name, info.size, info.mode, info.permissions], ["a.txt", 7, 0o644, "-rw-r--r--"]);
  const names = (await sandbox.files.list(".", { depth: 2 })).map(({ path }) => path);
  equal(names.includes("/home/user/dir/a.txt") && names.includes("/home/user/m1"), true);
  await fails(() => sandbox.files.read("nope"), /FileNotFoundError|NotFoundError/);
  await fails(() => sandbox.files.list("nope"), /FileNotFoundError|NotFoundError/);
  const large = Buffer.alloc(50_000_000, "0123456789");
  await sandbox.files.write("large", large.buffer);
  equal(Buffer.from(await sandbox.files.read("large", { format: "bytes" })).equals(large), true);
});
await report.check("files.makeDir files.rename files.remove", async () => {
  equal([await sandbox.files.makeDir("x/y"), await sandbox.files.makeDir("x/y")], [true, false]);
  equal((await sandbox.files.rename("m1", "x/y/moved")).path, "/home/user/x/y/moved");
  await sandbox.files.remove("x");
  equal(await sandbox.files.exists("x"), false);
  await fails(() => sandbox.files.rename("nope", "b"), /NotFoundError/);
});
await report.check("files.watchDir WatchHandle#stop", async () => {
  const events = [];
  await sandbox.files.makeDir("watched");
  const handle = await sandbox.files.watchDir("watched", ({ type, name }) => events.push(`${type} ${name}`));
  await sandbox.files.write("watched/a", "1");
  await until(() => events.includes("create a") && events.includes("write a"));
  await sandbox.files.remove("watched/a");
  await until(() => events.includes("remove a"));
  await handle.stop();
  const deep = [];
  const all = await sandbox.files.watchDir("watched", ({ name }) => deep.push(name), { recursive: true });
  await sandbox.files.write("watched/in/b", "1");
  await until(() => deep.includes("in/b"));
  await all.stop();
});
await report.check("Sandbox#downloadUrl Sandbox#uploadUrl Sandbox#fileUrl", async () => {
  await sandbox.files.write("signed", "by url");
  equal(await (await fetch(await sandbox.downloadUrl("signed"))).text(), "by url");
  equal((await fetch(await sandbox.downloadUrl("signed", { useSignatureExpiration: 60 }))).status, 200);
  const form = new FormData();
  form.append("file", new Blob(["sent"]), "any");
  equal((await fetch(await sandbox.uploadUrl("sent"), { method: "POST", body: form })).status, 200);
  equal(await sandbox.files.read("sent"), "sent");
});
await report.check("Sandbox#getHost", async () => {
  const serving = `python3 -c '
import http.server, os
os.chdir("/home/user"); http.server.HTTPServer(("127.0.0.1", 3000), http.server.SimpleHTTPRequestHandler).serve_forever()'`;
  const web = await sandbox.commands.run(serving, { background: true });
  const get = () =>
    new Promise((resolve) => {
      const headers = { host: sandbox.getHost(3000) };
      const asked = request({ host: server.hostname, port: server.port, path: "/signed", headers }, (answer) => {
        let text = "";
        answer.on("data", (piece) => {
          text += piece;
        });
        answer.on("end", () => resolve(text));
      });
      asked.on("error", () => resolve(""));
      asked.end();
    });
  await until(async () => (await get()) === "by url");
  await web.kill();
});
await report.check(
  "Sandbox.getInfo Sandbox#getInfo Sandbox.getFullInfo Sandbox#isRunning Sandbox.getMetrics Sandbox#getMetrics",
  async () => {
    const info = await Sandbox.getInfo(id);
    equal([info.sandboxId, info.templateId, info.state, info.metadata], [id, "base", "running", { who: "a b&c" }]);
    equal((await Sandbox.getFullInfo(id)).sandboxId, id);
    equal((await sandbox.getInfo()).startedAt instanceof Date, true);
    equal([await sandbox.isRunning(), await made[1].isRunning()], [true, true]);
    const [metrics] = await sandbox.getMetrics();
    equal([metrics.cpuCount > 0, metrics.memTotal > 0, metrics.diskTotal > 0], [true, true, true]);
    equal((await Sandbox.getMetrics(id)).length, 1);
    await fails(() => Sandbox.getInfo("nobody"), /NotFoundError/);
  },
);
await report.check("Sandbox.list", async () => {
  const found = Sandbox.list({ query: { metadata: { who: "a b&c" } } });
  equal(
    (await found.nextItems()).map(({ sandboxId }) => sandboxId),
    [id],
  );
  equal(found.hasNext, false);
  const pages = Sandbox.list({ limit: 1, query: { state: ["running"] } });
  const all = [];
  while (pages.hasNext) all.push(...(await pages.nextItems()).map(({ sandboxId }) => sandboxId));
  equal(
    made.every(({ sandboxId }) => all.includes(sandboxId)),
    true,
  );
});
await report.check("Sandbox.setTimeout Sandbox#setTimeout", async () => {
  await sandbox.setTimeout(600_000);
  await Sandbox.setTimeout(id, 300_000);
  const left = (await sandbox.getInfo()).endAt - Date.now();
  equal(left > 290_000 && left <= 300_000, true);
  const brief = await Sandbox.create({ timeoutMs: 1000 });
  await until(async () => !(await brief.isRunning()));
  await fails(() => brief.commands.run("true"), /TimeoutError|NotFoundError|SandboxError/);
});
await report.check(
  "Sandbox.pause Sandbox#pause Sandbox.betaPause Sandbox#betaPause Sandbox.connect Sandbox#connect",
  async () => {
    await sandbox.commands.run("echo kept > kept; (sleep 1000 &) ");
    equal([await sandbox.pause(), await Sandbox.pause(id)], [true, false]);
    equal([await sandbox.isRunning(), (await Sandbox.getInfo(id)).state], [false, "paused"]);
    const again = await Sandbox.connect(id, { timeoutMs: 120_000 });
    equal((await again.commands.run("pgrep -c sleep; cat kept")).stdout, "1\nkept\n");
    equal(await sandbox.betaPause(), true);
    await sandbox.connect();
    equal(await sandbox.isRunning(), true);
    await Sandbox.betaPause(id);
    await sandbox.connect();
  },
);
await report.check("Sandbox.fork Sandbox#fork", async () => {
  const forks = await sandbox.fork({ count: 2 });
  for (const fork of forks) {
    if (fork instanceof Error) throw fork;
    made.push(fork);
    equal(await fork.files.read("kept"), "kept\n");
  }
  const [one] = await Sandbox.fork(id);
  made.push(one);
});
await report.check(
  "Sandbox.createSnapshot Sandbox#createSnapshot Sandbox.listSnapshots Sandbox#listSnapshots Sandbox.deleteSnapshot",
  async () => {
    const one = await sandbox.createSnapshot();
    const other = await Sandbox.createSnapshot(id);
    const ids = (await sandbox.listSnapshots().nextItems()).map(({ snapshotId }) => snapshotId);
    equal(ids.includes(one.snapshotId) && ids.includes(other.snapshotId), true);
    equal((await Sandbox.listSnapshots({ limit: 1 }).nextItems()).length, 1);
    const copy = await Sandbox.create(one.snapshotId);
    made.push(copy);
    equal(await copy.files.read("kept"), "kept\n");
    equal([await Sandbox.deleteSnapshot(one.snapshotId), await Sandbox.deleteSnapshot(one.snapshotId)], [true, false]);
    await Sandbox.deleteSnapshot(other.snapshotId);
  },
);
await report.check("Sandbox.updateNetwork Sandbox#updateNetwork", async () => {
  await sandbox.updateNetwork({ allowOut: ["example.com"], denyOut: ["0.0.0.0/0"] });
  equal((await sandbox.getInfo()).network.allowOut, ["example.com"]);
  await Sandbox.updateNetwork(id, {});
});
const git = (names) =>
  names
    .split(" ")
    .map((name) => `git.${name}`)
    .join(" ");
await report.check(
  git("init configureUser setConfig getConfig add commit status branches createBranch checkoutBranch deleteBranch"),
  async () => {
    await sandbox.git.init("/tmp/repo", { initialBranch: "main" });
    await sandbox.git.configureUser("A", "a@example.com");
    await sandbox.git.setConfig("pull.rebase", "false");
    equal(await sandbox.git.getConfig("pull.rebase"), "false");
    await sandbox.files.write("/tmp/repo/file", "1");
    equal((await sandbox.git.status("/tmp/repo")).isClean, false);
    await sandbox.git.add("/tmp/repo");
    await sandbox.git.commit("/tmp/repo", "first");
    await sandbox.git.createBranch("/tmp/repo", "side");
    await sandbox.git.checkoutBranch("/tmp/repo", "main");
    equal((await sandbox.git.branches("/tmp/repo")).branches.sort(), ["main", "side"]);
    await sandbox.git.deleteBranch("/tmp/repo", "side");
  },
);
await report.check(git("remoteAdd remoteGet push pull clone reset restore"), async () => {
  await sandbox.commands.run("git init -q --bare /tmp/bare.git -b main");
  await sandbox.git.remoteAdd("/tmp/repo", "origin", "/tmp/bare.git");
  equal(await sandbox.git.remoteGet("/tmp/repo", "origin"), "/tmp/bare.git");
  await sandbox.git.push("/tmp/repo", { remote: "origin", branch: "main", setUpstream: true });
  await sandbox.git.clone("/tmp/bare.git", { path: "/tmp/clone" });
  await sandbox.git.pull("/tmp/clone");
  await sandbox.files.write("/tmp/clone/file", "2");
  await sandbox.git.restore("/tmp/clone", { paths: ["file"] });
  equal(await sandbox.files.read("/tmp/clone/file"), "1");
  await sandbox.git.reset("/tmp/clone", { mode: "hard" });
});
await report.check("git.dangerouslyAuthenticate", async () => {
  await sandbox.git.dangerouslyAuthenticate({ username: "u", password: "p", host: "example.com" });
  equal((await sandbox.commands.run("cat ~/.git-credentials")).stdout.includes("example.com"), true);
});
await report.check("Sandbox#kill Sandbox.kill", async () => {
  equal([await sandbox.kill(), await sandbox.kill(), await Sandbox.kill("nobody")], [true, false, false]);
  await fails(() => sandbox.commands.run("true"), /TimeoutError|NotFoundError|SandboxError/);
  equal(await sandbox.isRunning(), false);
  for (const one of made.slice(1)) equal(await one.kill(), true);
});

// What is not served says so, and what to use instead.
const refused = {};
const refuse = async (method, work) => {
  try {
    await work();
    refused[method] = "ok";
  } catch (error) {
    refused[method] = `${error?.name}: ${error?.message}`;
  }
};
await refuse("Template.build", () => Template.build(Template().fromImage("debian:13"), { alias: "x", name: "x" }));
await refuse("Volume.create", () => Volume.create("v"));
await refuse("Volume.list", () => Volume.list());
if (Secret) await refuse("Secret.create", () => Secret.create("S", "v"));
await refuse("Sandbox.create, mcp", () => Sandbox.create({ mcp: { time: {} } }));

report.print({ ...publicMethods(), refused });

function publicMethods() {
  const of = (target) => {
    const names = new Set();
    const ends = [Object.prototype, Function.prototype, null];
    for (let level = target; !ends.includes(level); level = Object.getPrototypeOf(level)) {
      for (const name of Object.getOwnPropertyNames(level)) names.add(name);
    }
    return [...names].filter((name) => !/^(_.*|constructor|prototype|length|name)$/.test(name));
  };
  const all = [
    ...of(Sandbox).map((name) => `Sandbox.${name}`),
    ...of(Sandbox.prototype).map((name) => `Sandbox#${name}`),
    ...["commands", "files", "pty", "git"].flatMap((part) =>
      of(Object.getPrototypeOf(sandbox[part])).map((name) => `${part}.${name}`),
    ),
  ];
  return { all };
}
