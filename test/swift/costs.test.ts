/** What the SDK for Swift costs: memory, descriptors, threads and time. `sdk/swift/Sources/Measure` measures it. */
import { createServer, type Server, type Socket } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Actor, actors, environmentOf } from "../support/actors.js";
import { ApiServer } from "../support/api-server.js";
import { repository } from "../support/repository.js";
import { buildSdk, outputOf, swift } from "../support/sdk/runners.js";

const [actor] = actors as readonly [Actor];
const measure = join(repository, ".build", "sdk", "swift", "debug", "Measure");
let server: ApiServer;

beforeAll(async () => {
  await buildSdk(swift);
  server = await ApiServer.start(actor);
}, 300_000);

afterAll(async () => {
  await server.stop();
});

async function measured(words: readonly string[], variables: Readonly<Record<string, string>> = {}) {
  const env = { PATH: process.env.PATH ?? "/usr/bin:/bin", ...environmentOf(server.actor), ...variables };
  const text = await outputOf(["sh", join(repository, "scripts", "swift.sh"), "exec", measure, ...words], env);
  return JSON.parse(text) as Readonly<Record<string, number>>;
}

it.each([
  ["one after another", "1"],
  ["64 at once", "64"],
])("calls leave no descriptor and no thread behind: %s", async (_, atOnce) => {
  const figures = await measured(["health", "3200", atOnce]);
  // Connections lie idle, at most as many as there were calls at once.
  expect(figures.descriptors_after).toBeLessThanOrEqual((figures.descriptors_before ?? 0) + Number(atOnce));
  // Swift's own pool has as many threads as there are processors, and starts them when it likes.
  expect(figures.threads_after).toBeLessThanOrEqual((figures.threads_before ?? 0) + availableParallelism());
});

it("a stream that is read slowly takes little memory, whatever its length", async () => {
  const bytes = 100_000_000;
  const figures = await measured(["stream", String(bytes), "2"]);
  expect(figures.bytes).toBe(bytes);
  expect(figures.peak_kb).toBeLessThan(60_000);
});

it("a time limit counts in milliseconds", async () => {
  const held = new Set<Socket>();
  const silent: Server = createServer((socket) => held.add(socket));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const address = silent.address();
  const port = typeof address === "object" ? address?.port : undefined;
  try {
    const figures = await measured(["timeout", "250"], { AGENTKERNEL_BASE_URL: `http://127.0.0.1:${port}` });
    expect(figures.timed_out).toBe(1);
    expect(figures.ms).toBeGreaterThanOrEqual(250);
    // By the second, which Foundation counts in, it would come at once or after 1000.
    expect(figures.ms).toBeLessThan(900);
  } finally {
    for (const socket of held) socket.destroy();
    silent.close();
  }
});
