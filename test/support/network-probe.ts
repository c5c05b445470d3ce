/** Looks from inside a sandbox at what can be reached: an HTTP request to each place, without any proxy. */
import { expect } from "vitest";
import type { Actor } from "./actors.js";
import type { NetworkWorld } from "./network-world.js";

const LOOK = `
import json, socket, sys
found = {}
for place in json.loads(sys.stdin.read()):
    host, _, port = place.rpartition("|")
    try:
        with socket.create_connection((host, int(port)), timeout=20) as s:
            s.sendall(f"GET / HTTP/1.0\\r\\nHost: {host}\\r\\n\\r\\n".encode())
            answer = b""
            while chunk := s.recv(65536): answer += chunk
        head, _, body = answer.decode().partition("\\r\\n\\r\\n")
        found[host] = json.loads(body)["address"] if head.startswith("HTTP/1.1 200") else "answered: " + head[:60]
    except OSError as error:
        found[host] = "no"
print(json.dumps(found))
`;

interface Probe {
  /** By host: the address of the world at which the request arrived, or "no". */
  readonly found: Readonly<Record<string, string>>;
  /** Hosts that the run said were blocked. */
  readonly blocked: readonly string[];
  readonly ms: number;
}

/** `hosts`: names and addresses; each is asked on port 80. */
export async function probe(
  world: NetworkWorld,
  actor: Actor,
  words: readonly string[],
  hosts: readonly string[],
  cwd = actor.folder(),
): Promise<Probe> {
  const began = performance.now();
  const result = await world.runCli(actor, ["run", ...words, "--json", "--", "python3", "-c", LOOK], {
    cwd,
    stdin: JSON.stringify(hosts.map((host) => `${host}|80`)),
  });
  expect(result.status, `${result.stdout}\n${result.stderr}`).toBe(0);
  const { data } = JSON.parse(result.stdout) as {
    data: { stdout: string; network: { blocked: readonly { host: string }[] } };
  };
  const blocked = [...new Set(data.network.blocked.map(({ host }) => host))];
  return { found: JSON.parse(data.stdout), blocked, ms: performance.now() - began };
}

/** What a probe finds where every one of these hosts is out of reach. */
export function none(hosts: readonly string[]): Record<string, string> {
  return Object.fromEntries(hosts.map((host) => [host, "no"]));
}

/** What it finds where each of these hosts is reached at that address. */
export function reachedAt(address: string, hosts: readonly string[]): Record<string, string> {
  return Object.fromEntries(hosts.map((host) => [host, address]));
}
