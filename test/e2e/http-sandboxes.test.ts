/** Named sandboxes over HTTP, from their making to their end. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { actors } from "../support/actors.js";
import { ApiServer } from "../support/api-server.js";
import { runCli } from "../support/run-cli.js";

const run = promisify(execFile);

describe.each(actors)("as $name", (actor) => {
  let server: ApiServer;
  let key: string;
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    key = await server.key("tests", ["--scope", "admin"]);
  });
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
  });
  const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    server.ask(method, path, { ...(body === undefined ? {} : { body }), headers, key });
  const exec = async (name: string, script: string) =>
    (await ask("POST", `/sandboxes/${name}/exec`, { command: ["sh", "-c", script] })).json.data;

  it("one is made, used, stopped, started again with its files, and removed", async () => {
    const made = await ask("POST", "/sandboxes", { name: "life", network: false, ttl: "1h", resources: { pids: 100 } });
    expect(made.status).toBe(201);
    expect(made.json.data).toMatchObject({
      name: "life",
      state: "running",
      ttl_ms: 3_600_000,
      resources: { pids: 100 },
    });
    expect((await ask("POST", "/sandboxes", { name: "life" })).status).toBe(409);
    expect(await exec("life", "echo kept > /var/tmp/file; echo out; exit 3")).toMatchObject({
      stdout: "out\n",
      exit_code: 3,
    });
    expect((await ask("POST", "/sandboxes/life/stop")).json.data).toMatchObject({ state: "stopped", started_at: null });
    // A command in one that does not run means that it should.
    expect(await exec("life", "cat /var/tmp/file")).toMatchObject({ stdout: "kept\n" });
    expect((await ask("GET", "/sandboxes/life")).json.data.state).toBe("running");
    const stats = (await ask("GET", "/sandboxes/life/stats")).json.data;
    expect(stats).toMatchObject({ name: "life", state: "running" });
    const kept = await ask("DELETE", "/sandboxes/life");
    expect([kept.status, kept.json.error.hint]).toEqual([409, expect.stringContaining("?force=true")]);
    expect((await ask("DELETE", "/sandboxes/life?force=true")).status).toBe(200);
    expect((await ask("GET", "/sandboxes/life")).status).toBe(404);
  });

  it("one detached command is ended with all that it started, the others go on, and its last lines are there", async () => {
    await ask("POST", "/sandboxes", { name: "ends", network: false });
    const detached = async (script: string): Promise<string> => {
      const { json } = await ask("POST", "/sandboxes/ends/exec", { command: ["sh", "-c", script], detach: true });
      return json.data.exec;
    };
    const processes = async () => (await exec("ends", "grep -lx sleep /proc/[0-9]*/comm 2>/dev/null | wc -l")).stdout;
    const stays = await detached("exec sleep 600");
    const ended = await detached("seq 1 500; printf unfinished; setsid sleep 600 & sleep 600");
    await expect.poll(processes).toBe("3\n");
    const logs = async (query: string) =>
      (await ask("GET", `/sandboxes/ends/logs?exec=${ended}${query}`)).json.data.execs[0];
    await expect.poll(async () => (await logs("&tail=3")).stdout).toBe("499\n500\nunfinished");
    expect((await logs("&tail=0")).stdout).toBe("");
    expect((await logs("")).stdout).toMatch(/^1\n2\n/);
    // A key that only reads sees it, and ends nothing.
    const reader = await server.key("reads", ["--scope", "read", "--sandbox", "ends"]);
    const path = `/sandboxes/ends/execs/${ended}`;
    expect((await server.ask("DELETE", path, { key: reader })).json.error.code).toBe("forbidden");
    expect((await server.ask("GET", "/sandboxes/ends/logs?tail=1", { key: reader })).status).toBe(200);
    expect(await processes()).toBe("3\n");
    expect((await ask("DELETE", path)).json.data).toEqual({ exec: ended, sandbox: "ends", state: "ended" });
    await expect.poll(processes).toBe("1\n");
    expect(await logs("&tail=1")).toMatchObject({ state: "ended", exit_code: 137, stdout: "unfinished" });
    expect((await ask("DELETE", path)).status).toBe(409);
    expect((await ask("DELETE", "/sandboxes/ends/execs/x00000000")).status).toBe(404);
    expect((await ask("DELETE", "/sandboxes/ends/execs/..%2f")).json.error).toMatchObject({
      details: { field: "exec" },
    });
    // The command line ends the other, and has the same last lines.
    const client = { ...server.actor, program: [join(actor.dist, "native", "ak-client")] };
    const tail = await runCli(client, ["logs", "--tail", "2", "ends", ended]);
    expect([tail.stdout, tail.status]).toEqual(["500\nunfinished", 0]);
    expect(await runCli(client, ["stop", "--command", stays, "ends"])).toMatchObject({
      stdout: `${stays}\n`,
      status: 0,
    });
    await expect.poll(processes).toBe("0\n");
    await ask("DELETE", "/sandboxes/ends?force=true");
  });

  it("the backend is named as on the command line, and each that can be is known", async () => {
    const made = await ask("POST", "/sandboxes", { name: "walls", backend: "linux", network: false });
    expect([made.status, made.json.data?.backend], made.text).toEqual([201, "linux"]);
    await ask("DELETE", "/sandboxes/walls?force=true");
    const absent = { DOCKER_HOST: "unix:///nonexistent", CONTAINER_HOST: "unix:///nonexistent" };
    const elsewhere = await ApiServer.start({ ...actor, variables: { ...actor.variables, ...absent } });
    const admin = await elsewhere.key("walls", ["--scope", "admin"]);
    for (const backend of ["docker", "podman"]) {
      const body = { command: ["true"], backend };
      const { json } = await elsewhere.ask("POST", "/run", { body, key: admin });
      expect(json.error, backend).toMatchObject({ code: "backend_unavailable" });
    }
    await elsewhere.stop();
    const unknown = await ask("POST", "/sandboxes", { name: "walls", backend: "dcoker" });
    expect(unknown.json.error).toMatchObject({ details: { field: "backend" }, hint: 'did you mean "docker"?' });
  });

  it("what is refused says in whole words what to ask instead", async () => {
    const unknown = await server.ask("GET", "/sandboxes", { key: "wrong" });
    expect([unknown.status, unknown.json.error.hint]).toEqual([
      401,
      expect.stringMatching(/Authorization .*Bearer KEY/),
    ]);
    const misspelt = await ask("POST", "/run", { comand: ["true"] });
    expect(misspelt.json.error).toMatchObject({ details: { field: "comand" }, hint: "did you mean command?" });
    const method = await ask("PUT", "/sandboxes", {});
    expect([method.status, method.json.error.hint]).toEqual([405, expect.stringContaining("GET or POST")]);
    const folder = await ask("POST", "/run", { command: ["true"], dir: "/no/such" });
    expect(folder.json.error).toMatchObject({ message: "dir does not exist", hint: expect.stringContaining("folder") });
    const missing = await ask("GET", "/sandboxes/none");
    expect(missing.json.error.hint).toBe("GET /sandboxes shows those that there are");
  });

  it("the command line sees the same ones", async () => {
    await ask("POST", "/sandboxes", { name: "seen", network: false, start: false });
    const client = { ...server.actor, program: [join(actor.dist, "native", "ak-client")] };
    expect((await runCli(client, ["list"])).stdout).toContain("seen");
    expect((await ask("DELETE", "/sandboxes/seen")).status).toBe(200);
  });

  it("how long one stays and what it may reach can be changed", async () => {
    await ask("POST", "/sandboxes", { name: "changed", network: "allowlist" });
    const patched = await ask("PATCH", "/sandboxes/changed", { ttl: "2h", idle_timeout: "10m", network: false });
    expect(patched.json.data).toMatchObject({ ttl_ms: 7_200_000, idle_timeout_ms: 600_000, network: "off" });
    expect((await ask("PATCH", "/sandboxes/changed", { ttl: null })).json.data).toMatchObject({
      ttl_ms: null,
      expires_at: null,
    });
    await ask("DELETE", "/sandboxes/changed?force=true");
  });

  it("files go in and out as bytes, as JSON and as archives", async () => {
    await ask("POST", "/sandboxes", { name: "files", network: false });
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const raw = { "content-type": "application/octet-stream" };
    const put = await ask("PUT", "/sandboxes/files/files/workspace/deep/bytes?mode=0600", bytes, raw);
    expect(put.json.data).toEqual({ path: "/workspace/deep/bytes", size_bytes: 256 });
    expect((await ask("GET", "/sandboxes/files/files/workspace/deep/bytes")).bytes).toEqual(bytes);
    const asJson = (await ask("GET", "/sandboxes/files/files/workspace/deep/bytes?format=json")).json.data;
    expect(asJson).toMatchObject({
      encoding: "base64",
      content: bytes.toString("base64"),
      size_bytes: 256,
      mode: 0o600,
    });
    await ask("PUT", "/sandboxes/files/files/workspace/text", { content: "ä\n" });
    const text = await ask("GET", "/sandboxes/files/files/workspace/text", undefined, { accept: "application/json" });
    expect(text.json.data).toMatchObject({ encoding: "utf8", content: "ä\n" });
    const listed = (await ask("GET", "/sandboxes/files/files/workspace")).json.data.entries;
    expect(listed.map(({ name, type }: { name: string; type: string }) => `${type} ${name}`)).toEqual([
      "dir deep",
      "file text",
    ]);

    const folder = actor.folder("archive");
    mkdirSync(join(folder, "a", "b"), { recursive: true });
    const long = `${"long-name-".repeat(20)}.txt`;
    writeFileSync(join(folder, "a", "b", long), "inside\n", { mode: 0o640 });
    await run("tar", ["-C", folder, "-cf", join(folder, "in.tar"), "a"]);
    const archive = { "content-type": "application/x-tar" };
    expect(
      (await ask("PUT", "/sandboxes/files/files/workspace/in", readFileSync(join(folder, "in.tar")), archive)).status,
    ).toBe(200);
    expect(await exec("files", `cat /workspace/in/a/b/${long}; ln -s target /workspace/in/link`)).toMatchObject({
      stdout: "inside\n",
    });
    const out = await ask("GET", "/sandboxes/files/files/workspace/in?format=tar");
    writeFileSync(join(folder, "out.tar"), out.bytes);
    const { stdout } = await run("tar", ["-tvf", join(folder, "out.tar")]);
    expect(stdout).toMatch(new RegExp(`-rw-r----- .* a/b/${long}\n`));
    expect(stdout).toMatch(/ link -> target\n/);

    const full = await ask("DELETE", "/sandboxes/files/files/workspace/in");
    expect([full.status, full.json.error.hint]).toEqual([400, expect.stringContaining("?recursive=true")]);
    expect((await ask("DELETE", "/sandboxes/files/files/workspace/in?recursive=true")).status).toBe(200);
    expect((await ask("GET", "/sandboxes/files/files/workspace/in")).status).toBe(404);
    await ask("DELETE", "/sandboxes/files?force=true");
  });

  it("a large file streams both ways", async () => {
    await ask("POST", "/sandboxes", { name: "large", network: false });
    const bytes = Buffer.alloc(20 << 20, "0123456789abcdef");
    const raw = { "content-type": "application/octet-stream" };
    expect((await ask("PUT", "/sandboxes/large/files/var/tmp/large", bytes, raw)).json.data.size_bytes).toBe(
      bytes.length,
    );
    expect((await ask("GET", "/sandboxes/large/files/var/tmp/large")).bytes.equals(bytes)).toBe(true);
    await ask("DELETE", "/sandboxes/large?force=true");
  });

  it("an upload or a download that is cut off leaves nothing, and is no fault of the server's", async () => {
    await ask("POST", "/sandboxes", { name: "cut", network: false });
    const half = connect(server.port, "127.0.0.1");
    const head = `PUT /sandboxes/cut/files/var/tmp/half HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n`;
    half.write(
      `${head}Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n${"x".repeat(500_000)}`,
    );
    await new Promise<void>((resolve) => half.write("y", () => resolve()));
    half.destroy();
    await exec("cut", "head -c 50000000 /dev/zero > /var/tmp/zeros");
    const download = await server.open("GET", "/sandboxes/cut/files/var/tmp/zeros", { key });
    for await (const chunk of download) {
      expect((chunk as Buffer).length).toBeGreaterThan(0);
      break;
    }
    download.destroy();
    expect((await exec("cut", "ls -A /var/tmp")).stdout).toBe("zeros\n");
    expect(server.stderr).not.toMatch(/^\S+ request /m);
    await ask("DELETE", "/sandboxes/cut?force=true");
  });

  it("a command can be left to itself, and its output is there later", async () => {
    await ask("POST", "/sandboxes", { name: "left", network: false });
    const body = {
      command: ["sh", "-c", "mkfifo /tmp/go; echo begun; cat /tmp/go; echo over >&2; exit 4"],
      detach: true,
    };
    const left = await ask("POST", "/sandboxes/left/exec", body);
    expect(left.status).toBe(202);
    const log = async () => (await ask("GET", `/sandboxes/left/logs?exec=${left.json.data.exec}`)).json.data.execs[0];
    expect(await log()).toMatchObject({ state: "running", exit_code: null });
    await exec("left", "until [ -p /tmp/go ]; do :; done; echo went > /tmp/go");
    let last = await log();
    while (last.state === "running") last = await log();
    expect(last).toMatchObject({ state: "ended", exit_code: 4, stdout: "begun\nwent\n", stderr: "over\n" });
    await ask("DELETE", "/sandboxes/left?force=true");
  });

  it("a terminal over a WebSocket shows, is typed in, is resized, and says how it ended", async () => {
    await ask("POST", "/sandboxes", { name: "tty", network: false });
    const ws = new WebSocket(`ws://127.0.0.1:${server.port}/sandboxes/tty/attach?command=sh&cols=100&rows=30`, {
      headers: { authorization: `Bearer ${key}` },
    });
    let shown = "";
    const waiting = new Set<() => void>();
    const until = (pattern: RegExp) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!pattern.test(shown)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      });
    const words: string[] = [];
    ws.on("message", (data: Buffer, isBinary: boolean) => {
      if (isBinary) shown += data.toString();
      else words.push(data.toString());
      for (const look of [...waiting]) look();
    });
    const closed = new Promise<number>((resolve) => ws.once("close", resolve));
    await new Promise((resolve) => ws.once("open", resolve));
    ws.send(Buffer.from("stty size\n"));
    await until(/30 100/);
    ws.send(JSON.stringify({ type: "resize", cols: 66, rows: 22 }));
    ws.send(Buffer.from("stty size\n"));
    await until(/22 66/);
    ws.send(Buffer.from("exit 9\n"));
    expect(await closed).toBe(1000);
    expect(words).toEqual(['{"type":"exit","code":9}']);
    const plain = await ask("GET", "/sandboxes/tty/attach");
    expect([plain.status, plain.json.error.details.field]).toEqual([400, "Upgrade"]);
    await ask("DELETE", "/sandboxes/tty?force=true");
  });

  it("a terminal whose reader goes away ends what runs in it", async () => {
    await ask("POST", "/sandboxes", { name: "gone", network: false });
    const ws = new WebSocket(`ws://127.0.0.1:${server.port}/sandboxes/gone/attach?command=sh`, {
      headers: { authorization: `Bearer ${key}` },
    });
    await new Promise((resolve) => ws.once("open", resolve));
    const marked = new Promise<void>((resolve) =>
      ws.on("message", (data: Buffer) => (data.toString().includes("mark-7") ? resolve() : undefined)),
    );
    ws.send(Buffer.from("sleep 4712 & echo mark-$((3+4))\n"));
    await marked;
    ws.terminate();
    let processes = "sleep";
    while (processes.includes("sleep")) processes = (await exec("gone", "cat /proc/[0-9]*/comm")).stdout;
    await ask("DELETE", "/sandboxes/gone?force=true");
  });
});
