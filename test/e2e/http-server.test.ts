/** The server itself: limits, fairness, shutting down, TLS, its log and its figures. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { request as secureRequest } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { ApiServer, eventsOf } from "../support/api-server.js";
import { leaksSince, traces } from "../support/leaks.js";
import { runCli } from "../support/run-cli.js";

const [actor] = actors;
if (actor === undefined) throw new Error("nobody runs tests");
const quick = { command: ["true"], network: false };

describe("a server that several callers share", () => {
  let server: ApiServer;
  beforeAll(async () => {
    server = await ApiServer.start(actor, ["--max-concurrent", "4"]);
  });
  afterAll(async () => {
    await server.stop();
  });

  it("serves 450 requests of one key and 50 of another, and the small one does not wait for the large one", async () => {
    const [large, small] = [await server.key("large", []), await server.key("small", [])];
    const finished: string[] = [];
    const one = async (name: string, key: string) => {
      const { status } = await server.ask("POST", "/run", { body: quick, key });
      finished.push(name);
      return status;
    };
    const before = traces();
    const statuses = await Promise.all([
      ...Array.from({ length: 450 }, () => one("large", large)),
      ...Array.from({ length: 50 }, () => one("small", small)),
    ]);
    expect(new Set(statuses)).toEqual(new Set([200]));
    // Served in turn, the fifty are through when about as many of the large one's are.
    expect(finished.lastIndexOf("small")).toBeLessThan(250);
    expect(await leaksSince(before)).toEqual([]);
  }, 240_000);

  it("holds a key to its rate and says when to come again", async () => {
    const key = await server.key("slow", ["--rate", "6"]);
    expect((await server.ask("POST", "/run", { body: quick, key })).status).toBe(200);
    const { status, json, headers } = await server.ask("POST", "/run", { body: quick, key });
    expect([status, json.error.code]).toEqual([429, "too_many_requests"]);
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
  });

  it("holds a key to its processor time", async () => {
    const key = await server.key("tired", ["--cpu-seconds", "1"]);
    // The kernel ends it after two seconds of processor time, however busy the machine is.
    const busy = { command: ["sh", "-c", "ulimit -t 2; while :; do :; done"], network: false, timeout_ms: 120_000 };
    expect((await server.ask("POST", "/run", { body: busy, key })).status).toBe(200);
    expect((await server.ask("POST", "/run", { body: quick, key })).status).toBe(429);
  });

  it("keeps connections open, and passes a request's id on", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const key = await server.key("kept", ["--scope", "admin"]);
    const ids = [];
    for (const id of ["first-1", "second-2", "not\tplain"]) {
      const { headers } = await server.ask("GET", "/version", { key, agent, headers: { "x-request-id": id } });
      ids.push(headers["x-request-id"]);
    }
    expect(ids.slice(0, 2)).toEqual(["first-1", "second-2"]);
    expect(ids[2]).toMatch(/^[0-9a-f-]{36}$/);
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(1);
    agent.destroy();
  });

  it("tells its figures to whoever may know them", async () => {
    const key = await server.key("figures", ["--scope", "metrics"]);
    const { text, headers } = await server.ask("GET", "/metrics", { key });
    expect(headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toMatch(/^agentkernel_sandbox_starts_total\{kind="run",start="cold"\} \d{3,}$/m);
    expect(text).toMatch(/^agentkernel_http_request_duration_seconds_bucket\{operation="run",le="\+Inf"\} \d{3,}$/m);
    expect(text).toMatch(/^agentkernel_errors_total\{code="too_many_requests"\} 2$/m);
  });

  it("has sandboxes ready for whoever asks again, and counts them", async () => {
    const key = await server.key("warm", ["--scope", "admin"]);
    const figures = async () => (await server.ask("GET", "/metrics", { key })).text;
    const warm = (from: string) => Number(/_starts_total\{kind="run",start="warm"\} (\d+)/.exec(from)?.[1] ?? 0);
    let [before, text] = [0, await figures()];
    // Until one is ready for requests like these: those that wait may be for callers with another ceiling.
    do {
      before = warm(text);
      expect((await server.ask("POST", "/run", { body: quick, key })).status).toBe(200);
      text = await figures();
    } while (warm(text) === before);
    expect(warm(text)).toBe(before + 1);
    expect(text).toMatch(/^agentkernel_pool_warm \d+$/m);
  });

  it("answers with the command's end, and gives its place back when the sandbox is gone", async () => {
    const key = await server.key("one", ["--scope", "run", "--concurrency", "1"]);
    for (let turn = 0; turn < 5; turn++) {
      const { status, json } = await server.ask("POST", "/run", { body: quick, key });
      expect([status, json.data.exit_code]).toEqual([200, 0]);
      expect(json.data.usage).toMatchObject({ cpu_us: expect.any(Number), oom_kills: 0, processes_denied: 0 });
    }
    const admin = await server.key("looks", ["--scope", "metrics"]);
    let text = "";
    while (!/^agentkernel_commands_running 0$/m.test(text)) {
      text = (await server.ask("GET", "/metrics", { key: admin })).text;
    }
  });

  it("keeps no key, command, variable or path of a file in its log of requests", async () => {
    const key = await server.key("secret", ["--scope", "admin"]);
    const marks = { word: "mark-in-word", env: "mark-in-env", stdin: "mark-in-stdin", file: "mark-in-file" };
    await server.ask("POST", "/run", {
      body: { command: ["echo", marks.word], env: { X: marks.env }, stdin: marks.stdin, network: false },
      key,
    });
    await server.ask("GET", `/sandboxes/none/files/${marks.file}?format=raw`, { key });
    await server.ask("GET", "/nowhere/mark-in-path?mark-in-query=1", { key });
    const path = join(server.stateFolder, "access.log");
    const lines = () => readFileSync(path, "utf8").trimEnd().split("\n");
    const last = await server.ask("GET", "/health", { headers: { "x-request-id": "the-last-one" } });
    expect(last.status).toBe(200);
    while (!lines().at(-1)?.includes("the-last-one")) await new Promise((resolve) => setImmediate(resolve));
    const text = readFileSync(path, "utf8") + server.stderr;
    expect(text).not.toContain("mark-in");
    for (const part of key.split("_").slice(2)) expect(text).not.toContain(part);
    const records = lines().map((line) => JSON.parse(line));
    expect(records.at(-1)).toMatchObject({ id: "the-last-one", operation: "getHealth", status: 200 });
    expect(
      records.some(
        ({ operation, sandbox, status }) => operation === "readFile" && sandbox === "none" && status === 404,
      ),
    ).toBe(true);
  });

  it("is not held up by callers that never finish what they say, and lets go of them", async () => {
    const heads = ["GET /he", "POST /run HTTP/1.1\r\nHost: localhost\r\nX: "];
    const slow = Array.from({ length: 200 }, (_, index) => {
      const socket = connect(server.port, "127.0.0.1", () => socket.write(heads[index % 2] ?? ""));
      return new Promise<string>((resolve) => {
        let text = "";
        socket.setEncoding("latin1").on("data", (chunk) => {
          text += chunk;
        });
        socket.on("error", () => {});
        socket.once("close", () => resolve(text));
      });
    });
    const key = await server.key("patient", []);
    expect((await server.ask("POST", "/run", { body: quick, key })).status).toBe(200);
    const answers = await Promise.all(slow);
    expect(answers.every((text) => text === "" || text.startsWith("HTTP/1.1 408 "))).toBe(true);
  });

  it("shows its description, to people and to programs", async () => {
    const page = await server.ask("GET", "/docs");
    expect(page.headers["content-type"]).toContain("text/html");
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(page.text).toContain("/sandboxes/{name}/exec/stream");
    expect(page.text).not.toMatch(/src=|<script|@import/);
    expect((await server.ask("GET", "/openapi.json")).text).toBe(readFileSync("spec/openapi.json", "utf8"));
  });
});

describe("a server that ends", () => {
  it("lets what runs end in order, refuses new work, and leaves nothing", async () => {
    const before = traces();
    const server = await ApiServer.start(actor);
    const key = await server.key("k", ["--scope", "admin"]);
    const stream = await server.open("POST", "/run/stream", {
      body: { command: ["sh", "-c", "echo up; sleep 0.5; echo last"], network: false },
      key,
    });
    const seen: string[] = [];
    for await (const { event, data } of eventsOf(stream)) {
      seen.push(data.text ?? event);
      if (data.text === "up\n") server.child.kill("SIGTERM");
    }
    expect(seen).toEqual(["started", "up\n", "last\n", "exit"]);
    expect(await server.exited).toBe(0);
    expect(await leaksSince(before)).toEqual([]);
  });

  it("gives up what does not end within its grace time", async () => {
    const before = traces();
    const server = await ApiServer.start(actor);
    const key = await server.key("k", ["--scope", "admin"]);
    const stream = await server.open("POST", "/run/stream", {
      body: { command: ["sh", "-c", "echo up; sleep 4713"], network: false },
      key,
    });
    for await (const { event } of eventsOf(stream)) if (event === "stdout") server.child.kill("SIGTERM");
    expect(await server.exited).toBe(0);
    expect(await leaksSince(before)).toEqual([]);
  });
});

describe("serve", () => {
  it("speaks TLS with the files that it is given", async () => {
    const folder = actor.folder("tls");
    const [cert, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    execFileSync(
      "openssl",
      [
        ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"],
        ...["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", keyFile, "-out", cert],
      ],
      { stdio: "ignore" },
    );
    execFileSync("chown", ["-R", `${actor.uid}:${actor.gid}`, folder]);
    const server = await ApiServer.start(actor, ["--tls-cert", cert, "--tls-key", keyFile]);
    const body = await new Promise<string>((resolve, reject) => {
      const asked = secureRequest(
        { host: "127.0.0.1", port: server.port, path: "/health", ca: readFileSync(cert) },
        (response) => {
          let text = "";
          response.on("data", (chunk: Buffer) => {
            text += String(chunk);
          });
          response.once("end", () => resolve(text));
        },
      );
      asked.once("error", reject);
      asked.end();
    });
    expect(JSON.parse(body)).toEqual({ success: true, data: { status: "ok" } });
    await server.stop();
  });

  it.each([
    [["--port", "70000"], "--port"],
    [["--tls-cert", "/nonexistent"], "--tls-cert goes with --tls-key"],
    [
      ["--tls-cert", "/nonexistent", "--tls-key", "/nonexistent"],
      "--tls-cert: /nonexistent cannot be read: it does not exist\n  hint: correct the path",
    ],
    [["--tls-cert", "/dev/null", "--tls-key", "/dev/null"], "--tls-cert: /dev/null is no certificate in PEM\n  hint: "],
    [["--access-log", "/proc/none/x"], "--access-log: /proc/none/x cannot be written: "],
    [["--log", "/proc/none/x"], "--log: /proc/none/x cannot be written: "],
    [["--jwks", "x"], "tokens need all of --jwks, --jwt-issuer, --jwt-audience"],
    [["--jwks", "http://keys.example/jwks", "--jwt-issuer", "i", "--jwt-audience", "a"], "only taken over HTTPS"],
    [["--jwks", "/nonexistent", "--jwt-issuer", "i", "--jwt-audience", "a"], "--jwks: /nonexistent is no set of keys"],
    [["--host", "192.0.2.1"], "there is no key"],
  ])("refuses %j with a clear word", async (words, message) => {
    const env = { XDG_STATE_HOME: actor.folder("state"), XDG_RUNTIME_DIR: actor.folder("runtime") };
    const refused = await runCli(actor, ["serve", ...words], { env });
    expect(refused.status).toBe(125);
    expect(refused.stderr).toContain(message);
  });
});

describe("keys", () => {
  it("are made, listed without themselves, and revoked", async () => {
    const env = { XDG_STATE_HOME: actor.folder("state") };
    const made = await runCli(actor, ["keys", "create", "--scope", "run", "--rate", "60", "ci", "--json"], { env });
    const { data } = JSON.parse(made.stdout);
    expect(data).toMatchObject({ name: "ci", scopes: ["run"], requests_per_minute: 60 });
    expect(data.key).toMatch(/^ak_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/);
    const listed = await runCli(actor, ["keys", "list"], { env });
    expect(listed.stdout.split("\n")).toEqual([
      expect.stringMatching(/^NAME +ID +SCOPES +SANDBOXES +AT MOST +EXPIRES$/),
      `ci    ${data.id}  run     its own    2 cores, 1g, 1h, no network  never`,
      "",
    ]);
    expect((await runCli(actor, ["keys", "list", "--json"], { env })).stdout).not.toContain("hash");
    expect((await runCli(actor, ["keys", "create", "ci"], { env })).stderr).toContain("there is a key ci already");
    expect((await runCli(actor, ["keys", "revoke", "ci"], { env })).stdout).toBe("ci is revoked\n");
    expect((await runCli(actor, ["keys", "revoke", "ci"], { env })).stderr).toContain("there is no key ci");
  });
});
