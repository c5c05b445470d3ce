import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { RequestsAtWork } from "../requests-at-work.js";
import { LineTransport } from "./line-transport.js";
import { type MessageLine, messageLines, parseLine } from "./message-lines.js";
import { openLines } from "./opening.js";

const line = (text: string): MessageLine => ({ bytes: Buffer.from(text) });
const faultOf = (text: string) => {
  const parsed = parseLine(line(text));
  return parsed !== null && "fault" in parsed ? parsed.fault : null;
};

const call = (args: string) => `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":${args}}}`;

describe("lines", () => {
  it("are put together from pieces; one that is too long is told of, and the next is understood", async () => {
    const input = new PassThrough();
    for (const piece of ["{a", "}\n", "x".repeat(50), "x".repeat(50), "\n{b}\n{cut off"]) input.write(piece);
    input.end();
    const lines: MessageLine[] = [];
    for await (const one of messageLines(input, 60)) lines.push(one);
    expect(lines).toEqual([line("{a}"), { tooLongBytes: 100 }, line("{b}")]);
  });
});

describe("what is no message", () => {
  it.each([
    ["no JSON", "{", -32700, null],
    ["NaN", '{"jsonrpc":"2.0","id":1,"method":"a","params":{"n":NaN}}', -32700, null],
    ["a batch", "[]", -32600, null],
    ["a text", '"hello"', -32600, null],
    ["another version", '{"jsonrpc":"1.0","id":3,"method":"ping"}', -32600, 3],
    ["no method", '{"jsonrpc":"2.0","id":"a"}', -32600, "a"],
    ["an id that is none", '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, null],
    ["__proto__ in arguments", call('{"__proto__":{"a":1}}'), -32602, 7],
    ["__proto__ with escapes, deep inside", call('{"a":[{"b":{"\\u005f_proto__":1}}]}'), -32602, 7],
    ["parameters that are no object", '{"jsonrpc":"2.0","id":4,"method":"ping","params":[1]}', -32600, 4],
  ])("%s is answered with why", (_, text, code, id) => {
    expect(faultOf(text)).toMatchObject({ id, error: { code } });
  });

  it("a text that speaks of __proto__ is one all the same, and so is one nested deeper than any stack", () => {
    expect(faultOf(call('{"content":"__proto__"}'))).toBeNull();
    expect(faultOf(call(`{"a":"__proto__","b":${"[".repeat(100_000)}${"]".repeat(100_000)}}`))).toBeNull();
  });

  it("an empty line is nothing", () => {
    expect(parseLine(line("  \r"))).toBeNull();
  });
});

describe("a connection on streams", () => {
  const initialize =
    '{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}';

  it("has its first answer before anything else is there, and that answer once", async () => {
    const input = new PassThrough();
    const written: string[] = [];
    const output = {
      write: (bytes: Buffer, taken: () => void) => {
        written.push(String(bytes));
        taken();
      },
    };
    input.write(`${initialize}\nnonsense\n`);
    const opening = await openLines(input, output, "");
    expect(written).toHaveLength(1);
    expect(JSON.parse(written[0] ?? "")).toMatchObject({ id: 5, result: { protocolVersion: "2025-06-18" } });
    if (opening === null) throw new Error("nothing was read");
    const transport = new LineTransport({ ...opening, output, atWork: new RequestsAtWork() });
    const messages: unknown[] = [];
    transport.onmessage = (message) => void messages.push(message);
    const closed = new Promise<void>((resolve) => {
      transport.onclose = resolve;
    });
    await transport.start();
    await transport.send({ jsonrpc: "2.0", id: 5, result: {} });
    while (written.length < 2) await new Promise(setImmediate);
    await transport.send({ jsonrpc: "2.0", id: 6, result: {} });
    input.end();
    await closed;
    expect(messages).toEqual([JSON.parse(initialize)]);
    expect(written.slice(1).map((text) => JSON.parse(text))).toMatchObject([{ error: { code: -32700 } }, { id: 6 }]);
  });

  it("without a word is over", async () => {
    const input = new PassThrough();
    input.end();
    expect(await openLines(input, { write: () => {} }, "")).toBeNull();
  });

  it("an id that is at work is refused, and can be used again once it has its answer or is done after all", async () => {
    const input = new PassThrough();
    const written: { id: number; error?: { code: number } }[] = [];
    const output = {
      write: (bytes: Buffer, taken: () => void) => {
        written.push(JSON.parse(String(bytes)));
        taken();
      },
    };
    const atWork = new RequestsAtWork();
    const transport = new LineTransport({ lines: messageLines(input), first: null, answered: null, output, atWork });
    let given: () => void = () => {};
    let messages = 0;
    const next = () =>
      new Promise<void>((resolve) => {
        given = resolve;
      });
    transport.onmessage = () => {
      messages++;
      given();
    };
    await transport.start();
    const ask = async () => {
      const came = next();
      input.write(`${call("{}")}\n`);
      await came;
    };
    await ask();
    input.write(`${call("{}")}\n`);
    while (written.length < 1) await new Promise(setImmediate);
    expect(written).toMatchObject([{ id: 7, error: { code: -32600 } }]);
    expect(messages).toBe(1);
    await transport.send({ jsonrpc: "2.0", id: 7, result: {} });
    await ask();
    // Cancelled, it is free when nothing is done for it any more.
    let finish: () => void = () => {};
    const working = atWork.during(
      7,
      () => {},
      () => new Promise<void>((resolve) => (finish = resolve)),
    );
    const cancelled = next();
    input.write('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}\n');
    await cancelled;
    input.write(`${call("{}")}\n`);
    while (written.length < 3) await new Promise(setImmediate);
    expect(written[2]).toMatchObject({ id: 7, error: { code: -32600 } });
    finish();
    await working;
    await ask();
    expect(messages).toBe(4);
    input.end();
  });
});
