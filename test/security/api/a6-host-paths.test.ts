/** Where the user's own configuration lies, in what keys are told. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { ApiServer, eventsOf } from "../../support/api-server.js";
import { makeProject } from "../../support/project.js";

const config = "[security]\ncommands.deny = ['curl']\n[limits]\nmemory_mb = 300\nprofile = 'moderate'\n";

describe("A6 paths of the user's configuration", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("nobody runs tests");
  const folder = makeProject(actor, { "agentkernel/config.toml": config }).path;
  let server: ApiServer;
  const keys = { some: "", maker: "", admin: "" };
  const asked = [
    ["a limit", "/run", { command: ["true"], resources: { memory_mb: 4096 } }],
    ["a command", "/run", { command: ["curl"] }],
    ["a profile", "/sandboxes", { name: "loose", profile: "permissive" }],
    ["a command of a sandbox that stays", "/sandboxes/stays/exec", { command: ["curl"] }],
  ] as const;
  beforeAll(async () => {
    server = await ApiServer.start({ ...actor, variables: { ...actor.variables, XDG_CONFIG_HOME: folder } });
    keys.some = await server.key("some", ["--scope", "run", "--scope", "sandboxes", "--sandbox", "stays"]);
    keys.maker = await server.key("maker", ["--scope", "sandboxes"]);
    keys.admin = await server.key("admin", ["--scope", "admin"]);
    expect(
      (await server.ask("POST", "/sandboxes", { body: { name: "stays", network: false }, key: keys.admin })).status,
    ).toBe(201);
  });
  afterAll(async () => {
    await server.ask("DELETE", "/sandboxes/stays?force=true", { key: keys.admin });
    await server.stop();
  });

  it.each(asked)("%s that is refused tells an admin where that was said, and nobody else", async (_, path, body) => {
    const own = path === "/sandboxes" ? keys.maker : keys.some;
    const [some, admin] = await Promise.all([own, keys.admin].map((key) => server.ask("POST", path, { body, key })));
    expect(admin?.text).toContain(folder);
    expect(some?.json.error.code).toBe("policy_denied");
    expect(some?.text).not.toContain(folder);
  });

  it("nor do results of a batch, or events", async () => {
    const body = { command: ["curl"], network: false };
    const batch = await server.ask("POST", "/batch/run", { body: { commands: [body] }, key: keys.some });
    expect(batch.text).toContain("policy_denied");
    expect(batch.text).not.toContain(folder);
    const exec = { body: { command: ["curl"] }, key: keys.some };
    const told: string[] = [];
    for await (const { event, data } of eventsOf(await server.open("POST", "/sandboxes/stays/exec/stream", exec))) {
      told.push(`${event} ${data.code}`);
      expect(JSON.stringify(data)).not.toContain(folder);
    }
    expect(told).toEqual(["error policy_denied"]);
  });
});
