import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { runCli, runIn } from "../../support/run-cli.js";
import { holdRun } from "../support/process-answers.js";
import { Listeners, REACH, reached, type Target } from "../support/process-listeners.js";
import { runOutside } from "../support/process-programs.js";

/** EPERM, and EAFNOSUPPORT as of a kernel without that family. */
const REFUSED = new Set(["1", "97"]);

/** Makes a socket of every family, and of every kind that speaks past TCP and UDP; prints "what errno". */
const FAMILIES = `
import socket
def make(name, *args):
    try: socket.socket(*args).close(); print(name, 0)
    except OSError as e: print(name, e.errno)
for family in range(3, 46):
    if family not in (10, 16): make("family:%d" % family, family, socket.SOCK_DGRAM, 0)
make("packet", 17, socket.SOCK_RAW, 0)
make("vsock", 40, socket.SOCK_STREAM, 0)
make("alg", 38, socket.SOCK_SEQPACKET, 0)
make("raw4", socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
make("raw6", socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
for protocol in range(1, 23): make("netlink:%d" % protocol, 16, socket.SOCK_RAW, protocol)
`;

/** What of the network there is to see. */
const SEE = `
import socket
print("interfaces", [name for _, name in socket.if_nameindex()])
print("routes", len(open("/proc/net/route").read().splitlines()) - 1)
print("routes6", [line.split()[-1] for line in open("/proc/net/ipv6_route").read().splitlines() if line.split()[-1] != "lo"])
print("tcp", len(open("/proc/net/tcp").read().splitlines()) - 1)
print("unix", [line.split()[-1] for line in open("/proc/net/unix").read().splitlines()[1:]])
`;

function results(stdout: string): ReadonlyMap<string, string> {
  return new Map(
    stdout
      .trim()
      .split("\n")
      .map((line) => [line.split(" ")[0] ?? "", line.split(" ")[1] ?? ""]),
  );
}

describe("N1 a sandbox without a network", () => {
  describe.each(actors)("as $name", (actor) => {
    let listeners: Listeners;
    beforeAll(async () => {
      listeners = await Listeners.start(actor);
    });
    afterAll(async () => {
      await listeners[Symbol.asyncDispose]();
    });

    /** Each listener, and other ways to write the loopback addresses that two of them have. */
    function targets(): readonly Target[] {
      const more = listeners.targets.flatMap(([kind, , port]): Target[] => {
        if (kind === "tcp4")
          return [
            ["tcp4", "127.9.9.9", port],
            ["tcp4", "0.0.0.0", port],
            ["tcp6", "::ffff:127.0.0.1", port],
          ];
        return kind === "tcp6" ? [["tcp6", "::", port]] : [];
      });
      return [...listeners.targets, ...more];
    }

    it("outside, every listener of the host's answers", async () => {
      const ran = await runOutside(actor, ["python3", "-c", REACH, JSON.stringify(listeners.targets)]);
      expect(reached(ran.stdout), ran.stdout).toHaveLength(listeners.targets.length);
    });

    it.each([
      ["off", ["--network", "off"]],
      ["off, restrictive", ["--profile", "restrictive"]],
      ["off, as another user", ["--network", "off", "--user", "1000:1000", "--workdir", "/"]],
      // With a network these are no part of it: they are the host's own.
      ["on", ["--network", "on"]],
      ["allowlist", ["--network", "allowlist", "--allow-domain", "example.com"]],
    ])("inside, none does (%s)", async (_how, options) => {
      const words = ["run", ...options, "python3", "-c", REACH, JSON.stringify(targets())];
      const ran = await runCli(actor, words);
      expect(ran.stdout.trim().split("\n").length).toBe(targets().length);
      expect(reached(ran.stdout)).toEqual([]);
    });

    it("inside, there is a loopback device of its own and nothing else", async () => {
      const outside = results((await runOutside(actor, ["python3", "-c", SEE])).stdout);
      expect(Number(outside.get("tcp"))).toBeGreaterThan(0);
      const ran = await runIn(actor, ["python3", "-c", SEE]);
      expect(ran.stdout.trim().split("\n")).toEqual([
        "interfaces ['lo']",
        "routes 0",
        "routes6 []",
        "tcp 0",
        "unix []",
      ]);
    });

    it.each(["moderate", "restrictive"])("inside, no socket speaks past TCP, UDP and its own (%s)", async (profile) => {
      const outside = results((await runOutside(actor, ["python3", "-c", FAMILIES])).stdout);
      // What the actor can make outside: root all of it, an ordinary user at least netlink sockets.
      const made = [...outside].filter(([, errno]) => errno === "0").map(([name]) => name);
      expect(made).toEqual(expect.arrayContaining(["netlink:4", "netlink:15"]));
      if (actor.name === "root") expect(made).toEqual(expect.arrayContaining(["packet", "raw4", "raw6"]));
      const inside = results((await runIn(actor, ["--profile", profile, "python3", "-c", FAMILIES])).stdout);
      expect(inside.size).toBe(outside.size);
      expect([...inside].filter(([, errno]) => !REFUSED.has(errno))).toEqual([]);
    });

    describe("a socket file of the host's in a folder that the sandbox sees", () => {
      const connect = (path: string) => ["python3", "-c", REACH, JSON.stringify([["unix", path, 0]])];

      async function serviceIn(folder: string): Promise<void> {
        const path = await listeners.unixIn(folder);
        expect(
          reached((await runOutside(actor, ["python3", "-c", REACH, JSON.stringify([["unix", path, 0]])])).stdout),
        ).toHaveLength(1);
      }

      it.each([
        ["copy", ["--workspace", "copy"], "/workspace"],
        ["copy, read-only", ["--profile", "restrictive"], "/workspace"],
        ["sync", ["--workspace", "sync"], "/workspace"],
        ["mount", ["--workspace", "mount"], "/workspace"],
      ])("is not reached as the project (%s)", async (_how, options, guest) => {
        const cwd = actor.folder();
        await serviceIn(cwd);
        const ran = await runIn(actor, [...options, ...connect(`${guest}/service.sock`)], { cwd });
        expect(ran.stdout).toMatch(/^unix \S+ (2|13|111)$/m);
      });

      it.each(["", ":ro"])("is not reached through a mount (%s)", async (suffix) => {
        const folder = actor.folder();
        await serviceIn(folder);
        const ran = await runIn(actor, ["--mount", `${folder}:/seen${suffix}`, ...connect("/seen/service.sock")]);
        expect(ran.stdout).toMatch(/^unix \S+ (2|13|111)$/m);
        const direct = await runIn(actor, ["--mount", `${folder}/service.sock:/seen${suffix}`, "true"]);
        expect(direct.status).toBe(125);
        expect(direct.stderr).toContain("sockets, pipes and devices are never shown");
      });

      it.each([
        ["copy", ["--workspace", "copy"]],
        ["copy, read-only", ["--profile", "restrictive"]],
        ["sync", ["--workspace", "sync"]],
      ])("is not reached when it is made while the command runs (%s)", async (_how, options) => {
        expect(await lateSocket(options)).toEqual([]);
      });

      // Known and written down: the folder is the real one, and no rule of the kernel's stops a connection to a socket
      // file in it. What is there at the start is covered; what the host makes later is not. The sandbox says so.
      it("made while the command runs, is reached only in a live project, which says so", async () => {
        expect(await lateSocket(["--workspace", "mount"])).toHaveLength(1);
        const said = await runIn(actor, ["--workspace", "mount", "true"], { cwd: actor.folder() });
        expect(said.stderr).toMatch(/protected-paths: .*socket/);
      });

      async function lateSocket(options: readonly string[]): Promise<readonly string[]> {
        const cwd = actor.folder();
        const [, , script = "", target = ""] = connect("/workspace/service.sock");
        const wait = `print("ready", flush=True)\nimport sys\nsys.stdin.read()\n${script}`;
        const run = holdRun(actor, [...options, "python3", "-c", wait, target], { cwd });
        await run.saw(/ready/);
        await serviceIn(cwd);
        return reached((await run.release()).stdout);
      }
    });
  });
});
