import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FrameDecoder } from "./decoder.js";
import { encodeCredit, encodeFrame, encodeJson, FrameType, HEADER_BYTES, MAX_GUEST_JSON_BYTES } from "./frame.js";
import { RecordingReceiver, type SeenFrame } from "./testing/recording-receiver.js";
import { GuestViolation } from "./violation.js";

interface VectorFrame {
  readonly name: string;
  readonly hex: string;
  readonly direction: "guest-to-host" | "host-to-guest";
  readonly frame: {
    readonly type: FrameType;
    readonly channel: number;
    readonly stream: 0 | 1 | 2;
    readonly payload_hex?: string;
    readonly json?: object;
  };
}
interface RefusedVector {
  readonly name: string;
  readonly hex: string;
  readonly direction: "guest-to-host" | "host-to-guest";
  readonly reason: string;
}
const vectors: { readonly frames: VectorFrame[]; readonly refused: RefusedVector[] } = JSON.parse(
  readFileSync(new URL("../../spec/vectors/frames.json", import.meta.url), "utf8"),
);

function decode(chunks: Iterable<Buffer>): SeenFrame[] {
  const receiver = new RecordingReceiver();
  const decoder = new FrameDecoder(receiver);
  for (const chunk of chunks) decoder.push(chunk);
  expect(decoder.heldBytes).toBe(0);
  return receiver.frames;
}

function* sliced(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const end = at + (sizes[i % sizes.length] ?? 1);
    yield bytes.subarray(at, end);
    at = end;
  }
}

function violationOf(bytes: Buffer, sizes: readonly number[]): string {
  try {
    decode(sliced(bytes, sizes));
  } catch (error) {
    if (error instanceof GuestViolation) return error.reason;
    throw error;
  }
  return "accepted";
}

describe("the golden vectors", () => {
  it.each(vectors.frames)("encode: $name", ({ hex, frame }) => {
    const encoded = frame.json
      ? encodeJson(frame.type, frame.channel, frame.json)
      : encodeFrame(frame.type, frame.channel, frame.stream, Buffer.from(frame.payload_hex ?? "", "hex"));
    expect(encoded.toString("hex")).toBe(hex);
  });

  it.each(vectors.frames.filter((vector) => vector.direction === "guest-to-host"))(
    "decode: $name",
    ({ hex, frame }) => {
      const payload = frame.json ? { json: frame.json } : { payload: frame.payload_hex };
      const expected = { type: frame.type, channel: frame.channel, stream: frame.stream, ...payload };
      const bytes = Buffer.from(hex, "hex");
      expect(decode([bytes])).toEqual([expected]);
      expect(decode(sliced(bytes, [1]))).toEqual([expected]);
    },
  );

  it.each(vectors.refused.filter((vector) => vector.direction === "guest-to-host"))(
    "refuse as $reason: $name",
    ({ hex, reason }) => {
      const bytes = Buffer.from(hex, "hex");
      expect(violationOf(bytes, [bytes.length])).toBe(reason);
      expect(violationOf(bytes, [1])).toBe(reason);
    },
  );
});

const channel = fc.integer({ min: 1, max: 2 ** 32 - 1 });
const anyFrame = fc.oneof(
  fc
    .record({
      channel,
      stream: fc.constantFrom(0 as const, 1 as const, 2 as const),
      length: fc.integer({ min: 1, max: 9000 }),
    })
    .map(({ channel: id, stream, length }) =>
      encodeFrame(FrameType.data, id, stream, Buffer.alloc(length, length % 251)),
    ),
  fc
    .record({ channel, stream: fc.constantFrom(0 as const, 1 as const, 2 as const) })
    .map(({ channel: id, stream }) => encodeFrame(FrameType.eof, id, stream)),
  fc
    .record({ channel, bytes: fc.integer({ min: 1, max: 2 ** 31 - 1 }) })
    .map(({ channel: id, bytes }) => encodeCredit(id, 0, bytes)),
  fc.uint8Array({ maxLength: 64 }).map((bytes) => encodeFrame(FrameType.ping, 0, 0, Buffer.from(bytes))),
  fc
    .record({
      channel,
      type: fc.constantFrom(FrameType.open, FrameType.opened, FrameType.failed, FrameType.exit, FrameType.close),
      body: fc.dictionary(fc.string(), fc.jsonValue()),
    })
    .map(({ channel: id, type, body }) => encodeJson(type, id, body)),
);

describe("the decoder", () => {
  it("decodes any frames to the same, however the bytes are cut", () => {
    fc.assert(
      fc.property(
        fc.array(anyFrame, { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 20 }),
        (frames, sizes) => {
          const bytes = Buffer.concat(frames);
          const whole = decode([bytes]);
          expect(whole.length).toBe(frames.length);
          expect(decode(sliced(bytes, sizes))).toEqual(whole);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("hands DATA on as slices of the chunk it came in", () => {
    const chunk = Buffer.concat([encodeFrame(FrameType.data, 1, 1, Buffer.from("abc")), Buffer.from("")]);
    const pieces: Buffer[] = [];
    const receiver = new RecordingReceiver();
    receiver.dataPiece = (piece) => pieces.push(piece);
    new FrameDecoder(receiver).push(chunk);
    expect(pieces.map(String)).toEqual(["abc"]);
    expect(pieces[0]?.buffer).toBe(chunk.buffer);
  });

  it("hands on what is there of a DATA frame without waiting for the rest", () => {
    const receiver = new RecordingReceiver();
    const decoder = new FrameDecoder(receiver);
    decoder.push(encodeFrame(FrameType.data, 1, 1, Buffer.from("abcdef")).subarray(0, HEADER_BYTES + 2));
    expect(receiver.frames).toEqual([{ type: FrameType.data, channel: 1, stream: 1, payload: "6162" }]);
    expect(decoder.heldBytes).toBe(0);
  });

  it("stays broken after a violation", () => {
    const receiver = new RecordingReceiver();
    const decoder = new FrameDecoder(receiver);
    const bad = Buffer.from("000000000000000063000000", "hex");
    expect(() => decoder.push(bad)).toThrow(GuestViolation);
    expect(() => decoder.push(encodeFrame(FrameType.ping, 0))).toThrow(GuestViolation);
    expect(receiver.frames).toEqual([]);
  });

  it("does not allocate for a frame whose header announces too much", () => {
    const header = encodeFrame(FrameType.opened, 1);
    header.writeUInt32LE(MAX_GUEST_JSON_BYTES + 1, 0);
    const decoder = new FrameDecoder(new RecordingReceiver());
    expect(() => decoder.push(header)).toThrow(/announces 65537 bytes/);
    expect(decoder.heldBytes).toBe(0);
  });
});
