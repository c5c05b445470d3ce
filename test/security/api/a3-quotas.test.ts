/** A caller at its own quota: by leaving commands alone, by hanging up, by many in one, and by sandboxes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { ApiServer, eventsOf } from "../../support/api-server.js";

/** More than a second of processor time, then nothing. */
const burn = {
  command: ["sh", "-c", "i=0; while [ $i -lt 4000000 ]; do i=$((i+1)); done; echo burnt; exec sleep 1000"],
  timeout_ms: 120_000,
};
const nothing = { command: ["true"], network: false };

describe("A3 a caller at its own quota", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("nobody runs tests");
  let server: ApiServer;
  let admin: string;
  const key = (name: string, words: readonly string[]) =>
    server.key(name, ["--scope", "run", "--scope", "sandboxes", ...words]);
  const make = async (name: string, by: string) =>
    await server.ask("POST", "/sandboxes", { body: { name, network: false }, key: by });
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    admin = await server.key("admin", ["--scope", "admin"]);
  });
  afterAll(async () => {
    const { json } = await server.ask("GET", "/sandboxes", { key: admin });
    for (const { name } of json.data.sandboxes)
      await server.ask("DELETE", `/sandboxes/${name}?force=true`, { key: admin });
    await server.stop();
  });

  it("a detached command is one of those at once, until it has ended", async () => {
    const one = await key("one", ["--concurrency", "1"]);
    expect((await make("alone", one)).status).toBe(201);
    const watching = await server.open("GET", "/sandboxes/alone/events", { key: one });
    const exec = (body: object) => server.ask("POST", "/sandboxes/alone/exec", { body, key: one });
    expect((await exec({ command: ["sleep", "1000"], detach: true, timeout_ms: 3000 })).status).toBe(202);
    const refused = await exec({ command: ["true"], detach: true });
    expect([refused.status, refused.json.error.code]).toEqual([429, "too_many_requests"]);
    // It is nobody else's place.
    expect((await server.ask("POST", "/run", { body: nothing, key: admin })).status).toBe(200);
    for await (const { event } of eventsOf(watching)) if (event === "exec.ended") break;
    let { status } = await exec({ command: ["true"] });
    while (status === 429) ({ status } = await exec({ command: ["true"] }));
    expect(status).toBe(200);
  }, 60_000);

  it.each(["/run/stream", "/sandboxes/burning/exec/stream"])(
    "hanging up at %s is charged",
    async (path) => {
      const name = path.split("/")[1] ?? "";
      const brief = await key(`brief-${name}`, ["--cpu-seconds", "1"]);
      if (name === "sandboxes") expect((await make("burning", brief)).status).toBe(201);
      const body = name === "run" ? { ...burn, network: false } : burn;
      for await (const { event } of eventsOf(await server.open("POST", path, { body, key: brief })))
        if (event === "stdout") break;
      // It is charged when its sandbox has ended, which nobody waits for any more.
      const status = async () => (await server.ask("POST", "/run", { body: nothing, key: brief })).status;
      await expect.poll(status).toBe(429);
    },
    60_000,
  );

  it("each command of a batch is a request", async () => {
    const slow = await key("slow", ["--rate", "60"]);
    const body = { commands: Array.from({ length: 45 }, () => nothing), parallel: 8 };
    expect((await server.ask("POST", "/batch/run", { body, key: slow })).status).toBe(200);
    const { status, headers } = await server.ask("POST", "/run", { body: nothing, key: slow });
    expect(status).toBe(429);
    expect(Number(headers["retry-after"])).toBeGreaterThan(5);
  }, 60_000);

  it("sandboxes that stay are counted", async () => {
    const few = await key("few", ["--max-sandboxes", "2"]);
    const made = await Promise.all(["a", "b", "c"].map((name) => make(`few-${name}`, few)));
    expect(made.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(2);
    expect(made.flatMap(({ json }) => json.error?.code ?? [])).toEqual(["resource_exhausted"]);
    const [{ name }] = (await server.ask("GET", "/sandboxes", { key: few })).json.data.sandboxes;
    expect((await server.ask("DELETE", `/sandboxes/${name}?force=true`, { key: few })).status).toBe(200);
    expect((await make("few-d", few)).status).toBe(201);
  }, 60_000);
});
