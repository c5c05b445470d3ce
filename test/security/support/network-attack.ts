/**
 * Attacks on the network: one program that tries every destination in every way, run directly on the host's side of a
 * world and inside a sandbox there, and what the audit log says about it afterwards.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AuditedDecision } from "../../../src/audit/events.js";
import type { Actor } from "../../support/actors.js";
import { chosenBackend } from "../../support/chosen-backend.js";
import type { NetworkWorld } from "../../support/network-world.js";
import type { CliOptions, CliResult } from "../../support/run-cli.js";

/** `direct` is a plain connection (captured, inside); the others go through the proxy that a sandbox has. */
type Way = "direct" | "connect" | "absolute" | "socks-name" | "socks-address";

/** On gvisor nothing is captured: there is no other way than the proxy. */
const isCaptured = chosenBackend?.name !== "gvisor";

export const ways: readonly Way[] = [
  ...(isCaptured ? (["direct"] as const) : []),
  ...(["connect", "absolute", "socks-name", "socks-address"] as const),
];

/** Of a program that knows nothing of a proxy, where such a one gets out. */
export const usualWay: Way = isCaptured ? "direct" : "connect";

/** `host` is written as an attacker would; `said` is the Host of the request, the same where absent. */
export type Attempt = readonly [way: Way, host: string, port: number, said?: string];

/** Prints a line of JSON for each attempt of its first argument: [way, host, the answer's first bytes or the error]. */
const TRY = `
import json, socket, struct, sys
def read(s, count):
    data = b""
    while len(data) < count:
        part = s.recv(count - len(data))
        if not part: raise OSError("ended early")
        data += part
    return data
def proxy():
    s = socket.create_connection(("127.0.0.1", 3128), 8)
    return s
def authority(host, port):
    return ("[%s]:%d" if ":" in host else "%s:%d") % (host, port)
def dial(way, host, port):
    if way == "direct": return socket.create_connection((host, port), 8)
    s = proxy()
    if way == "absolute": return s
    if way == "connect":
        s.sendall(("CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % ((authority(host, port),) * 2)).encode())
        head = b""
        while b"\\r\\n\\r\\n" not in head:
            part = s.recv(1)
            if not part: break
            head += part
        if b" 200 " not in head.split(b"\\r\\n")[0]: raise OSError("proxy: " + head.split(b"\\r\\n")[0].decode())
        return s
    s.sendall(bytes([5, 1, 0]))
    read(s, 2)
    if way == "socks-name": to = bytes([3, len(host)]) + host.encode()
    elif ":" in host: to = bytes([4]) + socket.inet_pton(socket.AF_INET6, host)
    else: to = bytes([1]) + socket.inet_aton(host)
    s.sendall(bytes([5, 1, 0]) + to + struct.pack(">H", port))
    reply = read(s, 10)
    if reply[1]: raise OSError("socks: %d" % reply[1])
    return s
def attempt(way, host, port, said=None):
    with dial(way, host, port) as s:
        said = said or authority(host, port)
        target = "http://" + authority(host, port) + "/" if way == "absolute" else "/"
        s.sendall(("GET %s HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n" % (target, said)).encode())
        answer = b""
        while True:
            part = s.recv(65536)
            if not part: return answer
            answer += part
for one in json.loads(sys.argv[1]):
    try: result = attempt(*one).decode("latin1")
    except (OSError, UnicodeError) as e: result = "error: %s" % e
    print(json.dumps([one[0], one[1], result]), flush=True)
`;

interface Tried {
  readonly way: string;
  readonly host: string;
  /** A server answered with success. */
  readonly reached: boolean;
  readonly answer: string;
}

function parseTried(ran: CliResult): readonly Tried[] {
  const lines = ran.stdout.split("\n").filter((line) => line.startsWith("["));
  return lines.map((line) => {
    const [way = "", host = "", answer = ""] = JSON.parse(line) as readonly string[];
    return { way, host, reached: answer.startsWith("HTTP/1.1 200 "), answer };
  });
}

export async function tryOutside(world: NetworkWorld, actor: Actor, attempts: readonly Attempt[]) {
  return parseTried(await world.runOutside(actor, ["/usr/bin/python3", "-c", TRY, JSON.stringify(attempts)]));
}

/** A run in the world, and its own audit log. */
interface Inside {
  readonly ran: CliResult;
  readonly tried: readonly Tried[];
  readonly decisions: readonly AuditedDecision[];
  /** Everything in the audit log, as text. */
  readonly log: string;
}

export async function tryInside(
  world: NetworkWorld,
  actor: Actor,
  options: readonly string[],
  attempts: readonly Attempt[],
): Promise<Inside> {
  const inside = await runInside(world, actor, options, ["/usr/bin/python3", "-c", TRY, JSON.stringify(attempts)]);
  if (inside.tried.length !== attempts.length) throw new Error(`not all was tried: ${JSON.stringify(inside.ran)}`);
  return inside;
}

export async function runInside(
  world: NetworkWorld,
  actor: Actor,
  options: readonly string[],
  argv: readonly string[],
  { env, ...more }: CliOptions = {},
): Promise<Inside> {
  const state = actor.folder("state");
  const words = ["run", "--workspace", "none", "--workdir", "/", ...options, ...argv];
  const ran = await world.runCli(actor, words, { ...more, env: { ...env, XDG_STATE_HOME: state } });
  const log = auditLog(state);
  return { ran, tried: parseTried(ran), decisions: decisionsIn(log), log };
}

export function auditLog(state: string): string {
  return readdirSync(join(state, "agentkernel", "audit"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("");
}

function decisionsIn(log: string): readonly AuditedDecision[] {
  const lines = log.split("\n").filter((line) => line.startsWith("{"));
  return lines
    .map((line) => JSON.parse(line) as AuditedDecision & { readonly type: string })
    .filter((record) => record.type === "egress");
}

/** What was denied: "asked:port". */
export function denied(decisions: readonly AuditedDecision[]): readonly string[] {
  return decisions.filter((one) => one.verdict === "denied").map(({ asked, port }) => `${asked}:${port}`);
}

export const notReached = (tried: readonly Tried[]) =>
  tried.filter((one) => one.reached).map(({ way, host }) => `${way} ${host}`);
