/** An image that a key names, at what only the user of the machine reaches: its own services, and the user's logins. */
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { ApiServer } from "../../support/api-server.js";

describe("A3 an image that a key names", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("nobody runs tests");
  let server: ApiServer;
  let key: string;
  let admin: string;
  let service: Server;
  let port = 0;
  let connections = 0;
  beforeAll(async () => {
    service = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
    port = (service.address() as AddressInfo).port;
    server = await ApiServer.start({ ...actor, variables: { ...actor.variables, AGENTKERNEL_PULL: "missing" } });
    key = await server.key("stranger", ["--scope", "run", "--scope", "sandboxes"]);
    admin = await server.key("admin", ["--scope", "admin"]);
  });
  afterAll(async () => {
    await server.stop();
    service.close();
  });

  it.each(["localhost", "127.0.0.1", "registry.localhost"])("is not looked for at %s", async (host) => {
    const image = `${host}:${port}/secrets:latest`;
    for (const [path, body] of [
      ["/run", { command: ["true"], image, network: false }],
      ["/sandboxes", { name: "box", image, network: false }],
    ] as const) {
      const { status, json } = await server.ask("POST", path, { body, key });
      expect(status, JSON.stringify(json)).toBeGreaterThanOrEqual(400);
    }
    expect(connections).toBe(0);
  });

  it("is looked for there where the user names it", async () => {
    const body = { command: ["true"], image: `127.0.0.1:${port}/secrets:latest`, network: false };
    expect((await server.ask("POST", "/run", { body, key: admin })).json.success).toBe(false);
    expect(connections).toBeGreaterThan(0);
  });
});
