import { Duplex, PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answerCalls } from "./channel.js";
import { decide, fits, nothingAllowed, type ToolPolicy } from "./policy.js";
import { toolPolicyOf } from "./policy-file.js";
import { resultOf } from "./result.js";
import { type CallRecord, RunCalls, type RunCallsParts } from "./run-calls.js";

type Servers = RunCallsParts["servers"];

const policy = (more: Partial<ToolPolicy>): ToolPolicy => ({ ...nothingAllowed, ...more });

describe("the policy of tools", () => {
  it("allows nothing that no rule allows, and a denial wins", () => {
    expect(decide(nothingAllowed, "a/b", {})).toEqual({ verdict: "denied", rule: "no rule allows it" });
    const rules = policy({ allow: ["a/*"], deny: ["a/delete_*"], ask: ["a/write"] });
    expect(decide(rules, "a/list", {}).verdict).toBe("allowed");
    expect(decide(rules, "a/delete_all", {})).toEqual({ verdict: "denied", rule: "deny a/delete_*" });
    expect(decide(rules, "a/write", {}).verdict).toBe("ask");
    expect(decide(rules, "b/list", {}).verdict).toBe("denied");
  });

  it("holds arguments to what they may be", () => {
    const rule = { tool: "files/*", argument: "path", allow: ["/data/*"] };
    const rules = policy({ allow: ["*"], arguments: [rule] });
    const verdict = (args: unknown) => decide(rules, "files/read", args).verdict;
    expect(verdict({ path: "/data/a" })).toBe("allowed");
    for (const args of [
      { path: "/etc/passwd" },
      {},
      { path: { toString: "/data/a" } },
      { path: null },
      { path: ["/data/a", "/etc"] },
    ])
      expect(verdict(args)).toBe("denied");
    expect(decide(rules, "web/get", {}).verdict).toBe("allowed");
    expect(decide(policy({ allow: ["*"], arguments: [{ ...rule, optional: true }] }), "files/read", {}).verdict).toBe(
      "allowed",
    );
  });

  it("has patterns in which only the star means anything", () => {
    fc.assert(fc.property(fc.string(), (text) => fits(text.replaceAll("*", "x"), text.replaceAll("*", "x"))));
    expect(fits("a*c*e", "abcde")).toBe(true);
    expect(fits("a.c", "abc")).toBe(false);
    expect(fits(`${"*a".repeat(30)}b`, "a".repeat(5000))).toBe(false);
  });

  it("is understood whole or refused", () => {
    expect(toolPolicyOf('{"allow":["a/*"],"limits":{"calls":3}}', "p").limits).toMatchObject({ calls: 3, atOnce: 16 });
    expect(() => toolPolicyOf('{"alow":[]}', "p.json")).toThrow(/p\.json: .*alow/);
    expect(() => toolPolicyOf('{"limits":{"calls":0}}', "p.json")).toThrow(/limits\.calls/);
  });
});

describe("results", () => {
  it("are values: what has a schema, else text, else text that is JSON", () => {
    const text = (...texts: string[]) => ({ content: texts.map((one) => ({ type: "text", text: one })) });
    expect(resultOf({ ...text("x"), structuredContent: { a: 1 } })).toEqual({ value: { a: 1 } });
    expect(resultOf(text("plain"))).toEqual({ value: "plain" });
    expect(resultOf(text('[{"a":1}]'))).toEqual({ value: [{ a: 1 }] });
    expect(resultOf(text("{not json"))).toEqual({ value: "{not json" });
    expect(resultOf({ ...text("why"), isError: true })).toEqual({ failed: "why" });
    expect(resultOf({ content: [{ type: "image", data: "x" }] })).toEqual({ value: [{ type: "image", data: "x" }] });
  });
});

/** A server that answers when it is told to. */
class Held {
  readonly waiting: (() => void)[] = [];
  asServers(): Servers {
    const call = () =>
      new Promise((resolve) => this.waiting.push(() => resolve({ content: [{ type: "text", text: "ok" }] })));
    return { call, conceal: (text) => text };
  }
}

function runCalls(
  rules: ToolPolicy,
  servers: Servers,
  confirm: ((question: string) => Promise<boolean>) | null = null,
) {
  const records: CallRecord[] = [];
  const record = async (call: CallRecord) => void records.push(call);
  return {
    records,
    calls: new RunCalls({ servers, policy: rules, signal: new AbortController().signal, confirm, record }),
  };
}

const answering = (value: string): Servers => ({
  call: async () => ({ content: [{ type: "text", text: value }] }),
  conceal: (text) => text,
});

describe("the calls of a run", () => {
  it("are limited in number and size, and every one is on record", async () => {
    const limits = { ...nothingAllowed.limits, calls: 2, oneResultBytes: 100, argumentBytes: 50 };
    const { calls, records } = runCalls(
      policy({ allow: ["*"], untrusted: ["s/t"], limits }),
      answering("x".repeat(200)),
    );
    expect(await calls.call("s", "t", {}, 60)).toMatchObject({ error: { code: "limit" } });
    expect(await calls.call("s", "t", {}, 2)).toMatchObject({
      error: { code: "limit", message: expect.stringContaining("100 bytes") },
    });
    await calls.call("s", "t", {}, 2);
    expect(await calls.call("s", "t", {}, 2)).toMatchObject({
      error: { message: expect.stringContaining("at most 2 calls") },
    });
    expect(records.map(({ verdict, bytesIn, untrusted }) => [verdict, bytesIn, untrusted])).toEqual([
      ["denied", 0, true],
      ["allowed", 202, true],
      ["allowed", 202, true],
      ["denied", 0, true],
    ]);
    expect(calls.untrusted).toEqual(["s/t"]);
  });

  it("are put to the user where the policy says so, and refused where nobody can be asked", async () => {
    const rules = policy({ ask: ["*"] });
    const asked: string[] = [];
    const answers = [true, false];
    const confirm = async (question: string) => {
      asked.push(question);
      return answers.shift() ?? false;
    };
    const { calls } = runCalls(rules, answering("done"), confirm);
    expect(await calls.call("s", "t", { a: "\u001b[2J" }, 2)).toEqual({ json: '"done"' });
    expect(await calls.call("s", "t", {}, 2)).toMatchObject({
      error: { code: "denied", message: expect.stringContaining("the user refused") },
    });
    expect(asked[0]).toContain("s/t");
    expect(asked[0]).not.toContain("\u001b");
    expect(await calls.call("s", "t", { a: "x".repeat(1000) }, 2)).toMatchObject({ error: { code: "denied" } });
    const alone = runCalls(rules, answering("done"));
    expect(await alone.calls.call("s", "t", {}, 2)).toMatchObject({ error: { code: "denied" } });
  });
});

describe("the stream of calls", () => {
  const ends = () => {
    const [asked, answered] = [new PassThrough(), new PassThrough()];
    return { asked, answered, stream: Duplex.from({ readable: asked, writable: answered }) };
  };
  const limits = { argumentBytes: 1000, atOnce: 2 };
  const line = (id: number) => `${JSON.stringify({ id, server: "s", tool: "t", args: {} })}\n`;

  it("reads no further while as many calls are at work as may be", async () => {
    const { asked, stream } = ends();
    const held = new Held();
    const { calls } = runCalls(policy({ allow: ["*"] }), held.asServers());
    const done = answerCalls(stream, (...args) => calls.call(...args), limits);
    asked.end(Array.from({ length: 50 }, (_, index) => line(index + 1)).join(""));
    let most = 0;
    for (let answered = 0; answered < 50; ) {
      most = Math.max(most, held.waiting.length);
      const next = held.waiting.shift();
      if (next === undefined) await new Promise((resolve) => setImmediate(resolve));
      else {
        answered++;
        next();
      }
    }
    await done;
    expect(most).toBeLessThanOrEqual(2);
    expect(calls.counts.made).toBe(50);
  });

  it.each([
    ["what is no JSON", "nonsense\n"],
    ["a list for arguments", '{"id":1,"server":"s","tool":"t","args":[]}\n'],
    ["a number that is none", '{"id":-1,"server":"s","tool":"t","args":{}}\n'],
    ["a line without an end", "x".repeat(5000)],
  ])("ends with %s, and nothing is called", async (_name, text) => {
    const { asked, answered, stream } = ends();
    const { calls, records } = runCalls(policy({ allow: ["*"] }), answering("ok"));
    const done = answerCalls(stream, (...args) => calls.call(...args), limits);
    asked.end(`${text}${line(1)}`);
    await done;
    expect(records).toEqual([]);
    if (text.endsWith("\n")) expect(String(answered.read())).toContain('"id":0');
  });
});
