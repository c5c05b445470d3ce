/** A client that vanishes, says nonsense or does not read: nothing of it is left, and nobody else notices. */
import { describe, expect, it } from "vitest";
import { callers, usesDaemon } from "../support/daemon.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { startCli } from "../support/run-cli.js";
import { WatchedProcess } from "../support/watched-process.js";

const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};
const tool = (id: number, name: string, args: object, more: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args, ...more },
});

describe.each(callers)("$title", (caller) => {
  usesDaemon(caller);
  leavesNothingBehind();
  const env = caller.title.includes("daemon") ? {} : { AGENTKERNEL_DAEMON: "off" };
  const start = () => {
    const server = new WatchedProcess(startCli(caller, ["mcp", "server"], { cwd: caller.folder(), env }));
    const send = (...messages: readonly (object | string)[]) => {
      for (const one of messages) server.type(`${typeof one === "string" ? one : JSON.stringify(one)}\n`);
    };
    return { server, send };
  };
  const busy = tool(
    2,
    "sandbox_exec",
    {
      name: "mine",
      command: ["sh", "-c", "trap '' TERM HUP; setsid sleep 600 & echo begun; sleep 600"],
      streaming: true,
    },
    { _meta: { progressToken: "p" } },
  );
  const begin = async () => {
    const { server, send } = start();
    send(initialize, { jsonrpc: "2.0", method: "notifications/initialized" });
    send(tool(1, "sandbox_session_create", { name: "mine", network: false }));
    await server.until(/"id":1[,}]/);
    send(busy);
    await server.until(/begun/);
    return { server, send };
  };

  it("one that closes its streams takes its commands and its sandboxes along", async () => {
    const { server } = await begin();
    server.child.stdin?.end();
    expect(await server.end).toMatchObject({ status: 0, stderr: "" });
  });

  it("one that is gone without a word does too", async () => {
    const { server } = await begin();
    server.child.stdout?.destroy();
    server.child.stdin?.destroy();
    await server.end;
  });

  it("a server that is killed leaves nothing", async () => {
    const { server } = await begin();
    server.child.kill("SIGKILL");
    expect(await server.end).toMatchObject({ signal: "SIGKILL" });
  });

  it("nonsense is answered as such, stdout has nothing but messages, and the next call works", async () => {
    const { server, send } = start();
    send(initialize, "{", "[]", '"text"', '{"jsonrpc":"2.0","id":9,"method":5}', "", '{"jsonrpc":"2.0"}');
    send({ jsonrpc: "2.0", id: 10, method: "no/such/method" });
    send({ jsonrpc: "2.0", id: 11, method: "tools/call", params: { arguments: {} } });
    send({ jsonrpc: "2.0", id: 12, method: "tools/call", params: { name: 7 } });
    send(tool(13, "sandbox_nothing", {}), tool(14, "sandbox_run", { command: "ls" }));
    send(`{"jsonrpc":"2.0","id":15,"method":"ping","params":{"x":"${"y".repeat(17 << 20)}"}}`);
    send(tool(16, "sandbox_run", { command: ["echo", "still here"], network: false }));
    await server.until(/still here/);
    server.child.stdin?.end();
    const { stdout, status } = await server.end;
    expect(status).toBe(0);
    const messages = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const codes = messages.filter(({ error }) => error !== undefined).map(({ id, error }) => [id, error.code]);
    expect(codes).toContainEqual([9, -32600]);
    expect(codes).toContainEqual([10, -32601]);
    expect(codes.find(([id]) => id === 11)?.[1]).toBeLessThan(0);
    expect(codes.find(([id]) => id === 12)?.[1]).toBeLessThan(0);
    expect(codes).toContainEqual([13, -32602]);
    expect(codes.filter(([id, code]) => id === null && code === -32700)).toHaveLength(1);
    expect(codes.filter(([id, code]) => id === null && code === -32600)).toHaveLength(4);
    expect(messages.find(({ id }) => id === 14)).toMatchObject({ result: { isError: true } });
    expect(messages.every(({ jsonrpc }) => jsonrpc === "2.0")).toBe(true);
  });

  it("output without end is bounded, here and in the answer", async () => {
    const { server, send } = start();
    send(
      initialize,
      tool(1, "sandbox_run", { command: ["sh", "-c", "yes | head -c 300000000"], network: false, timeout_ms: 120_000 }),
    );
    await server.until(/"id":1[,}]/);
    expect(server.stdout.length).toBeLessThan(200_000);
    expect(server.stdout).toMatch(/bytes of output beyond the limit were not kept/);
    server.child.stdin?.end();
    expect((await server.end).status).toBe(0);
  }, 150_000);
});
