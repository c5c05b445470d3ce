/**
 * TCP ports of this machine that belong to agentkernel: listeners of ours, and the local ports from which a gateway has
 * dialled for a sandbox. A port is marked by an abstract Unix socket bound by name. The kernel keeps those names per
 * network namespace, as it keeps ports, and drops them with the process that bound them, so no mark is ever stale or
 * missing, whichever process and state directory it came from. Where the kernel has no abstract sockets, only the ports
 * of this process are known.
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";

type PortKind = "listener" | "dialled";

export interface PortMark {
  release(): void;
}

interface ListenOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

const PREFIX = "agentkernel-port";
const NAME = new RegExp(` @${PREFIX}-([a-z]+-\\d+)-[0-9a-f]{12}@*$`, "gm");
const hasAbstractSockets = process.platform === "linux";
const RANDOM_PORT_ATTEMPTS = 16;

/** Marks of this process, counted by kind and port. */
const own = new Map<string, number>();

/** Marked when it resolves. */
export async function markPort(kind: PortKind, port: number): Promise<PortMark> {
  const key = `${kind}-${port}`;
  const server = hasAbstractSockets ? await bindName(`${PREFIX}-${key}-${randomBytes(6).toString("hex")}`) : null;
  own.set(key, (own.get(key) ?? 0) + 1);
  let isHeld = true;
  return {
    release: () => {
      if (!isHeld) return;
      isHeld = false;
      server?.close();
      const left = (own.get(key) ?? 1) - 1;
      if (left > 0) own.set(key, left);
      else own.delete(key);
    },
  };
}

/** Whether any process of this network namespace has marked it. Rejects where that cannot be known. */
export async function isMarked(kind: PortKind, port: number): Promise<boolean> {
  const key = `${kind}-${port}`;
  if (own.has(key)) return true;
  return hasAbstractSockets && (await marks.now()).has(key);
}

/**
 * Listens, with the port marked before the first connection can arrive and until the last one has ended: whoever has
 * connected and then finds no mark is not connected to us. Returns the port.
 */
export async function listenMarked(server: Server, options: ListenOptions): Promise<number> {
  if (options.port !== 0) return await listenOnMarked(server, options);
  for (let attempt = 1; ; attempt++) {
    const port = await freePort(options.host);
    try {
      return await listenOnMarked(server, { ...options, port });
    } catch (error) {
      // Another process has taken the port meanwhile.
      const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
      if (!isTaken || attempt >= RANDOM_PORT_ATTEMPTS) throw error;
    }
  }
}

async function listenOnMarked(server: Server, options: ListenOptions): Promise<number> {
  const mark = await markPort("listener", options.port);
  try {
    await listen(server, options);
  } catch (error) {
    mark.release();
    throw error;
  }
  server.once("close", mark.release);
  return options.port;
}

/** Found by listening for a moment; connections are closed unheard. */
async function freePort(host: string): Promise<number> {
  const probe = createServer((socket) => socket.destroy());
  await listen(probe, { host, port: 0 });
  const { port } = probe.address() as AddressInfo;
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  return port;
}

function listen(server: Server, { host, port }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(error);
    server.once("error", fail);
    server.listen({ host, port, exclusive: true }, () => {
      server.off("error", fail);
      resolve();
    });
  });
}

function bindName(name: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", reject);
    server.listen({ path: `\0${name}`, exclusive: true }, () => {
      server.unref();
      resolve(server);
    });
  });
}

/** Marks in /proc/net/unix, where an abstract name begins with @ and its unused bytes are shown as @, too. */
export function marksIn(table: string): ReadonlySet<string> {
  return new Set([...table.matchAll(NAME)].map(([, key = ""]) => key));
}

/** One reading of the table serves all who asked before it began: its length is for others to choose. */
export class SharedReading<T> {
  readonly #read: () => Promise<T>;
  #reading: Promise<T> | null = null;
  #next: Promise<T> | null = null;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  /** As it is at some moment from now on. A reading that has begun already may lack what has just come. */
  now(): Promise<T> {
    this.#next ??= this.#after(this.#reading);
    return this.#next;
  }

  async #after(earlier: Promise<T> | null): Promise<T> {
    await earlier?.catch(() => {});
    this.#reading = this.#next;
    this.#next = null;
    return await this.#read();
  }
}

const marks = new SharedReading(async () => marksIn(await readFile("/proc/net/unix", "latin1")));
