/** A key for one sandbox of the user's, at what the user chose for it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { ApiServer } from "../../support/api-server.js";

describe("A3 a key for a sandbox of the user's", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("nobody runs tests");
  let server: ApiServer;
  let key: string;
  let admin: string;
  const patch = (name: string, body: object, by: string = admin) =>
    server.ask("PATCH", `/sandboxes/${name}`, { body, key: by });
  const shown = async (name: string) => (await server.ask("GET", `/sandboxes/${name}`, { key: admin })).json.data;
  const network = { allowed_domains: ["one.example", "two.example"] };
  const made = [
    { name: "closed", network: false },
    { name: "listed", network, ttl: "1h", idle_timeout: "30m", user: "1000:1000" },
  ];
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    key = await server.key("narrow", ["--scope", "sandboxes", "--sandbox", "closed", "--sandbox", "listed"]);
    admin = await server.key("admin", ["--scope", "admin"]);
    for (const body of made) {
      const answer = await server.ask("POST", "/sandboxes", { body: { ...body, start: false }, key: admin });
      expect(answer.status, answer.text).toBe(201);
    }
  });
  afterAll(async () => {
    for (const { name } of made) await server.ask("DELETE", `/sandboxes/${name}?force=true`, { key: admin });
    await server.stop();
  });

  it.each([
    ["closed", { network: true }, "network"],
    ["closed", { network: "allowlist" }, "network"],
    ["listed", { network: "on" }, "network"],
    ["listed", { network: { allowed_domains: ["one.example", "three.example"] } }, "network.allowed_domains"],
    ["listed", { ttl: null }, "ttl"],
    ["listed", { ttl: "2h" }, "ttl"],
    ["listed", { idle_timeout: null }, "idle_timeout"],
    ["listed", { idle_timeout: "31m" }, "idle_timeout"],
  ])("does not widen %s by %j", async (name, body, field) => {
    const { expires_at: _, ...before } = await shown(name);
    const { status, json } = await patch(name, body, key);
    expect([status, json.error?.code, json.error?.details?.field]).toEqual([403, "forbidden", field]);
    expect(await shown(name)).toMatchObject(before);
  });

  it("makes it narrower and takes that back, no further; the user's word counts anew", async () => {
    const status = async (body: object, by?: string) => (await patch("listed", body, by)).status;
    const ttl = async () => (await shown("listed")).expires_at;
    expect(await status({ network: { allowed_domains: ["one.example"] } }, key)).toBe(200);
    expect(await status({ network: false }, key)).toBe(200);
    expect(await status({ network }, key)).toBe(200);
    expect(await status({ network: true }, key)).toBe(403);
    expect(await status({ network: { allowed_domains: ["one.example"] } })).toBe(200);
    expect(await status({ network }, key)).toBe(403);
    const before = await ttl();
    expect(await status({ idle_timeout: "10m" }, key)).toBe(200);
    // Its time was not counted anew by that.
    expect(Math.abs(Date.parse(await ttl()) - Date.parse(before))).toBeLessThan(1000);
  });

  it("runs commands as the user that the sandbox was made for, and as no other", async () => {
    const exec = async (user: object) =>
      await server.ask("POST", "/sandboxes/listed/exec", { body: { command: ["id", "-u"], ...user }, key });
    const { status, json } = await exec({ user: "0" });
    expect([status, json.error?.code, json.error?.details?.field]).toEqual([403, "forbidden", "user"]);
    const own = await exec({});
    expect(own.json.data?.stdout, own.text).toBe("1000\n");
  });
});
