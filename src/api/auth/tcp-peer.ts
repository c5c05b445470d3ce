/**
 * Whose process is at the other end of a TCP connection from this machine to itself. The kernel lists the sockets of this
 * network namespace with their owners; what is not in the list is nobody.
 */
import { isIPv4, type Socket } from "node:net";
import { type Owners, PeerTable } from "./peer-table.js";

export interface Endpoints {
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
}

const table = new PeerTable();

/** The user of the peer, or null where that cannot be known. */
export async function peerUser(socket: Socket): Promise<number | null> {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (localAddress === undefined || localPort === undefined) return null;
  if (remoteAddress === undefined || remotePort === undefined) return null;
  return ownerIn(await table.now(), { localAddress, localPort, remoteAddress, remotePort });
}

/** The peer's own entry: what is our far end is its near end. */
export function ownerIn(owners: Owners, ends: Endpoints): number | null {
  for (const near of encodings(ends.remoteAddress)) {
    for (const far of encodings(ends.localAddress)) {
      const owner = owners.get(`${near}:${portHex(ends.remotePort)} ${far}:${portHex(ends.localPort)}`);
      if (owner !== undefined) return owner;
    }
  }
  return null;
}

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
