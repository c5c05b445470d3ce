/** A key that is revoked or has run out, at what it had begun before. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { actors } from "../../support/actors.js";
import { ApiServer, eventsOf } from "../../support/api-server.js";
import { runCli } from "../../support/run-cli.js";

/** Settles when the answer is over, however it ended. */
function overOf(response: IncomingMessage): Promise<unknown> {
  response.on("error", () => {});
  response.resume();
  return new Promise((resolve) => response.once("close", resolve));
}

describe("A1 a key that is not valid any more", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("nobody runs tests");
  let server: ApiServer;
  let admin: string;
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    admin = await server.key("admin", ["--scope", "admin"]);
  });
  afterAll(async () => {
    await server.stop();
  });

  it.each([
    ["revoked", []],
    ["expired", ["--expires", "8s"]],
  ])(
    "one that is %s ends what it had begun, and nothing of others",
    async (name, words) => {
      const key = await server.key(name, ["--scope", "sandboxes", "--scope", "run", ...words]);
      const box = { name: `box-${name}`, network: false };
      expect((await server.ask("POST", "/sandboxes", { body: box, key })).status).toBe(201);
      const sleep = { command: ["sleep", "1000"], timeout_ms: 600_000 };
      const watching = await server.open("GET", `/sandboxes/${box.name}/events`, { key: admin });
      const ended = new Set<string>();
      const started = await server.ask("POST", `/sandboxes/${box.name}/exec`, {
        body: { ...sleep, detach: true },
        key,
      });
      expect(started.status, started.text).toBe(202);
      const ws = new WebSocket(`ws://127.0.0.1:${server.port}/sandboxes/${box.name}/attach?command=sh`, {
        headers: { authorization: `Bearer ${key}` },
      });
      await once(ws, "open");
      const closed = once(ws, "close");
      const streams = await Promise.all([
        server.open("GET", "/events", { key }),
        server.open("POST", `/sandboxes/${box.name}/exec/stream`, { body: sleep, key }),
        server.open("POST", "/run/stream", { body: { ...sleep, network: false }, key }),
      ]);
      const overs = streams.map(overOf);
      if (name === "revoked") expect((await runCli(server.actor, ["keys", "revoke", name])).status).toBe(0);
      await Promise.all([closed, ...overs]);
      // The detached one, the streamed one and the terminal.
      for await (const { event, data } of eventsOf(watching)) {
        if (event === "exec.ended") ended.add(data.exec);
        if (ended.size === 3) break;
      }
      expect(ended).toContain(started.json.data.exec);
      expect((await server.ask("GET", `/sandboxes/${box.name}`, { key })).status).toBe(401);
      expect((await server.ask("DELETE", `/sandboxes/${box.name}?force=true`, { key: admin })).status).toBe(200);
    },
    60_000,
  );
});
