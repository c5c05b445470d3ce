/**
 * Whose process is at the other end of a TCP connection from this machine to itself. The kernel lists the sockets of this
 * network namespace with their owners; what is not in the list is nobody.
 */
import { readFileSync } from "node:fs";
import { isIPv4, type Socket } from "node:net";

export interface Endpoints {
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
}

/** The user of the peer, or null where that cannot be known. */
export function peerUser(socket: Socket): number | null {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (localAddress === undefined || localPort === undefined) return null;
  if (remoteAddress === undefined || remotePort === undefined) return null;
  const ends = { localAddress, localPort, remoteAddress, remotePort };
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const user = ownerIn(readTable(table), ends);
    if (user !== null) return user;
  }
  return null;
}

function readTable(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // A kernel without IPv6, or a /proc that shows none of it.
    return "";
  }
}

/** The peer's own entry: what is our far end is its near end. */
export function ownerIn(table: string, ends: Endpoints): number | null {
  const near = encodings(ends.remoteAddress).map((address) => `${address}:${portHex(ends.remotePort)}`);
  const far = encodings(ends.localAddress).map((address) => `${address}:${portHex(ends.localPort)}`);
  for (const line of table.split("\n").slice(1)) {
    const [, local = "", remote = "", state, , , , user, , inode] = line.trim().split(/\s+/);
    if (!near.includes(local) || !far.includes(remote) || state !== ESTABLISHED) continue;
    // A socket that its process has closed belongs to nobody, and kernels list nobody's as root's.
    return inode === undefined || inode === "0" ? null : Number(user);
  }
  return null;
}

const ESTABLISHED = "01";

function portHex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}

/** As the kernel writes an address: 32 bits at a time, in the machine's own order. IPv4 also as IPv6 writes it. */
function encodings(address: string): readonly string[] {
  const plain = address.startsWith("::ffff:") && isIPv4(address.slice(7)) ? address.slice(7) : address;
  if (isIPv4(plain)) {
    const word = plain.split(".").map(Number);
    const hex = hexWord(word);
    return [hex, `0000000000000000${hexWord([0, 0, 0xff, 0xff])}${hex}`];
  }
  return plain === "::1" ? [`${"0".repeat(24)}${hexWord([0, 0, 0, 1])}`] : [];
}

const isLittleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

function hexWord(bytes: readonly number[]): string {
  const ordered = isLittleEndian ? bytes.toReversed() : bytes;
  return ordered
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("")
    .toUpperCase();
}

export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && (/^(::ffff:)?127\./.test(address) || address === "::1");
}
