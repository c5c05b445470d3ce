/**
 * Two network namespaces joined by a cable: `client`, in which everything that is measured runs, and one with a server
 * (bench/native/origin.c) at an address that looks public, because a gateway lets nothing through to any other. No
 * packet leaves the machine: neither namespace has another way out. Both end with this process.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const native = join(dirname(fileURLToPath(import.meta.url)), "native");
const ORIGIN = "93.184.216.34";
const [NEAR, FAR] = ["93.184.215.1", "93.184.215.2"];
export const BULK_PORT = 80;
export const GREETING_PORT = 81;

let joined;

/** Made once for all figures. */
export function joinedNetworks(folder) {
  joined ??= joinNetworks(folder);
  return joined;
}

async function joinNetworks(folder) {
  const origin = compile(folder, "origin");
  const connectTimes = compile(folder, "connect-times");
  const client = inNewNetwork(["sh", "-c", "echo there && exec cat"]);
  const server = inNewNetwork([
    "sh",
    "-c",
    `ip link set lo up && ip addr add ${ORIGIN}/32 dev lo && exec "$@"`,
    "sh",
    origin,
    ORIGIN,
    String(BULK_PORT),
    String(GREETING_PORT),
  ]);
  // What they say, they say inside.
  await Promise.all([once(client.stdout, "data"), once(server.stdout, "data")]);
  // They end with us, and we do not wait for their end.
  for (const child of [client, server]) {
    for (const one of [child, child.stdin, child.stdout]) one.unref();
  }
  const ip = (pid, ...words) => execFileSync("nsenter", ["-t", String(pid), "-n", "ip", ...words]);
  execFileSync("ip", [
    "link",
    "add",
    "near",
    "netns",
    String(client.pid),
    "type",
    "veth",
    "peer",
    "name",
    "far",
    "netns",
    String(server.pid),
  ]);
  ip(client.pid, "link", "set", "lo", "up");
  ip(client.pid, "addr", "add", `${NEAR}/30`, "dev", "near");
  ip(client.pid, "link", "set", "near", "up");
  ip(server.pid, "addr", "add", `${FAR}/30`, "dev", "far");
  ip(server.pid, "link", "set", "far", "up");
  ip(client.pid, "route", "add", "default", "via", FAR);
  return {
    address: ORIGIN,
    connectTimes,
    /** What runs a command in the client's namespace. */
    inside: ["nsenter", "-t", String(client.pid), "-n"],
  };
}

function compile(folder, name) {
  const binary = join(folder, name);
  execFileSync("cc", ["-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", binary, join(native, `${name}.c`)]);
  return binary;
}

function inNewNetwork(argv) {
  const child = spawn("unshare", ["--net", ...argv], { stdio: ["pipe", "pipe", "inherit"] });
  process.once("exit", () => child.kill("SIGKILL"));
  return child;
}
