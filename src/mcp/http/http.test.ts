import { createServer, type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Caller, noQuotas } from "../../api/auth/caller.js";
import { smallCeiling } from "../../api/auth/key-ceiling.js";
import type { Backing } from "../../api/call.js";
import { Exchange } from "../../api/http/exchange.js";
import { OutputBudget } from "../../api/limits/output-budget.js";
import { answerObject, field } from "../../api/schema/object-shape.js";
import { text } from "../../api/schema/shapes.js";
import { bareHost } from "../testing/connected.js";
import { type Call, defineTool, type ToolOutput } from "../tool.js";
import { McpHttp } from "./index.js";

const someone: Caller = {
  id: "jwt:someone",
  scopes: ["run", "read"],
  isTrusted: false,
  sandboxes: null,
  quotas: noQuotas,
  ceiling: null,
};

let caller: Caller;
let budget: OutputBudget;
let act: (call: Call) => Promise<ToolOutput>;
let server: Server;
let mcp: McpHttp;

beforeEach(async () => {
  caller = someone;
  budget = new OutputBudget({ outputBytes: 64 << 20, callerOutputBytes: 64 << 20 });
  const tool = defineTool({
    name: "act",
    title: "Act",
    description: "Does what the test says.",
    effects: { readOnly: true },
    scope: ["run"],
    input: {},
    output: answerObject({ said: field(text(), "What was said.") }),
    call: (_, call) => act(call),
  });
  mcp = new McpHttp({ onFault: () => {}, tools: [tool] });
  const { runtime, redact, ...parts } = bareHost();
  const backing = {
    ...parts,
    host: runtime,
    outputs: budget,
    redactFor: () => redact,
    runs: { note: () => {} },
    whileValid: () => () => {},
  } as unknown as Backing;
  server = createServer((asked, response) => {
    const exchange = new Exchange(asked, response, new AbortController().signal, false);
    mcp.serve(exchange, caller, backing, 1 << 20).catch(() => exchange.sendJson(429, {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await mcp.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function post(message: object, session?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      ...(session === undefined ? {} : { "mcp-session-id": session }),
    };
    const { port } = server.address() as AddressInfo;
    const asked = request({ host: "127.0.0.1", port, path: "/mcp", method: "POST", agent: false, headers }, resolve);
    asked.once("error", reject);
    asked.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
  });
}

async function lengthOf(response: IncomingMessage): Promise<number> {
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) length += chunk.length;
  return length;
}

async function begin(): Promise<string> {
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const response = await post({ id: 0, method: "initialize", params });
  await lengthOf(response);
  return String(response.headers["mcp-session-id"]);
}

const callAct = (id: number) => ({
  id,
  method: "tools/call",
  params: { name: "act", arguments: {}, _meta: { progressToken: "p" } },
});
const done = (words = ""): ToolOutput => ({ text: words, data: { said: "" } });

describe("a session", () => {
  it.each([
    ["of fewer scopes", { scopes: ["read"] as const }],
    ["of more scopes", { scopes: ["run", "read", "admin"] as const }],
    ["of other trust", { isTrusted: true }],
    ["with another ceiling", { ceiling: smallCeiling }],
    ["for other sandboxes", { sandboxes: ["one"] }],
    ["with other quotas", { quotas: { ...noQuotas, concurrency: 1 } }],
    ["of another name", { id: "jwt:other" }],
  ])("is not there for a token %s", async (_, other) => {
    act = async () => done();
    const session = await begin();
    caller = { ...someone, ...other };
    const refused = await post(callAct(1), session);
    expect(refused.statusCode).toBe(404);
    await lengthOf(refused);
    caller = { ...someone, scopes: ["read", "run"], validUntilMs: Date.now() + 1 };
    const served = await post(callAct(1), session);
    expect(served.statusCode).toBe(200);
    await lengthOf(served);
  });
});

describe("sessions of one caller", () => {
  it("are bounded, also where they begin all at once", async () => {
    act = async () => done();
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const begun = await Promise.all(
      Array.from({ length: 110 }, async () => {
        const response = await post({ id: 0, method: "initialize", params });
        await lengthOf(response);
        return response.statusCode;
      }),
    );
    expect(begun.filter((status) => status === 200)).toHaveLength(100);
  });
});

describe("a client that does not read", () => {
  it("is not kept news for", async () => {
    const piece = "x".repeat(16 << 10);
    const pieces = 4000;
    act = async ({ progress }) => {
      for (let told = 1; told <= pieces; told++) {
        await progress?.(told, piece);
        await new Promise(setImmediate);
      }
      return done();
    };
    const telling = act;
    let told: () => void = () => {};
    const allTold = new Promise<void>((resolve) => {
      told = resolve;
    });
    act = (call) => telling(call).finally(told);
    const response = await post(callAct(1), await begin());
    response.pause();
    await allTold;
    const length = await lengthOf(response);
    expect(length).toBeLessThan((pieces * piece.length) / 4);
  });

  it("holds the room of its answer until it reads, or goes", async () => {
    const answered = 3 << 20;
    let claimed: () => void = () => {};
    const hasClaimed = new Promise<void>((resolve) => {
      claimed = resolve;
    });
    act = async ({ room }) => {
      room.claim(answered);
      claimed();
      return done("x".repeat(32 << 20));
    };
    const response = await post(callAct(1), await begin());
    response.pause();
    await hasClaimed;
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    // Beside what is kept of earlier answers.
    expect(budget.heldBytes).toBeGreaterThanOrEqual(answered);
    await lengthOf(response);
    while (budget.heldBytes >= answered) await new Promise(setImmediate);

    const left = await post(callAct(2), await begin());
    left.destroy();
    while (budget.heldBytes >= answered) await new Promise(setImmediate);
  });
});
