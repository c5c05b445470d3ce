/** Who is at the other end of a TCP connection, as far as the connection itself tells. */
import type { Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { isMarked } from "../../core/own-ports.js";

/**
 * Whether a gateway of ours has dialled it for a sandbox. A gateway marks its port before it sends the first byte, and
 * this is asked after the first bytes have come.
 */
export async function isGateway({ remoteAddress, remotePort, localAddress }: Socket): Promise<boolean> {
  if (remoteAddress === undefined || remotePort === undefined) return false;
  if (!(await isMarked("dialled", remotePort))) return false;
  // The same number may be a port of another machine.
  return remoteAddress === localAddress || isLoopback(remoteAddress) || isOwnAddress(remoteAddress);
}

function isOwnAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, "").replace(/%.*$/, "");
  return Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === plain));
}

export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && (/^(::ffff:)?127\./.test(address) || address === "::1");
}
