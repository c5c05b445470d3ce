/** Commands that go on in the background of a sandbox that stays, and what is kept of them, also over a daemon's death. */
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { ConnectProxy } from "../support/connect-proxy.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { inWorld, type SandboxWorld } from "../support/sandbox-world.js";

const LINES = 20_000;
const counting = `i=0; while [ $i -lt ${LINES} ]; do echo line $i; i=$((i+1)); done`;
const counted = Array.from({ length: LINES }, (_, line) => `line ${line}\n`).join("");

async function detach(world: SandboxWorld, script: string): Promise<string> {
  return (await world.ok(["exec", "--detach", "box", "sh", "-c", script])).trim();
}

async function execOf(world: SandboxWorld, id: string) {
  return (await world.info("box")).execs.find((exec) => exec.id === id);
}

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it("a detached command's output can be read while it runs and later, each stream on its own", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      const id = await detach(
        world,
        "echo out; echo err >&2; until [ -e /tmp/go ]; do sleep 0.01; done; echo last; exit 6",
      );
      const follower = world.watch(["logs", "--follow", "box", id]);
      await follower.until(/out\n/);
      expect((await world.ak(["logs", "box"])).stdout).toBe("out\n");
      await world.ok(["exec", "box", "touch", "/tmp/go"]);
      expect(await follower.end).toMatchObject({ status: 0, stdout: "out\nlast\n", stderr: "err\n" });
      expect(await execOf(world, id)).toMatchObject({ state: "ended", exit_code: 6, detached: true });
      await world.ok(["stop", "box"]);
      await world.restart();
      expect(await world.ak(["logs", "box", id])).toMatchObject({ stdout: "out\nlast\n", stderr: "err\n" });
    });
  });

  it("one that cannot be run says so as run would", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      expect(await world.ak(["exec", "-d", "box", "nosuch"])).toMatchObject({ status: 127, stdout: "" });
      await world.refuses(["logs", "box"], /no output of a command in box was kept/, /exec --detach/);
    });
  });

  it("kill -9 of the daemon: it goes on, and none of its output is lost or doubled", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      const id = await detach(world, `${counting}; until [ -e /tmp/go ]; do sleep 0.01; done; echo end; exit 7`);
      for (let restarts = 0; restarts < 3; restarts++) await world.restart();
      expect(await world.states()).toEqual({ box: "running" });
      await world.ok(["exec", "box", "touch", "/tmp/go"]);
      const { stdout } = await world.ak(["logs", "--follow", "box", id]);
      expect(stdout === `${counted}end\n`, `${stdout.length} characters`).toBe(true);
      await expect.poll(async () => (await execOf(world, id))?.exit_code).toBe(7);
    });
  });

  it("a command that ended while there was no daemon is found out about by the next one", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      const id = await detach(world, "until [ -e /tmp/go ]; do sleep 0.01; done; echo last; exit 9");
      // Nobody but the command sees this file made: it has a key too, and no daemon to speak to.
      await detach(world, "sleep 0.3; touch /tmp/go; sleep 0.3; touch /tmp/done");
      await world.crash();
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await world.up();
      await expect.poll(async () => (await execOf(world, id))?.state).toBe("ended");
      expect(await execOf(world, id)).toMatchObject({ exit_code: 9 });
      expect((await world.ak(["logs", "box", id])).stdout).toBe("last\n");
    });
  });

  it("what somebody waits for ends with the one who waits: the client's death, and the daemon's", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      const alive = async () =>
        (await world.ok(["exec", "box", "sh", "-c", "cat /proc/[0-9]*/comm | grep -c sleep || true"])).trim();
      const first = world.watch(["exec", "box", "sh", "-c", "echo up; exec sleep 4411"]);
      await first.until(/up/);
      process.kill(first.pid, "SIGKILL");
      await expect.poll(alive).toBe("0");
      const second = world.watch(["exec", "box", "sh", "-c", "echo up; exec sleep 4412"]);
      await second.until(/up/);
      await world.restart();
      expect((await second.end).status).toBe(125);
      await expect.poll(alive).toBe("0");
      expect(await world.states()).toEqual({ box: "running" });
    });
  });

  it("its time limit holds also over a daemon's death", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      const words = ["exec", "-d", "--timeout", "1s", "box", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"];
      const id = (await world.ok(words)).trim();
      await world.restart();
      await expect.poll(async () => (await execOf(world, id))?.state).toBe("ended");
      expect(await execOf(world, id)).toMatchObject({ timed_out: true });
    });
  });

  it("published ports are open again after a start and after a daemon's death", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box", ["--publish", "0:8000"]);
      const server =
        "import http.server; http.server.ThreadingHTTPServer(('127.0.0.1', 8000), http.server.SimpleHTTPRequestHandler).serve_forever()";
      const serve = () => world.ok(["exec", "-d", "--workdir", "/usr/share", "box", "python3", "-c", server]);
      const ask = async () => {
        const [port] = (await world.info("box")).ports;
        return await statusAt(port?.host_port ?? 0);
      };
      await serve();
      await expect.poll(ask).toBe(200);
      await world.restart();
      await expect.poll(ask).toBe(200);
      await world.ok(["stop", "box"]);
      await world.ok(["start", "box"]);
      await serve();
      await expect.poll(ask).toBe(200);
    });
  });

  it("a command is told what it was not let through to, and the next one nothing of it", async () => {
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--workspace", "none", "--allow-domain", "other.example.com", "box"]);
      await world.ok(["start", "box"]);
      const told =
        /^agentkernel: blocked: denied\.example\.com[^\n]*, allow with create --allow-domain denied\.example\.com\n$/;
      for (let times = 0; times < 2; times++) {
        const { stderr } = await world.ak(["exec", "box", "python3", "-c", connectTo("denied.example.com")]);
        expect(stderr).toMatch(told);
      }
      expect(await world.ak(["exec", "box", "true"])).toMatchObject({ status: 0, stderr: "" });
    });
  });

  it("the values of secrets are in memory only; after a daemon's death what they were for is out of reach, and said", async () => {
    // It stands where a name would otherwise be looked up, and lets nothing through.
    const proxy = await ConnectProxy.start(1);
    proxy.refuse = 502;
    const env = { API_TOKEN: "hush-hush-value" };
    const use = async (world: SandboxWorld) => {
      const domains = ["--allow-domain", "api.example.com", "--allow-domain", "other.example.com"];
      const secret = ["--secret", "API_TOKEN:api.example.com"];
      await world.ok(["create", "--workspace", "none", ...domains, ...secret, "box"]);
      await world.refuses(["start", "box"], /API_TOKEN has no value/, /export API_TOKEN/);
      await world.ok(["start", "box"], { env });
      const placeholder = await world.ok(["exec", "box", "sh", "-c", "echo $API_TOKEN"]);
      expect(placeholder).toMatch(/\S/);
      expect(placeholder).not.toContain("hush");
      expect((await world.info("box")).notes).toEqual([]);

      await world.restart();
      expect((await world.info("box")).notes[0]).toMatch(/API_TOKEN.*api\.example\.com cannot be reached/);
      expect(await world.ok(["exec", "box", "sh", "-c", "echo [$API_TOKEN]"])).toBe("[]\n");
      await world.ok(["exec", "box", "python3", "-c", connectTo("other.example.com")]);
      await world.ok(["exec", "box", "python3", "-c", connectTo("api.example.com")]);
      expect(proxy.asked.map(({ authority }) => authority)).toEqual(["other.example.com:443"]);

      await world.ok(["stop", "box"]);
      await world.refuses(["start", "box"], /API_TOKEN has no value/, /export API_TOKEN/);
      await world.ok(["start", "box"], { env });
      const info = await world.info("box");
      expect(info.notes).toEqual([]);
      expect(JSON.stringify(info)).not.toContain("hush-hush-value");
      expect(readFileSync(join(world.folder("box"), "sandbox.json"), "utf8")).not.toContain("hush-hush-value");
    };
    try {
      await inWorld(actor, use, { env: { HTTPS_PROXY: `http://${proxy.host}` } });
    } finally {
      await proxy.stop();
    }
  });
});

function connectTo(host: string): string {
  return `
import socket
try:
    socket.create_connection((${JSON.stringify(host)}, 443), 5).recv(1)
except OSError as error:
    print(error)
`;
}

function statusAt(port: number): Promise<number | string> {
  return new Promise((resolve) => {
    get({ host: "127.0.0.1", port, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}
