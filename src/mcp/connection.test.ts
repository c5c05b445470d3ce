import { describe, expect, it } from "vitest";
import { answerObject, field, optional } from "../api/schema/object-shape.js";
import { flag, text } from "../api/schema/shapes.js";
import { AgentKernelError } from "../core/errors.js";
import { redactor } from "../core/redact.js";
import { bareHost, connectedPair } from "./testing/connected.js";
import { type Call, defineTool, type ToolOutput } from "./tool.js";

const output = answerObject({ said: field(text(), "What was said.") });
const tool = (call: (args: { query: string; project?: boolean }, call: Call) => Promise<ToolOutput>) =>
  defineTool({
    name: "say",
    title: "Say",
    description: "Says a word.",
    effects: { readOnly: true },
    scope: ["run"],
    input: { query: field(text(), "What."), project: optional(flag(), "Whether it fails.") },
    output,
    call,
  });
const said = (word: string): ToolOutput => ({ text: word, data: { said: word } });
const request = (id: number, args: unknown, name = "say", more = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args, ...more },
});

const initialize = (capabilities: object) => ({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities, clientInfo: { name: "t", version: "1" } },
});

describe("a call of a tool", () => {
  it("is answered as text and as data", async () => {
    const { ask, close } = await connectedPair([tool(async ({ query: word }) => said(word))]);
    expect(await ask(request(1, { query: "hello" }))).toMatchObject({
      id: 1,
      result: { content: [{ type: "text", text: "hello" }], structuredContent: { said: "hello" } },
    });
    await close();
  });

  it("with arguments that are wrong names the field, and nothing is called", async () => {
    let calls = 0;
    const counting = tool(async () => {
      calls++;
      return said("");
    });
    const { ask, close, faults } = await connectedPair([counting]);
    const wrong = async (args: unknown) => JSON.stringify(await ask(request(1, args)));
    expect(await wrong({})).toContain("query is missing");
    expect(await wrong({ query: 5 })).toContain("query is a number, not a text");
    expect(await wrong({ query: "a", projcet: true })).toContain("did you mean project?");
    const deep = JSON.parse(`{"word": ${"[".repeat(1000)}${"]".repeat(1000)}}`);
    expect(await wrong(deep)).toContain("nested deeper than");
    expect(calls).toBe(0);
    // The SDK leaves this key out, wherever it stands.
    await wrong(JSON.parse('{"word": "a", "__proto__": {"polluted": true}}'));
    expect(Object.prototype).not.toHaveProperty("polluted");
    expect(faults).toEqual([]);
    await close();
  });

  it("that fails says why and what to do, without secrets", async () => {
    const failing = tool(async () => {
      throw new AgentKernelError("conflict", "the key hunter2secret is taken", { hint: "use another" });
    });
    const { ask, close } = await connectedPair([failing], bareHost({ redact: redactor(["hunter2secret"]) }));
    const answer = JSON.stringify(await ask(request(1, { query: "a" })));
    expect(answer).toContain("conflict: the key [redacted] is taken\\nNext: use another");
    expect(answer).toContain('"isError":true');
    expect(answer).not.toContain("hunter2secret");
    await close();
  });

  it("that fails by a fault of ours says no more than that, and the fault is told to the log", async () => {
    const { ask, close, faults } = await connectedPair([tool(() => Promise.reject(new TypeError("at /home/me/x")))]);
    expect(JSON.stringify(await ask(request(1, { query: "a" })))).not.toContain("/home/me");
    expect(faults).toMatchObject([new TypeError("at /home/me/x")]);
    await close();
  });

  it("of a tool that is not there is an error of the protocol", async () => {
    const { ask, close } = await connectedPair([tool(async () => said(""))]);
    expect(await ask(request(1, {}, "shout"))).toMatchObject({ error: { code: -32602 } });
    await close();
  });

  it("without the scope that it needs is refused", async () => {
    const caller = { ...bareHost().caller, scopes: ["read"] as const, isTrusted: false };
    const { ask, close } = await connectedPair([tool(async () => said(""))], bareHost({ caller }));
    expect(JSON.stringify(await ask(request(1, { query: "a" })))).toContain("forbidden: this needs the scope run");
    await close();
  });

  it("is given up when it is cancelled, and when the client goes; the end waits for it", async () => {
    const ends: string[] = [];
    const { send, close } = await connectedPair([untilGivenUp(ends)]);
    await send(request(1, { query: "cancelled" }));
    await send(request(2, { query: "left" }));
    await new Promise(setImmediate);
    await send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    await new Promise(setImmediate);
    expect(ends).toEqual(["cancelled"]);
    await close();
    expect(ends).toEqual(["cancelled", "left"]);
  });

  it("ends with the connection also where another has come by its id", async () => {
    const ends: string[] = [];
    const { send, close } = await connectedPair([untilGivenUp(ends)]);
    await send(request(1, { query: "first" }));
    await new Promise(setImmediate);
    await send(request(1, { query: "second" }));
    await new Promise(setImmediate);
    await close();
    expect(ends.sort()).toEqual(["first", "second"]);
  });

  it("can ask nobody where it is not the user of this machine that calls", async () => {
    let asked: Call["ask"] | undefined;
    const asking = tool(async (_, { ask }) => {
      asked = ask;
      return said("");
    });
    const caller = { ...bareHost().caller, id: "key:other", scopes: ["run"] as const, isTrusted: false };
    const pair = await connectedPair([asking], bareHost({ caller }));
    await pair.ask(initialize({ elicitation: {} }));
    await pair.ask(request(1, { query: "box" }));
    expect(asked).toBeNull();
    await pair.close();
  });

  it("can ask the user through a client that offers it, and only then", async () => {
    const asks: (Call["ask"] | undefined)[] = [];
    const asking = tool(async ({ query: word }, { ask }) => {
      asks.push(ask);
      const signal = new AbortController().signal;
      return said((await ask?.({ sandbox: word, host: "new.example", port: 443, via: "capture", signal })) ?? "nobody");
    });
    const silent = await connectedPair([asking]);
    await silent.ask(initialize({}));
    expect(JSON.stringify(await silent.ask(request(1, { query: "box" })))).toContain('"nobody"');
    await silent.close();

    const pair = await connectedPair([asking]);
    await pair.ask(initialize({ elicitation: {} }));
    const answers = [
      [{ action: "accept", content: { decision: "sandbox" } }, '"sandbox"'],
      [{ action: "decline" }, '"never"'],
      [{ action: "cancel" }, '"isError":true'],
    ] as const;
    for (const [index, [answer, expected]] of answers.entries()) {
      const called = pair.ask(request(index + 1, { query: "box" }));
      while (pair.received.length === 0) await new Promise(setImmediate);
      const question = pair.received.shift() as unknown as { readonly id: number; readonly params: object };
      expect(JSON.stringify(question)).toContain("the sandbox box wants to reach new.example:443");
      await pair.send({ jsonrpc: "2.0", id: question.id, result: answer });
      expect(JSON.stringify(await called)).toContain(expected);
    }
    await pair.close();
  });
});

/** Waits for ever; who is given up is noted. */
function untilGivenUp(ends: string[]): ReturnType<typeof tool> {
  return tool(
    ({ query: word }, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          ends.push(word);
          reject(new AgentKernelError("conflict", "given up"));
        }),
      ),
  );
}
