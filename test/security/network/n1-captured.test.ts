import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PolicyFields } from "../../../src/policy/fields.js";
import { Subject } from "../../contract/suite/subject.js";
import { actors } from "../../support/actors.js";
import { backendOf } from "../../support/backend-of.js";
import { LoopbackEgress } from "../../support/loopback-egress.js";
import { leavesNothingBehind } from "../../support/nothing-left.js";
import { Listeners, REACH, reached, type Target } from "../support/process-listeners.js";
import { runOutside } from "../support/process-programs.js";

/** Sends one message of everything that is neither TCP nor UDP, and tries to change the rules; prints "what errno". */
const OTHER = `
import ctypes, os, socket, subprocess
def attempt(name, work):
    try: work(); print(name, 0)
    except OSError as e: print(name, e.errno)
def ping(family, protocol, to):
    with socket.socket(family, socket.SOCK_DGRAM, protocol) as s: s.sendto(bytes([8 if family == socket.AF_INET else 128]) + bytes(7), to)
def raw(family, protocol):
    socket.socket(family, socket.SOCK_RAW, protocol).close()
def bind(kind, port):
    with socket.socket(socket.AF_INET, kind) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        s.bind(("127.0.0.1", port))
        if kind == socket.SOCK_STREAM: s.listen()
def address(operation):
    message = bytes([8, 32, 0, 0]) + (1).to_bytes(4, "little") + bytes([8, 0, 2, 0, 198, 18, 0, 1])
    with socket.socket(16, socket.SOCK_RAW, 0) as s:
        s.send((len(message) + 16).to_bytes(4, "little") + operation.to_bytes(2, "little") + (5).to_bytes(2, "little") + bytes(8) + message)
        code = int.from_bytes(s.recv(4096)[16:20], "little", signed=True)
        if code: raise OSError(-code, "")
attempt("ping4", lambda: ping(socket.AF_INET, socket.IPPROTO_ICMP, ("192.0.2.1", 0)))
attempt("ping6", lambda: ping(socket.AF_INET6, socket.IPPROTO_ICMPV6, ("2001:db8::1", 0)))
attempt("raw4", lambda: raw(socket.AF_INET, socket.IPPROTO_UDP))
attempt("raw6", lambda: raw(socket.AF_INET6, socket.IPPROTO_UDP))
attempt("sctp", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132).close())
attempt("nfnetlink", lambda: socket.socket(16, socket.SOCK_RAW, 12).close())
attempt("delete-address", lambda: address(21))
for port in (1, 53, 3128): attempt("listen-%d" % port, lambda: bind(socket.SOCK_STREAM, port))
attempt("dns-53", lambda: bind(socket.SOCK_DGRAM, 53))
`;

/** Names and addresses that must never get past the gateway's answer. */
const deny = { code: "denied", message: "no rule allows it" } as const;

describe("N1 a sandbox with a captured network", () => {
  describe.each(actors)("as $name", (actor) => {
    let listeners: Listeners;
    beforeAll(async () => {
      listeners = await Listeners.start(actor);
    });
    afterAll(async () => {
      await listeners[Symbol.asyncDispose]();
    });
    leavesNothingBehind();

    async function inside(fields: PolicyFields, egress: LoopbackEgress, argv: readonly string[]) {
      const sandbox = await Subject.boot(backendOf(actor), { fields: { "net.egress": "on", ...fields }, egress });
      try {
        return await sandbox.run(argv);
      } finally {
        await sandbox.kill();
      }
    }

    /** Each listener, other ways to write its address, and addresses that a route of the host's might lead to. */
    function targets(): readonly Target[] {
      const more = listeners.targets.flatMap(([kind, , port]): Target[] => {
        if (kind === "tcp4")
          return [
            ["tcp4", "127.9.9.9", port],
            ["tcp4", "0.0.0.0", port],
            ["tcp4", "198.18.0.1", port],
            ["tcp4", "198.18.5.5", port],
            ["tcp4", "169.254.169.254", port],
            ["tcp6", "::ffff:127.0.0.1", port],
          ];
        return kind === "tcp6"
          ? [
              ["tcp6", "::", port],
              ["tcp6", "fd61:6b6e:6c00::5", port],
            ]
          : [];
      });
      return [...listeners.targets, ...more];
    }

    it.each([
      ["moderate", {}],
      ["without root", { "proc.noRoot": true, "proc.capabilities": "none" }],
      ["with the strict list", { "proc.seccomp": "strict" }],
    ] as const)("reaches none of the host's listeners, whatever way it tries (%s)", async (_how, fields) => {
      const outside = await runOutside(actor, ["python3", "-c", REACH, JSON.stringify(listeners.targets)]);
      expect(reached(outside.stdout), outside.stdout).toHaveLength(listeners.targets.length);
      const egress = new LoopbackEgress({}, () => deny);
      const ran = await inside(fields, egress, ["python3", "-c", REACH, JSON.stringify(targets())]);
      expect(ran.stdout.trim().split("\n")).toHaveLength(targets().length);
      expect(reached(ran.stdout)).toEqual([]);
      expect(ran.stdout).not.toContain("timeout");
      // Of all these only the one address that is of the outside was even asked about.
      expect(egress.targets).toEqual([expect.objectContaining({ address: "169.254.169.254" })]);
    });

    it("speaks nothing but TCP and names, and changes neither rules nor listeners", async () => {
      const ran = await inside({}, new LoopbackEgress({}, () => deny), ["python3", "-c", OTHER]);
      const results = Object.fromEntries(
        ran.stdout
          .trim()
          .split("\n")
          .map((line) => line.split(" ")),
      );
      expect(Object.keys(results)).toHaveLength(11);
      expect(Object.entries(results).filter(([, errno]) => errno === "0")).toEqual([]);
    });

    it("leaves a command no descriptor of the network's", async () => {
      const list = `ls -l /proc/self/fd | grep -c socket; tr '\\0' ' ' </proc/1/cmdline; readlink /proc/1/fd/4 || echo unreadable`;
      const ran = await inside({}, new LoopbackEgress({}, () => deny), ["sh", "-c", list]);
      expect(ran.stdout).toBe("0\nak-guest captured unreadable\n");
    });

    it("gets nothing out where the session has no gateway", async () => {
      const sandbox = await Subject.boot(backendOf(actor), { fields: { "net.egress": "on" } });
      try {
        const ran = await sandbox.run(["python3", "-c", REACH, JSON.stringify([["tcp4", "192.0.2.1", 80]])]);
        expect(ran.stdout).toBe("tcp4 192.0.2.1 104\n");
        expect((await sandbox.sh("getent hosts example.com")).code).toBe(2);
      } finally {
        await sandbox.kill();
      }
    });
  });
});
