/** Servers as they are met: real processes that work, die, hang, talk nonsense and change. */
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { concealer, credentialsOf } from "./credentials.js";
import { entriesOf, entryOfFlag, type ServerEntry, secretsOf } from "./entries.js";
import { McpServers } from "./index.js";

const SCRIPT = fileURLToPath(new URL("../../../test/support/tool-servers/scripted.mjs", import.meta.url));
const SECRET = "sk-do-not-show-this-1234";
/** As it stands in a file. */
const variable = (name: string) => `$\{${name}}`;
const never = new AbortController().signal;

function scripted(name: string, ...words: string[]): ServerEntry {
  return { kind: "stdio", name, command: process.execPath, args: [SCRIPT, ...words], env: { SECRET_TOKEN: SECRET } };
}

describe("servers that code may call", () => {
  let servers: McpServers;
  afterEach(() => servers.close());
  const open = (
    entries: readonly ServerEntry[],
    limits: { connectTimeoutMs?: number; callTimeoutMs?: number } = {},
  ) => {
    const around = { cwd: "/", env: { PATH: process.env.PATH } };
    servers = new McpServers({ entries, around, connectTimeoutMs: 30_000, callTimeoutMs: 30_000, ...limits });
    return servers;
  };
  const call = (tool: string, args: object = {}) => servers.call("one", tool, args, never);

  it("are connected to when they are needed, and again after they have died", async () => {
    open([scripted("one", "usual"), scripted("unused", "dead")]);
    expect(await call("echo", { text: "hello" })).toMatchObject({ content: [{ text: "hello" }] });
    await expect(call("crash")).rejects.toMatchObject({ code: "tool_failed", message: expect.stringContaining("one") });
    expect(await call("whoami")).toMatchObject({ content: [{ text: `${SECRET.length} letters` }] });
  });

  it("that cannot start, hang or talk nonsense are told of, without what they were given", async () => {
    open([scripted("one", "usual"), scripted("dead", "dead")], { callTimeoutMs: 200 });
    const { catalogs, lacking } = await servers.catalogs();
    expect(catalogs.map(({ server }) => server)).toEqual(["one"]);
    expect(lacking[0]?.why).toMatch(/dead.*status 3.*it cannot start with \[redacted\]/);
    await expect(call("hang")).rejects.toMatchObject({ hint: expect.stringContaining("200 ms") });
    await expect(call("garbage")).rejects.toThrow(/it wrote what is no message: this is no JSON/);
    expect(JSON.stringify(lacking)).not.toContain(SECRET);
  });

  it("that never answer at all are given up", async () => {
    open([scripted("silent", "silent")], { connectTimeoutMs: 200 });
    const { lacking } = await servers.catalogs();
    expect(lacking[0]?.why).toContain("cannot be reached");
  });

  it("that change their tools are asked again", async () => {
    open([scripted("one", "changing")]);
    const before = await servers.catalog("one");
    await call("change");
    const after = await servers.catalog("one");
    expect(after.tools.map(({ name }) => name)).toEqual(["changed"]);
    expect(after.hash).not.toBe(before.hash);
    await expect(call("change")).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("what servers identify themselves with", () => {
  it("is taken out of texts and of JSON, and nothing else is", () => {
    const entries: ServerEntry[] = [
      { kind: "stdio", name: "a", command: "a", args: [], env: { API_TOKEN: 'quo"ted-1', ROOT: "/data", DEBUG: "1" } },
      { kind: "http", name: "b", url: "http://127.0.0.1/", headers: { Authorization: "Bearer abcdefgh1" } },
    ];
    const conceal = concealer(credentialsOf(entries, { GITHUB_TOKEN: "ghp-inherited-1", HOME: "/root" }));
    const shown = { a: 'quo"ted-1', b: "Bearer abcdefgh1", c: "abcdefgh1", d: "ghp-inherited-1", e: "/data/1 /root" };
    expect(JSON.parse(conceal(JSON.stringify(shown)))).toEqual({
      a: "[redacted]",
      b: "[redacted]",
      c: "[redacted]",
      d: "[redacted]",
      e: "/data/1 /root",
    });
    expect(conceal('plain quo"ted-1')).toBe("plain [redacted]");
  });
});

describe("entries", () => {
  it("are read as agents write them", () => {
    const text = JSON.stringify({
      mcpServers: {
        files: { command: "node", args: ["fs.js", variable("ROOT:-/data")], env: { TOKEN: variable("TOKEN") } },
        web: {
          type: "http",
          url: "https://example.com/mcp",
          headers: { Authorization: `Bearer ${variable("TOKEN")}` },
        },
      },
    });
    const entries = entriesOf(text, ".mcp.json", { TOKEN: "abcdef" });
    expect(entries).toEqual([
      { kind: "stdio", name: "files", command: "node", args: ["fs.js", "/data"], env: { TOKEN: "abcdef" } },
      { kind: "http", name: "web", url: "https://example.com/mcp", headers: { Authorization: "Bearer abcdef" } },
    ]);
    expect(entries.flatMap(secretsOf)).toContain("abcdef");
    expect(entryOfFlag("a=node b.js c", {})).toMatchObject({ kind: "stdio", args: ["b.js", "c"] });
    expect(entryOfFlag("a=http://127.0.0.1:1/mcp", {})).toMatchObject({ kind: "http" });
  });

  it.each([
    ["{", /not JSON/],
    ["{}", /no object mcpServers/],
    ['{"mcpServers":{"a":{}}}', /mcpServers\.a: .*either command or url/],
    ['{"mcpServers":{"a":{"command":"x","args":"y"}}}', /mcpServers\.a\.args/],
    ['{"mcpServers":{"a":{"url":"file:///etc/passwd"}}}', /mcpServers\.a\.url/],
    [`{"mcpServers":{"a":{"command":"x","env":{"K":"${variable("NOT_SET")}"}}}}`, /env\.K: the variable NOT_SET/],
    ['{"mcpServers":{"../a":{"command":"x"}}}', /the name is not usable/],
  ])("%s is refused with its reason", (text, reason) => {
    expect(() => entriesOf(text, "file", {})).toThrow(reason);
  });
});
