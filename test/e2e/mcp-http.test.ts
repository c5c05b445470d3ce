/** The tools over Streamable HTTP, with the official client and the official conformance suite. */
import { execFile } from "node:child_process";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { ApiServer } from "../support/api-server.js";
import { leaksSince, traces } from "../support/leaks.js";
import { call, newClient } from "../support/mcp-client.js";
import { repository } from "../support/repository.js";
import { testFolder } from "../support/test-folder.js";

const run = promisify(execFile);

describe.each(actors)("as $name", (actor) => {
  let server: ApiServer;
  let key: string;
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    key = await server.key("agent", ["--scope", "run", "--scope", "sandboxes"]);
  });
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
  });
  const clients: Client[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });
  const connect = async (bearer = key) => {
    const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${bearer}` } },
    });
    const client = newClient();
    // The types of the SDK's own parts do not agree under exactOptionalPropertyTypes.
    await client.connect(transport as Parameters<Client["connect"]>[0]);
    clients.push(client);
    return { client, transport };
  };

  it("runs commands, in sandboxes of a session too, which end when the session does", async () => {
    const before = traces();
    const { client, transport } = await connect();
    expect((await client.listTools()).tools).toHaveLength(14);
    const ran = await call(client, "sandbox_run", {
      command: ["sh", "-c", "ls -A /workspace; echo done"],
      network: false,
    });
    expect(ran.data).toMatchObject({ stdout: "done\n", exit_code: 0 });
    await call(client, "sandbox_session_create", { name: "held", network: false });
    let told = "";
    const live = await call(
      client,
      "sandbox_exec",
      { name: "held", command: ["sh", "-c", "echo one; sleep 0.3; echo two"], streaming: true },
      {
        onprogress: ({ message }) => {
          told += message ?? "";
        },
      },
    );
    expect(live.data.stdout).toBe("one\ntwo\n");
    expect(told).toContain("one");
    await transport.terminateSession();
    expect(await leaksSince(before)).toEqual([]);
  });

  it("a session is its caller's alone, and so are sandboxes", async () => {
    const other = await server.key("other", ["--scope", "run", "--scope", "sandboxes"]);
    const { client, transport } = await connect();
    await call(client, "sandbox_create", { name: "private", network: false });
    const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const asOther = await server.ask("POST", "/mcp", {
      key: other,
      body: message,
      headers: { accept: "application/json, text/event-stream", "mcp-session-id": transport.sessionId ?? "" },
    });
    expect(asOther).toMatchObject({ status: 404, json: { error: { code: -32001 } } });
    const { client: second } = await connect(other);
    expect((await call(second, "sandbox_list")).data.sandboxes).toEqual([]);
    for (const [tool, args] of [
      ["sandbox_exec", { command: ["true"] }],
      ["sandbox_file_read", { path: "/etc/hostname" }],
      ["sandbox_stop", {}],
      ["sandbox_remove", {}],
    ] as const) {
      expect(await call(second, tool, { name: "private", ...args })).toMatchObject({
        isError: true,
        text: expect.stringMatching(/^not_found: there is no sandbox private/),
      });
    }
    await expect(second.readResource({ uri: "agentkernel://sandboxes/private/files/etc/hostname" })).rejects.toThrow(
      /there is no sandbox/,
    );
    expect((await call(client, "sandbox_remove", { name: "private" })).isError).toBe(false);
  });

  it("what a key may not do is refused, and whoever has none is told so", async () => {
    const reader = await server.key("reader", ["--scope", "read"]);
    const { client } = await connect(reader);
    expect(await call(client, "sandbox_run", { command: ["true"] })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^forbidden: this needs the scope run/),
    });
    expect((await call(client, "sandbox_list")).isError).toBe(false);
    const body = { jsonrpc: "2.0", id: 1, method: "ping" };
    expect(await server.ask("POST", "/mcp", { body, key: "ak_000000000000_wrong" })).toMatchObject({ status: 401 });
    const foreign = { headers: { origin: "https://evil.example" }, body };
    expect(await server.ask("POST", "/mcp", foreign)).toMatchObject({ status: 403 });
    expect(await server.ask("POST", "/mcp", { headers: { host: "evil.example" }, body })).toMatchObject({
      status: 403,
    });
    const without = { headers: { accept: "application/json, text/event-stream" }, key };
    expect(await server.ask("POST", "/mcp", { ...without, body: "{" })).toMatchObject({ status: 400 });
    expect(await server.ask("POST", "/mcp", { ...without, body })).toMatchObject({ status: 400 });
  });

  it("passes the conformance suite, but for what is explained in docs/mcp.md", async () => {
    // The suite is made for a later Node, of which it needs one function that this part of it never calls.
    const program = join(testFolder(), "conformance.cjs");
    const entry = join(repository, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
    await build({
      entryPoints: [entry],
      outfile: program,
      bundle: true,
      platform: "node",
      format: "cjs",
      logLevel: "error",
    });
    // The suite brings no key, so something between brings it.
    await using bearer = await bringing(server.localToken, server.port);
    const words = ["server", "--url", `http://localhost:${bearer.port}/mcp`];
    const baseline = ["--expected-failures", join(repository, "test/e2e/mcp-conformance-baseline.yml")];
    const results = ["-o", actor.folder("results")];
    const asActor = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
    const ended = await run(process.execPath, [program, ...words, ...baseline, ...results], {
      ...asActor,
      cwd: actor.home,
    }).catch((error: { readonly stdout?: string }) => ({ stdout: String(error.stdout), failed: true }));
    expect("failed" in ended, ended.stdout.slice(-4000)).toBe(false);
    expect(ended.stdout).toMatch(/server-initialize: 1 passed, 0 failed/);
    expect(ended.stdout).toMatch(/dns-rebinding-protection: 2 passed, 0 failed/);
  });
});

/** A server on loopback that passes requests on to this port, with a key. */
async function bringing(key: string, port: number): Promise<AsyncDisposable & { readonly port: number }> {
  const between = createServer((asked, answer) => {
    const { method = "GET", url = "/", headers } = asked;
    const passed = request({
      host: "127.0.0.1",
      port,
      method,
      path: url,
      headers: { ...headers, authorization: `Bearer ${key}` },
    });
    passed.once("response", (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    passed.once("error", () => answer.destroy());
    answer.once("close", () => passed.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => between.listen(0, "localhost", resolve));
  return {
    port: (between.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      between.closeAllConnections();
      await new Promise((resolve) => between.close(resolve));
    },
  };
}
