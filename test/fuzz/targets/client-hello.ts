/** What a TLS client sends first, as the gateway reads it. */
import type { Buffer } from "node:buffer";
import { parseClientHello } from "../../../src/egress/peek/client-hello.js";

export function run(data: Buffer): void {
  const hello = parseClientHello(data);
  if (typeof hello === "string") return;
  if (hello.serverName !== null && !data.includes(hello.serverName, 0, "latin1")) throw new Error("an invented name");
}
