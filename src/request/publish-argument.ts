/** `--publish [addr:]host:guest`. */
import { isIP } from "node:net";
import { AgentKernelError } from "../core/errors.js";
import type { PublishedPort } from "../runtime/published-ports.js";

const MAX_PORT = 65_535;

export function parsePublished(text: string): PublishedPort {
  const match = /^(?:(\[[0-9A-Fa-f:.]+\]|[0-9.]+):)?(\d{1,5}):(\d{1,5})$/.exec(text);
  const [, address = "127.0.0.1", host = "", guest = ""] = match ?? [];
  const bare = address.replace(/^\[|\]$/g, "");
  const [hostPort, guestPort] = [Number(host), Number(guest)];
  const isFine = match !== null && isIP(bare) !== 0 && hostPort <= MAX_PORT && guestPort > 0 && guestPort <= MAX_PORT;
  if (isFine) return { address: bare, hostPort, guestPort };
  throw new AgentKernelError("invalid_argument", `--publish: "${text}" is not of the form [ADDRESS:]HOST:GUEST`, {
    hint: "for example 8080:80, or 0:80 for any free port; other machines reach it only with an address such as 0.0.0.0:8080:80",
  });
}
