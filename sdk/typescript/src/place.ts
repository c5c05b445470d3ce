/** Which server is asked, and how it is reached. */
import { AgentKernelError } from "./errors.js";
import { type Fetch, FetchTransport } from "./fetch-transport.js";
import type { Transport } from "./transport.js";

const DEFAULT_URL = "http://localhost:8080";

export interface PlaceOptions {
  readonly baseUrl?: string | undefined;
  readonly fetch?: Fetch | undefined;
}

export function environment(name: string): string | undefined {
  const value = typeof process === "undefined" ? undefined : process.env?.[name];
  return value === "" ? undefined : value;
}

export interface Place {
  readonly transport: Transport;
  /** What stands for the user there where no key is given. Read for each request: a server makes a new one when it starts. */
  readonly localToken: () => string | undefined;
}

/** What is said outright, else AGENTKERNEL_BASE_URL, else the socket of the user's daemon if there is one, else localhost:8080. */
export async function openPlace({ baseUrl, fetch: given }: PlaceOptions): Promise<Place> {
  const named = baseUrl ?? environment("AGENTKERNEL_BASE_URL");
  const node = isNode() ? await import("./node/index.js") : null;
  const socket = named === undefined && given === undefined ? (node?.daemonSocket(process.env) ?? null) : null;
  const place = socket === null ? checked(named ?? DEFAULT_URL) : `unix://${encodeURI(socket)}`;
  if (place.startsWith("unix:")) {
    if (node === null) throw new AgentKernelError("Unix sockets can only be used from Node, Bun or Deno");
    return { transport: new node.NodeTransport(place), localToken: () => undefined };
  }
  const transport =
    given === undefined && node !== null && !isBunOrDeno()
      ? new node.NodeTransport(place)
      : new FetchTransport(place, given ?? globalThis.fetch.bind(globalThis));
  return { transport, localToken: () => node?.localToken(place, process.env) };
}

/** Starts the user's daemon unless it is up. The URL of its socket. */
export async function localUrl(program = environment("AGENTKERNEL_PROGRAM") ?? "agentkernel"): Promise<string> {
  if (!isNode()) throw new AgentKernelError("a daemon can only be started from Node, Bun or Deno");
  const { startLocalDaemon } = await import("./node/index.js");
  return await startLocalDaemon(program);
}

function checked(place: string): string {
  let url: URL;
  try {
    url = new URL(place);
  } catch (cause) {
    throw new AgentKernelError(`the base URL ${JSON.stringify(place)} is not an address: ${expected}`, { cause });
  }
  if (!["http:", "https:", "unix:"].includes(url.protocol) || (url.protocol === "unix:" && url.host !== "")) {
    throw new AgentKernelError(`the base URL ${JSON.stringify(place)} is of no kind that is known: ${expected}`);
  }
  return place.replace(/\/+$/, "");
}

const expected = "give http://host:port, https://host:port or unix:///path/to/socket";

function isNode(): boolean {
  return typeof process !== "undefined" && process.versions?.node !== undefined;
}

function isBunOrDeno(): boolean {
  return "Bun" in globalThis || "Deno" in globalThis;
}
