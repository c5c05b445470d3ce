/** One caller at another's sandboxes: to see, to use, to end, or to listen to. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { ApiServer, eventsOf } from "../../support/api-server.js";

describe("A3 one caller at another's sandboxes", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("nobody runs tests");
  let server: ApiServer;
  const keys = { owner: "", other: "", narrow: "", admin: "" };
  const box = { name: "private", network: false };
  beforeAll(async () => {
    server = await ApiServer.start({ ...actor, variables: { ...actor.variables, OF_THE_HOST: "visible" } });
    keys.owner = await server.key("owner", ["--scope", "sandboxes", "--scope", "run"]);
    keys.other = await server.key("other", ["--scope", "sandboxes", "--scope", "run"]);
    keys.narrow = await server.key("narrow", ["--scope", "sandboxes", "--sandbox", "shared"]);
    keys.admin = await server.key("admin", ["--scope", "admin"]);
    expect((await server.ask("POST", "/sandboxes", { body: box, key: keys.owner })).status).toBe(201);
    expect((await server.ask("POST", "/sandboxes", { body: { ...box, name: "shared" }, key: keys.admin })).status).toBe(
      201,
    );
  });
  afterAll(async () => {
    for (const name of ["private", "shared"])
      await server.ask("DELETE", `/sandboxes/${name}?force=true`, { key: keys.admin });
    await server.stop();
  });

  const attempts: readonly { method: string; path: string; body?: unknown }[] = [
    { method: "GET", path: "/sandboxes/private" },
    { method: "PATCH", path: "/sandboxes/private", body: { ttl: "1s" } },
    { method: "DELETE", path: "/sandboxes/private?force=true" },
    { method: "POST", path: "/sandboxes/private/start" },
    { method: "POST", path: "/sandboxes/private/stop" },
    { method: "POST", path: "/sandboxes/private/pause" },
    { method: "POST", path: "/sandboxes/private/exec", body: { command: ["true"] } },
    { method: "POST", path: "/sandboxes/private/exec/stream", body: { command: ["true"] } },
    { method: "GET", path: "/sandboxes/private/stats" },
    { method: "GET", path: "/sandboxes/private/files/etc/hostname" },
    { method: "PUT", path: "/sandboxes/private/files/tmp/x", body: { content: "x" } },
    { method: "DELETE", path: "/sandboxes/private/files/tmp/x" },
    { method: "GET", path: "/sandboxes/private/logs" },
    { method: "DELETE", path: "/sandboxes/private/execs/x1f0c2a9b" },
    { method: "GET", path: "/sandboxes/private/ports/3000/" },
    { method: "POST", path: "/sandboxes/private/ports/3000/x", body: {} },
    { method: "GET", path: "/sandboxes/private/audit" },
    { method: "GET", path: "/sandboxes/private/events" },
    { method: "POST", path: "/sandboxes/private/apply" },
    { method: "GET", path: "/sandboxes/private/diff" },
    { method: "GET", path: "/sandboxes/private/attach" },
  ];

  it.each(attempts)(
    "$method $path by another key is as if there were no such sandbox",
    async ({ method, path, body }) => {
      const missing = path.replace("private", "nothing-here");
      for (const key of [keys.other, keys.narrow]) {
        const refused = await server.ask(method, path, { body, key });
        const nothing = await server.ask(method, missing, { body, key });
        expect(refused.status).toBe(404);
        expect(refused.text.replaceAll("private", "nothing-here")).toBe(nothing.text);
      }
      // It is there all the same, for its owner and for an admin.
      for (const key of [keys.owner, keys.admin]) {
        const { status, json } = await server.ask("GET", "/sandboxes/private", { key });
        expect([status, json.data.state]).toEqual([200, "running"]);
      }
    },
  );

  it("lists show each what is theirs", async () => {
    const names = async (key: string) =>
      (await server.ask("GET", "/sandboxes", { key })).json.data.sandboxes.map(({ name }: { name: string }) => name);
    expect(await names(keys.owner)).toEqual(["private"]);
    expect(await names(keys.other)).toEqual([]);
    expect(await names(keys.narrow)).toEqual(["shared"]);
    expect(await names(keys.admin)).toEqual(["private", "shared"]);
  });

  it("a key for one sandbox makes no other", async () => {
    const { status, json } = await server.ask("POST", "/sandboxes", { body: { name: "mine" }, key: keys.narrow });
    expect([status, json.error.code]).toEqual([403, "forbidden"]);
  });

  it("events and records of one are not told to another, and no output is told at all", async () => {
    const seen: Record<string, string[]> = { owner: [], other: [] };
    const streams = await Promise.all(
      (["owner", "other"] as const).map(async (who) => {
        const response = await server.open("GET", "/events", { key: keys[who] });
        const heard = (async () => {
          for await (const { event, data } of eventsOf(response)) {
            seen[who]?.push(`${data.sandbox} ${event}`);
            expect(JSON.stringify(data)).not.toContain("whisper");
            if (event === "removed" && data.sandbox === `${who}-last`) return;
          }
        })();
        return { response, heard };
      }),
    );
    const exec = { command: ["sh", "-c", "cat"], stdin: "whisper" };
    await server.ask("POST", "/sandboxes/private/exec", { body: exec, key: keys.owner });
    // Each ends its own stream by something that it alone does.
    for (const who of ["owner", "other"] as const) {
      const last = { ...box, name: `${who}-last`, start: false };
      expect((await server.ask("POST", "/sandboxes", { body: last, key: keys[who] })).status).toBe(201);
      expect((await server.ask("DELETE", `/sandboxes/${who}-last`, { key: keys[who] })).status).toBe(200);
    }
    await Promise.all(streams.map(({ heard }) => heard));
    for (const { response } of streams) response.destroy();
    expect(seen.owner).toContain("private exec.ended");
    expect(seen.other).toEqual(["other-last created", "other-last removed"]);

    const ran = (await server.ask("POST", "/run", { body: { command: ["true"], network: false }, key: keys.owner }))
      .json;
    const records = async (key: string) =>
      (await server.ask("GET", "/audit?limit=10000", { key })).json.data.records.map(
        ({ sandbox }: { sandbox: string }) => sandbox,
      );
    // Records are written after the answer.
    while (!(await records(keys.owner)).includes(ran.data.sandbox));
    expect(await records(keys.admin)).toContain(ran.data.sandbox);
    expect(await records(keys.other)).not.toContain(ran.data.sandbox);
    expect((await records(keys.other)).filter((id: string) => id.startsWith("private"))).toEqual([]);
  });

  it("what a caller over the network may not name of the host, an admin may", async () => {
    const dir = actor.folder();
    const body = { command: ["ls", "/workspace"], dir, network: false };
    expect((await server.ask("POST", "/run", { body, key: keys.admin })).status).toBe(200);
    const { status, json } = await server.ask("POST", "/run", { body, key: keys.owner });
    expect([status, json.error.details.field]).toEqual([403, "dir"]);
    const image = { command: ["true"], image: "/", network: false };
    expect((await server.ask("POST", "/run", { body: image, key: keys.owner })).json.error.details.field).toBe("image");
  });

  it("a loose profile shows nothing of the host to a caller over the network", async () => {
    const body = {
      command: ["sh", "-c", `ls -a ${actor.home} /workspace 2>&1; env`],
      profile: "permissive",
      network: false,
    };
    const admin = (await server.ask("POST", "/run", { body, key: keys.admin })).json.data;
    const owner = (await server.ask("POST", "/run", { body, key: keys.owner })).json.data;
    expect(admin.stdout).toContain("OF_THE_HOST=visible\n");
    expect(owner.stdout).not.toContain("OF_THE_HOST");
    expect(owner.stdout).toMatch(/cannot access .*No such file/);
    expect(owner.notes.join()).toContain("what callers over the network may");
  });
});
