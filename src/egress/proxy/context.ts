/** The part of the gateway that the proxy protocols use. They decide nothing and dial nothing themselves. */
import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import type { OutgoingRefusal } from "../../core/egress.js";
import type { Host, InvalidHost } from "../host.js";
import type { GatewayLimits } from "../limits.js";
import type { Opened } from "../opener.js";

export interface ProxyContext {
  readonly limits: GatewayLimits;
  open(host: Host | InvalidHost, asked: string, port: number, signal: AbortSignal): Promise<Opened | OutgoingRefusal>;
  /** Takes both over. `first`: what the client has sent already. */
  carry(stream: Duplex, opened: Opened, first?: Buffer): void;
}
