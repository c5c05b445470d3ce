/** Bodies, names and paths that no honest client sends: each is refused with the field named, and costs nothing. */
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { ApiServer } from "../../support/api-server.js";
import { leaksSince, traces } from "../../support/leaks.js";

const good = { command: ["echo", "ok"], network: false };

const bodies: readonly (readonly [string, string, string | RegExp])[] = [
  ["nothing", "", "body"],
  ["no JSON", "{command:", "body"],
  ["a list", "[]", "body"],
  ["a number", "1", "body"],
  ["two objects", '{"command":["true"]}{}', "body"],
  ["NaN", '{"command":["true"],"timeout_ms":NaN}', "body"],
  ["Infinity", '{"command":["true"],"timeout_ms":1e999}', "body"],
  ["a key twice", '{"command":["true"],"command":["false"]}', "command"],
  ["__proto__", '{"command":["true"],"__proto__":{"profile":"permissive"}}', "__proto__"],
  ["constructor", '{"command":["true"],"constructor":{"prototype":{}}}', "constructor"],
  ["__proto__ inside", '{"command":["true"],"resources":{"__proto__":{}}}', "resources.__proto__"],
  ["deep nesting", `{"command":${"[".repeat(100_000)}`, "body"],
  ["deep objects", `{"a":`.repeat(50_000), "body"],
  ["no command", "{}", "command"],
  ["an empty command", '{"command":[]}', "command"],
  ["a command that is a text", '{"command":"true"}', "command"],
  ["a word that is a number", '{"command":["true",1]}', "command[1]"],
  ["a word with NUL", '{"command":["a\\u0000b"]}', "command[0]"],
  ["half a character", '{"command":["\\ud800"]}', /body/],
  ["a time that is a text", '{"command":["true"],"timeout_ms":"1s"}', "timeout_ms"],
  ["a time below zero", '{"command":["true"],"timeout_ms":-1}', "timeout_ms"],
  ["a time that is no whole number", '{"command":["true"],"timeout_ms":1.5}', "timeout_ms"],
  ["memory beyond measure", '{"command":["true"],"resources":{"memory_mb":1e12}}', "resources.memory_mb"],
  ["a profile that is none", '{"command":["true"],"profile":"open"}', "profile"],
  ["a network that is a number", '{"command":["true"],"network":1}', "network"],
  ["a domain that is none", '{"command":["true"],"network":{"allowed_domains":["a b"]}}', /./],
  ["a variable's name", '{"command":["true"],"env":{"A=B":"c"}}', "env"],
  ["a relative cwd", '{"command":["true"],"cwd":"../etc"}', "cwd"],
  ["an encoding that is none", '{"command":["true"],"stdin":"x","stdin_encoding":"rot13"}', "stdin_encoding"],
  ["base64 that is none", '{"command":["true"],"stdin":"*","stdin_encoding":"base64"}', "stdin"],
  ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]).toString("latin1"), "body"],
];

describe("A2 requests that no honest client sends", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("nobody runs tests");
  let server: ApiServer;
  let key: string;
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    key = await server.key("admin", ["--scope", "admin"]);
    await server.ask("POST", "/sandboxes", { body: { name: "box", network: false }, key });
  });
  afterAll(async () => {
    await server.ask("DELETE", "/sandboxes/box?force=true", { key });
    await server.stop();
  });

  it("an honest one is served", async () => {
    const { status, json } = await server.ask("POST", "/run", { body: good, key });
    expect([status, json.data.stdout]).toEqual([200, "ok\n"]);
  });

  it.each(bodies)("%s", async (_title, body, field) => {
    const bytes = Buffer.from(body, "latin1");
    const { status, json } = await server.ask("POST", "/run", { body: bytes, key });
    expect(status, JSON.stringify(json)).toBe(400);
    expect(json).toMatchObject({ success: false, error: { code: "invalid_argument" } });
    if (typeof field === "string") expect(json.error.details.field).toBe(field);
    // JavaScript's own objects are as they were.
    expect((await server.ask("POST", "/run", { body: good, key })).json.data.profile).toBe("moderate");
  });

  it("ten megabytes are refused before they are read", async () => {
    const before = traces();
    const body = { command: ["echo", "x".repeat(10_000_000)] };
    const { status, json } = await server.ask("POST", "/run", { body, key });
    expect([status, json.error.code]).toEqual([413, "payload_too_large"]);
    expect(await leaksSince(before)).toEqual([]);
  });

  it("a body without a stated length is refused at the byte that is too many", async () => {
    const answer = await raw(server.port, [
      `POST /run HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      ...Array.from({ length: 10 }, () => `100000\r\n${"x".repeat(1 << 20)}\r\n`),
    ]);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  it.each([
    "-rf",
    "--force",
    "..",
    "a..b",
    ".hidden",
    "A",
    "a/b",
    "%2e%2e",
    "a%00b",
    "a%0ab",
    "x".repeat(64),
    "a%20b",
    "%ff",
  ])("the sandbox %s is refused as a name", async (name) => {
    const encoded = name.includes("%") ? name : encodeURIComponent(name);
    const { status, json } = await server.ask("GET", `/sandboxes/${encoded}`, { key });
    expect([status, json.error.code]).toEqual([400, "invalid_argument"]);
    expect(json.error.details.field).toMatch(/^(name|path)$/);
    if (name.includes("%")) return;
    const made = await server.ask("POST", "/sandboxes", { body: { name }, key });
    expect([made.status, made.json.error.details.field]).toEqual([400, "name"]);
  });

  it.each([
    "../../../etc/passwd",
    "workspace/../../etc/passwd",
    "%2e%2e/%2e%2e/etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "workspace%2f..%2f..%2fetc/passwd",
    "a%00b",
    `${"a".repeat(300)}`,
  ])("the path %s is refused", async (path) => {
    const answer = await raw(server.port, [
      `GET /sandboxes/box/files/${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    ]);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"field":"path"');
  });

  it("a query is checked like a body", async () => {
    for (const query of ["force=yes", "force=true&force=false", "forse=true"]) {
      const { status, json } = await server.ask("DELETE", `/sandboxes/box?${query}`, { key });
      expect([status, json.error.code], query).toEqual([400, "invalid_argument"]);
    }
  });

  it("heads that are too large or make no sense are answered in the one form", async () => {
    const large = await raw(server.port, [
      `GET /health HTTP/1.1\r\nHost: localhost\r\nX: ${"a".repeat(100_000)}\r\n\r\n`,
    ]);
    expect(large).toMatch(/^HTTP\/1\.1 400 .*too large/s);
    const nonsense = await raw(server.port, ["\x16\x03\x01 nonsense\r\n\r\n"]);
    expect(nonsense).toMatch(/^HTTP\/1\.1 400 .*"success":false/s);
  });

  it("a method that is none of a path's is told which are", async () => {
    const { status, headers } = await server.ask("PUT", "/run", { key });
    expect([status, headers.allow]).toEqual([405, "POST"]);
  });
});

/** Sends bytes as they are; the answer as text, until the server closes or has answered. */
function raw(port: number, parts: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(port, "127.0.0.1");
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
      if (/\r\n\r\n.*\}\s*$/s.test(text)) socket.destroy();
    });
    socket.on("close", () => resolve(text));
    socket.on("error", (error) => (text === "" ? reject(error) : resolve(text)));
    for (const part of parts) socket.write(part, "latin1");
  });
}
