/** Lines of an audit log that anybody may have written into: read, or a problem that names the line. */
import type { Buffer } from "node:buffer";
import { Chain } from "../../../src/audit/chain.js";
import { decodeHead } from "../../../src/audit/head.js";
import { decodeLine, encodeLine } from "../../../src/audit/line.js";
import { asRecord } from "../../../src/audit/reader.js";

export function run(data: Buffer): void {
  const chain = new Chain([1, 2], null);
  const texts = data.toString("utf8").split("\n");
  for (const [at, text] of texts.entries()) {
    chain.take(text, { file: "a", line: at + 1 });
    asRecord(text);
    decodeHead(text);
    const { line } = decodeLine(text);
    if (line !== null && !Number.isSafeInteger(line.seq)) throw new Error("a line without a number");
  }
  chain.problems();
  checkOwnLine(texts[0] ?? "");
}

/** Whatever text stands in a line of ours, it is read as it was written, on one line. */
function checkOwnLine(text: string): void {
  const envelope = { seq: 1, time: "2026-01-01T00:00:00.000Z", writer: "w", type: "t" };
  const written = encodeLine(envelope, { text }, "0".repeat(64)).text;
  if (written.indexOf("\n") !== written.length - 1) throw new Error("more than one line");
  const { line } = decodeLine(written.slice(0, -1));
  if (line?.fields.text !== text) throw new Error("read otherwise than written");
}
