/**
 * Keeps a sandbox from agentkernel's own listeners on this machine: the HTTP interface would take the gateway for a
 * process of the user's, and published ports lead into other sandboxes. No rule of a policy opens them. What counts is
 * the connection that was made, not the address that was asked for, and nothing is sent on it before it is judged.
 */
import type { Socket } from "node:net";
import { type Address, parseAddress } from "../core/address/address.js";
import { whyNotPublic } from "../core/address/non-public.js";
import { isMarked, markPort, type PortMark } from "../core/own-ports.js";
import { EgressFailure } from "./failure.js";

const OWN_LISTENER = "a port on which agentkernel itself listens";

/**
 * Rejects, with the socket destroyed, where one of our listeners is at its other end. The local port of any other
 * connection that may end on this machine is marked, so that a listener of ours that is reached in a way that cannot be
 * seen from here (a redirect of the kernel's) knows who asks. The caller releases the mark when the connection has ended:
 * the socket does not tell, since its handle may be moved to another.
 */
export async function refuseOwnListener(socket: Socket, own: ReadonlySet<string>): Promise<PortMark | null> {
  const { remoteAddress, remotePort, localPort } = socket;
  const remote = remoteAddress === undefined ? null : parseAddress(remoteAddress.replace(/%.*$/, ""));
  if (remote === null || remotePort === undefined || localPort === undefined) return null;
  const isOwn = isOfThisMachine(remote, own) || remoteAddress === socket.localAddress;
  if (!isOwn && whyNotPublic(remote) === null) return null;
  try {
    if (isOwn && (await isMarked("listener", remotePort))) throw new EgressFailure("denied", OWN_LISTENER);
    const mark = await markPort("dialled", localPort);
    socket.once("close", mark.release);
    return mark;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** The same for what is dialled by the user's own proxy, whose connections are not seen here. */
export async function refuseOwnPort(address: Address, port: number, own: ReadonlySet<string>): Promise<void> {
  if (!isOfThisMachine(address, own) || !(await isMarked("listener", port))) return;
  throw new EgressFailure("denied", OWN_LISTENER);
}

function isOfThisMachine(address: Address, own: ReadonlySet<string>): boolean {
  const why = whyNotPublic(address);
  return own.has(address.text) || /^(?:loopback|unspecified)\b/.test(why ?? "");
}
