/** A sandbox whose policy opens the machine's loopback, at what agentkernel itself listens on there. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { markPort } from "../../../src/core/own-ports.js";
import { type Actor, actors } from "../../support/actors.js";
import { ApiServer } from "../../support/api-server.js";
import { answering, withServer } from "../../support/loopback-server.js";
import { runCli } from "../../support/run-cli.js";
import { holdRun } from "../support/process-answers.js";

const POLICY = `version: 1
net:
  egress: allowlist
  allow: [ { cidr: 127.0.0.0/8 }, { cidr: 0.0.0.0/8 }, { cidr: "::ffff:127.0.0.1/128" } ]
`;

/** Answers each connection with a line. */
const SERVE = `
import socket, threading, sys
listener = socket.create_server(("127.0.0.1", 8000))
def serve():
    while True:
        c, _ = listener.accept()
        c.recv(4096)
        c.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\nneighbour")
        c.close()
threading.Thread(target=serve, daemon=True).start()
print("listening", flush=True)
sys.stdin.read()
`;

describe.each(actors)("A1 listeners of ours, from a sandbox of $name's", (actor) => {
  let server: ApiServer;
  let policy: string;
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    policy = join(actor.folder("policy"), "loopback.yaml");
    writeFileSync(policy, POLICY);
  });
  afterAll(async () => {
    await server.stop();
  });

  /** What curl printed, or its exit status. The gateway is asked, not the sandbox's own loopback. */
  async function fetchInside(who: Actor, host: string, port: number, words: readonly string[] = []): Promise<string> {
    const url = `http://${host}:${port}/version`;
    const curl = [
      "curl",
      "-sS",
      "--noproxy",
      "",
      "-x",
      "http://127.0.0.1:3128",
      "--max-time",
      "20",
      "-w",
      "\n%{http_code}",
      ...words,
      url,
    ];
    const run = ["--policy", policy, "--workspace", "none", "--workdir", "/"];
    const { stdout, stderr } = await runCli(who, ["run", ...run, ...curl], { cwd: actor.folder() });
    return `${stdout}${stderr}`;
  }

  it("the policy does reach what others listen on there", async () => {
    await withServer(answering("another's"), async (port) => {
      expect(await fetchInside(actor, "127.0.0.1", port)).toMatch(/^200/m);
    });
  });

  it.each(["127.0.0.1", "0.0.0.0", "[::ffff:127.0.0.1]"])(
    "the HTTP interface is not reached at %s, whatever key is brought, by a run of the daemon's or alone",
    async (host) => {
      const key = ["-H", `Authorization: Bearer ${server.localToken}`];
      expect((await server.ask("GET", "/sandboxes")).status).toBe(200);
      // In the process that serves, and in one of its own with another state directory.
      for (const who of [server.actor, actor]) {
        const told = await fetchInside(who, host, server.port, key);
        expect(told).not.toMatch(/"success":true/);
        expect(told).not.toMatch(/^200/m);
        expect(told).toContain("a port on which agentkernel itself listens");
      }
    },
  );

  it("nor is a published port of another sandbox", async () => {
    const words = ["--publish", "127.0.0.1:0:8000", "--workspace", "none", "--workdir", "/", "python3", "-c", SERVE];
    const neighbour = holdRun(actor, words);
    let stderr = "";
    const published = new Promise<number>((resolve) => {
      neighbour.child.stderr?.on("data", (chunk: Buffer) => {
        stderr += String(chunk);
        const port = /port 8000 of the sandbox is \S+:(\d+)\n/.exec(stderr)?.[1];
        if (port !== undefined) resolve(Number(port));
      });
    });
    try {
      await neighbour.saw(/listening/);
      const port = await published;
      const outside = await fetch(`http://127.0.0.1:${port}/`);
      expect(await outside.text()).toBe("neighbour");
      expect(await fetchInside(actor, "127.0.0.1", port)).not.toContain("neighbour");
    } finally {
      await neighbour.release();
    }
  });

  it("the HTTP interface answers nothing to a connection that a gateway has dialled, also where it came by a detour", async () => {
    const request = `GET /sandboxes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.localToken}\r\nConnection: close\r\n\r\n`;
    const answerTo = async (isGateways: boolean) => {
      const socket = connect(server.port, "127.0.0.1");
      await once(socket, "connect");
      const mark = isGateways ? await markPort("dialled", socket.localPort ?? 0) : null;
      socket.write(request);
      const answer = await text(socket);
      mark?.release();
      return answer.split("\r\n")[0];
    };
    expect(await answerTo(false)).toBe("HTTP/1.1 200 OK");
    expect(await answerTo(true)).toBe("HTTP/1.1 403 Forbidden");
  });
});
