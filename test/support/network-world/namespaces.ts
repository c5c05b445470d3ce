/**
 * Two network namespaces joined by a cable, each held by a process and gone with it: `host`, in which the command line
 * runs, and `world`, on whose loopback lie the addresses that it might reach. Neither has a route anywhere else.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { join } from "node:path";

/** Public values: an address of the host's own is refused although nothing else is wrong with it. */
export const HOST_ADDRESSES = ["45.60.1.2", "2600:9000:1::2"] as const;
const WORLD_ENDS = ["45.60.1.1", "2600:9000:1::1"] as const;
export const NAME_SERVER = "9.9.9.9";

export interface HostNamespace {
  readonly child: ChildProcess;
  readonly pid: number;
}

/** Holds its own files of name resolution as well, in a mount namespace. `folder` keeps them. */
export async function makeHost(folder: string): Promise<HostNamespace> {
  const files = {
    "resolv.conf": `nameserver ${NAME_SERVER}\noptions timeout:2 attempts:1\n`,
    hosts: "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
  };
  const mounts = Object.entries(files).map(([name, text]) => {
    writeFileSync(join(folder, name), text, { mode: 0o644 });
    return `mount --bind '${join(folder, name)}' /etc/${name}`;
  });
  const script = [...mounts, "ip link set lo up", "echo ready", "exec cat"].join(" && ");
  const words = ["--net", "--mount", "--propagation", "private", "sh", "-c", script];
  const child = spawn("unshare", words, { stdio: ["pipe", "pipe", "pipe"] });
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => {
    complaint += String(chunk);
  });
  const ended = once(child, "exit").then(() => {
    throw new Error(`the namespace of the host was not made: ${complaint}`);
  });
  await Promise.race([once(child.stdout, "data"), ended]);
  ended.catch(() => {});
  if (child.pid === undefined) throw new Error("unshare has no process id");
  return { child, pid: child.pid };
}

/** Lays the cable, and gives the world its addresses. */
export function joinNamespaces(hostPid: number, worldPid: number, addresses: readonly string[]): void {
  const [host4, host6] = HOST_ADDRESSES;
  const [world4, world6] = WORLD_ENDS;
  inNamespace(hostPid, [
    `link add cable type veth peer name outside netns ${worldPid}`,
    `addr add ${host4}/30 dev cable`,
    `addr add ${host6}/64 dev cable nodad`,
    "link set cable up",
  ]);
  inNamespace(worldPid, [
    "link set lo up",
    `addr add ${world4}/30 dev outside`,
    `addr add ${world6}/64 dev outside nodad`,
    "link set outside up",
    ...addresses.map((one) => `addr add ${isIPv6(one) ? `${one}/128 dev lo nodad` : `${one}/32 dev lo`}`),
  ]);
  inNamespace(hostPid, [`route add default via ${world4} dev cable`, `route add ::/0 via ${world6} dev cable`]);
}

function inNamespace(pid: number, commands: readonly string[]): void {
  const words = [`--net=/proc/${pid}/ns/net`, "ip", "-batch", "-"];
  execFileSync("nsenter", words, { input: `${commands.join("\n")}\n`, stdio: ["pipe", "pipe", "pipe"] });
}
