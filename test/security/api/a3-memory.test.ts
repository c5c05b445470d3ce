/** One caller at the memory that all share: output that is asked for and never read. */
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { ApiServer } from "../../support/api-server.js";

const OUTPUT_BYTES = 16 << 20;
const MOST_HELD_BYTES = 128 << 20;
const MOST_OF_BATCH_BYTES = 64 << 20;
const quiet = { command: ["echo", "ok"], network: false };
const loud = {
  command: ["sh", "-c", `head -c ${OUTPUT_BYTES} /dev/zero | tr '\\0' x`],
  network: false,
  timeout_ms: 120_000,
};

/** How many bytes of output an answer has, without keeping them. */
async function outputBytes(response: IncomingMessage): Promise<number> {
  let sum = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    for (const byte of chunk) if (byte === 120) sum++;
  }
  // Each byte is told as `output` and as `stdout`; a few more are letters of names.
  return Math.floor(sum / 2);
}

describe("A3 one caller at the memory of all", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("nobody runs tests");
  let server: ApiServer;
  const keys = { loud: "", other: "" };
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    keys.loud = await server.key("loud", ["--scope", "run"]);
    keys.other = await server.key("other", ["--scope", "run"]);
  });
  afterAll(async () => {
    await server.stop();
  });

  it("answers that nobody reads hold no more than a caller's share, and others are served meanwhile", async () => {
    const asked = Array.from({ length: 10 }, () => server.open("POST", "/run", { body: loud, key: keys.loud }));
    const answers = await Promise.all(asked);
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 200));
    const other = await server.ask("POST", "/run", { body: quiet, key: keys.other });
    expect(other.json.data.stdout).toBe("ok\n");
    const lengths = await Promise.all(answers.map(outputBytes));
    expect(Math.max(...lengths)).toBeGreaterThanOrEqual(OUTPUT_BYTES);
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBeLessThan(MOST_HELD_BYTES + 10_000);
    const again = await server.open("POST", "/run", { body: loud, key: keys.loud });
    expect(await outputBytes(again)).toBeGreaterThanOrEqual(OUTPUT_BYTES);
  }, 180_000);

  it("a batch has one share for all its results", async () => {
    const body = { commands: Array.from({ length: 6 }, () => loud), parallel: 2 };
    const length = await outputBytes(await server.open("POST", "/batch/run", { body, key: keys.loud }));
    expect(length).toBeGreaterThanOrEqual(OUTPUT_BYTES);
    expect(length).toBeLessThan(MOST_OF_BATCH_BYTES + 10_000);
  }, 180_000);
});
