import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ClientFrame, encodeFrame, encodeHeader, encodeNumber, FrameDecoder } from "./frames.js";

function decode(chunks: readonly Buffer[]): { data: Buffer; frames: [number, number, string][] } {
  const data: Buffer[] = [];
  const frames: [number, number, string][] = [];
  const decoder = new FrameDecoder({
    data: (_, piece) => data.push(Buffer.from(piece)),
    frame: (type, stream, payload) => frames.push([type, stream, payload.toString("hex")]),
  });
  for (const chunk of chunks) decoder.push(chunk);
  return { data: Buffer.concat(data), frames };
}

describe("frames of a client", () => {
  it("come out whole, however the bytes are cut", () => {
    const bytes = Buffer.concat([
      encodeFrame(ClientFrame.data, 0, Buffer.from("hello ")),
      encodeNumber(ClientFrame.credit, 1, 7),
      encodeFrame(ClientFrame.data, 0, Buffer.from("world")),
      encodeFrame(ClientFrame.eof, 0),
      encodeNumber(ClientFrame.signal, 0, 15),
    ]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 60 }), (sizes) => {
        const chunks: Buffer[] = [];
        let at = 0;
        for (const size of sizes) {
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        chunks.push(bytes.subarray(at));
        expect(decode(chunks)).toEqual({
          data: Buffer.from("hello world"),
          frames: [
            [ClientFrame.credit, 1, "07000000"],
            [ClientFrame.eof, 0, ""],
            [ClientFrame.signal, 0, "0f000000"],
          ],
        });
      }),
    );
  });

  it.each([
    ["data", ClientFrame.data, (4 << 20) + 1],
    ["a first frame", ClientFrame.start, (4 << 20) + 1],
    ["anything else", ClientFrame.signal, 65],
  ])("that announce too much are refused at the header: %s", (_, type, length) => {
    expect(() => decode([encodeHeader(type, 0, length)])).toThrow(RangeError);
  });
});
