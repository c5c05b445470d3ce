/** Somebody without a key, at the connections that all share. */
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { ApiServer } from "../../support/api-server.js";

const MOST_UNKNOWN = 512;
const STRANGERS = 700;

describe("A1 connections of strangers", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("nobody runs tests");
  let server: ApiServer;
  let key: string;
  const strangers: Socket[] = [];
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    key = await server.key("somebody", ["--scope", "run", "--scope", "read"]);
  });
  afterAll(async () => {
    for (const socket of strangers) socket.destroy();
    await server.stop();
  });

  /** Half a request. Whether it was closed without a word. */
  async function stranger(): Promise<{ readonly closed: Promise<boolean> }> {
    const socket = connect(server.port, "127.0.0.1");
    strangers.push(socket);
    let heard = false;
    socket.on("error", () => {});
    socket.on("data", () => {
      heard = true;
    });
    const closed = new Promise<boolean>((resolve) => socket.once("close", () => resolve(!heard)));
    await new Promise<void>((resolve) => socket.once("connect", resolve));
    socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    return { closed };
  }

  it("make room for each other, the oldest first, and for nobody else", async () => {
    const events = await server.open("GET", "/events", { key });
    let isCutOff = false;
    events.once("close", () => {
      isCutOff = true;
    });
    const closings: ReturnType<typeof stranger>[] = [];
    for (let count = 0; count < STRANGERS; count++) closings.push(stranger());
    let turnedAway = 0;
    await new Promise<void>((resolve) => {
      for (const closing of closings) {
        void closing.then(async ({ closed }) => {
          if ((await closed) && ++turnedAway === STRANGERS - MOST_UNKNOWN) resolve();
        });
      }
    });
    const body = { command: ["echo", "ok"], network: false };
    expect((await server.ask("POST", "/run", { body, key })).json.data.stdout).toBe("ok\n");
    expect(isCutOff).toBe(false);
    events.destroy();
  }, 30_000);
});
