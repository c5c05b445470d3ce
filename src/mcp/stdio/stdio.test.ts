import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { LineTransport } from "./line-transport.js";
import { parseMessage } from "./message.js";
import { type MessageLine, messageLines } from "./message-lines.js";
import { openLines } from "./opening.js";

const line = (text: string): MessageLine => ({ bytes: Buffer.from(text) });
const faultOf = (text: string) => {
  const parsed = parseMessage(line(text));
  return parsed !== null && "fault" in parsed ? parsed.fault : null;
};

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
    ["parameters that are no object", '{"jsonrpc":"2.0","id":4,"method":"ping","params":[1]}', -32600, 4],
  ])("%s is answered with why", (_, text, code, id) => {
    expect(faultOf(text)).toMatchObject({ id, error: { code } });
  });

  it("an empty line is nothing", () => {
    expect(parseMessage(line("  \r"))).toBeNull();
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
    const opening = await openLines(input, output);
    expect(written).toHaveLength(1);
    expect(JSON.parse(written[0] ?? "")).toMatchObject({ id: 5, result: { protocolVersion: "2025-06-18" } });
    if (opening === null) throw new Error("nothing was read");
    const transport = new LineTransport({ ...opening, output });
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
    expect(await openLines(input, { write: () => {} })).toBeNull();
  });
});
