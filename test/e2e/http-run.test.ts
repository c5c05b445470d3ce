/** Commands over HTTP: the first call that the documentation prints, streams while a command runs, and who goes away. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { ApiServer, eventsOf } from "../support/api-server.js";
import { leaksSince, traces } from "../support/leaks.js";

const run = promisify(execFile);

describe.each(actors)("as $name", (actor) => {
  let server: ApiServer;
  beforeAll(async () => {
    server = await ApiServer.start(actor);
  });
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
  });

  const asActor = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
  const curl = (...words: readonly string[]) =>
    curlWithoutKey("-H", `Authorization: Bearer ${server.localToken}`, ...words);
  const curlWithoutKey = async (...words: readonly string[]) =>
    (await run("curl", ["-sS", ...words], { ...asActor, cwd: "/" })).stdout;

  it("the first call answers as it is printed", async () => {
    const printed = await curl(
      ...["-X", "POST", `http://localhost:${server.port}/run`, "-H", "Content-Type: application/json"],
      ...["-d", '{"command": ["python3", "-c", "print(1+1)"], "profile": "restrictive"}'],
    );
    expect(printed).toMatch(/^\{"success":true,"data":\{"output":"2\\n","stdout":"2\\n","stderr":"","exit_code":0,/);
  });

  it("a command that fails is a result, with its streams apart and in order of arrival", async () => {
    const body = { command: ["sh", "-c", "echo out; echo err >&2; exit 7"], network: false };
    const { success, data } = JSON.parse(
      await curl("-H", "Content-Type: application/json", "-d", JSON.stringify(body), `${server.url}/run`),
    );
    expect(success).toBe(true);
    expect(data).toMatchObject({ stdout: "out\n", stderr: "err\n", exit_code: 7, timed_out: false });
    expect(data.output).toContain("out\n");
  });

  it("events arrive while the command runs", async () => {
    // The command waits for a line that is only written after its first event was seen: nothing waits for time.
    const made = await askAsActor("POST", "/sandboxes", { name: "events", network: false });
    expect(made.status).toBe(201);
    const script = "mkfifo /tmp/go; echo first; cat /tmp/go; echo second >&2; exit 5";
    const stream = await openAsActor("POST", "/sandboxes/events/exec/stream", { command: ["sh", "-c", script] });
    const seen: string[] = [];
    for await (const { event, data } of eventsOf(stream)) {
      seen.push(`${event} ${data.text ?? data.code ?? ""}`.trim());
      if (data.text === "first\n") {
        await askAsActor("POST", "/sandboxes/events/exec", { command: ["sh", "-c", "echo went > /tmp/go"] });
      }
    }
    expect(seen).toEqual(["started", "stdout first", "stdout went", "stderr second", "exit 5"]);
    expect((await askAsActor("DELETE", "/sandboxes/events?force=true")).status).toBe(200);
  });

  it("characters that are split over writes come whole, and base64 keeps every byte", async () => {
    const script =
      "import os,time\nfor b in 'ä☃'.encode():\n os.write(1, bytes([b])); time.sleep(0.02)\nos.write(1, b'\\xff')";
    const command = ["python3", "-c", script];
    const texts: string[] = [];
    for await (const { event, data } of eventsOf(
      await openAsActor("POST", "/run/stream", { command, network: false }),
    )) {
      if (event === "stdout") texts.push(data.text);
    }
    expect(texts.join("")).toBe("ä☃\ufffd");
    expect(texts.slice(0, -1).join("")).not.toContain("\ufffd");
    const bytes: Buffer[] = [];
    const raw = { command, network: false, encoding: "base64" };
    for await (const { event, data } of eventsOf(await openAsActor("POST", "/run/stream", raw))) {
      if (event === "stdout") bytes.push(Buffer.from(data.base64, "base64"));
    }
    expect(Buffer.concat(bytes)).toEqual(Buffer.from([...Buffer.from("ä☃"), 0xff]));
  });

  it("a caller that goes away takes its command and its sandbox along", async () => {
    const before = traces();
    const stream = await openAsActor("POST", "/run/stream", {
      command: ["sh", "-c", "echo up; sleep 4711"],
      network: false,
    });
    for await (const { event } of eventsOf(stream)) {
      if (event === "stdout") break;
    }
    stream.destroy();
    expect(await leaksSince(before)).toEqual([]);
  });

  it("a reader that takes nothing holds the command back and costs the server little", async () => {
    const before = await memoryOf(server.pid);
    const stream = await openAsActor("POST", "/run/stream", {
      command: ["sh", "-c", "head -c 300000000 /dev/zero | tr '\\0' x; echo done >&2"],
      network: false,
    });
    stream.pause();
    // Another caller is served meanwhile, many times over.
    for (let count = 0; count < 20; count++) {
      expect((await askAsActor("POST", "/run", { command: ["true"], network: false })).status).toBe(200);
    }
    expect((await memoryOf(server.pid)) - before).toBeLessThan(150 << 20);
    const left = traces();
    stream.destroy();
    expect(left.processes.length).toBeGreaterThan(0);
  });

  it("several commands run side by side, and their results come in order", async () => {
    const commands = [3, 1, 2].map((code) => ({ command: ["sh", "-c", `exit ${code}`], network: false }));
    const { json } = await askAsActor("POST", "/batch/run", {
      commands: [...commands, { command: ["/no/such/program"], network: false }],
    });
    const codes = json.data.results.map((one: { data?: { exit_code: number }; error?: { code: string } }) =>
      one.data ? one.data.exit_code : one.error?.code,
    );
    expect(codes).toEqual([3, 1, 2, "command_not_found"]);
  });

  it("a time limit ends everything, and the answer says so", async () => {
    const before = traces();
    const body = { command: ["sh", "-c", "trap '' TERM; echo kept; sleep 100"], timeout_ms: 300, network: false };
    const { json } = await askAsActor("POST", "/run", body);
    expect(json.data).toMatchObject({ timed_out: true, exit_code: 124, stdout: "kept\n" });
    expect(await leaksSince(before)).toEqual([]);
  });

  it("requests of a user's own processes are served on the daemon's socket too", async () => {
    const answer = await curlWithoutKey("--unix-socket", server.socketPath, "http://localhost/health");
    expect(JSON.parse(answer)).toEqual({ success: true, data: { status: "ok" } });
    const ran = await curlWithoutKey(
      ...["--unix-socket", server.socketPath, "http://localhost/run", "-H", "Content-Type: application/json"],
      ...["-d", '{"command":["id","-u"],"network":false}'],
    );
    expect(JSON.parse(ran).data.exit_code).toBe(0);
  });

  /** Root may not ask a user's server without a key: a helper process of the actor's would, so a key stands in. */
  let key: string | undefined;
  async function keyOf(): Promise<string> {
    key ??= await server.key("tests", ["--scope", "admin"]);
    return key;
  }
  async function askAsActor(method: string, path: string, body?: unknown) {
    return await server.ask(method, path, { ...(body === undefined ? {} : { body }), key: await keyOf() });
  }
  async function openAsActor(method: string, path: string, body: unknown) {
    return await server.open(method, path, { body, key: await keyOf() });
  }
});

async function memoryOf(pid: number): Promise<number> {
  const { stdout } = await run("ps", ["-o", "rss=", "-p", String(pid)]);
  return Number(stdout.trim()) * 1024;
}
