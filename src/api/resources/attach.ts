/** A terminal in a sandbox over a WebSocket: bytes both ways, and a few words of JSON about its size and its end. */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { exitStatus } from "../../runtime/command-end.js";
import type { SandboxExec } from "../../runtime/sandboxes/index.js";
import { type ApiCall, type Backing, type HandlerFor, sandboxFor } from "../call.js";
import { timeWithin } from "../commands/key-limits.js";
import type { attach as attachOperation } from "../operations/execs.js";
import { parseJson } from "../schema/json-text.js";
import { field, object } from "../schema/object-shape.js";
import { choice, type ValueOf, whole } from "../schema/shapes.js";
import type { WebSocket } from "../websocket.js";
import { hostEnvFor } from "./sandboxes.js";

const PING_MS = 30_000;
/** As the standard has them: all is well; what was sent makes no sense; a fault on our side. */
const CLOSE = { normal: 1000, nonsense: 1007, fault: 1011 } as const;

/** A shell that most images have, or the one that all have. */
const SHELL = ["sh", "-c", "command -v bash >/dev/null && exec bash; exec sh"];

const resize = object({
  type: field(choice(["resize"]), "What it is about."),
  cols: field(whole({ min: 1, max: 1000 }), "Width."),
  rows: field(whole({ min: 1, max: 1000 }), "Height."),
});

export type AttachQuery = ValueOf<NonNullable<(typeof attachOperation)["query"]>>;
export type AttachCall = Pick<ApiCall<unknown, AttachQuery>, "caller" | "params" | "query" | "signal">;

/** Over plain HTTP there is no terminal. */
export const attach: HandlerFor<"attach"> = async ({ caller, params }, backing) => {
  sandboxFor(caller, backing, params.name);
  throw new AgentKernelError("invalid_argument", "a terminal needs a WebSocket", {
    hint: "ask with Connection: Upgrade and Upgrade: websocket",
    details: { field: "Upgrade" },
  });
};

/** Resolves when the terminal is closed. Rejects, before the connection is a WebSocket, where there can be none. */
export async function serveTerminal(
  asked: AttachCall,
  backing: Backing,
  { request, socket, head }: { readonly request: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
): Promise<void> {
  const { caller, params, query, signal } = asked;
  const sandbox = sandboxFor(caller, backing, params.name);
  const { hostEnv } = hostEnvFor(caller, backing);
  await backing.places.at(caller, signal, async () => {
    if (sandbox.state === "created" || sandbox.state === "stopped") await sandbox.start({ hostEnv, signal });
    const exec = await sandbox.exec({
      argv: query.command === undefined ? SHELL : [query.command],
      hostEnv,
      stdin: false,
      tty: { cols: query.cols ?? 80, rows: query.rows ?? 24 },
      timeoutMs: timeWithin(caller, { asked: undefined, own: sandbox.record.policy.resources.timeoutMs, usual: null }),
      detached: false,
    });
    backing.places.charge(caller, exec.guest);
    try {
      await exec.guest.opened;
      const { acceptWebSocket } = await import("../websocket.js");
      await relay(await acceptWebSocket(request, socket, head), exec, signal);
    } finally {
      exec.abandon();
    }
  });
}

async function relay(ws: WebSocket, exec: SandboxExec, signal: AbortSignal): Promise<void> {
  const { guest } = exec;
  const over = new Promise<void>((resolve) => ws.once("close", () => resolve()));
  const stopPings = keepAlive(ws);
  const abort = () => ws.terminate();
  signal.addEventListener("abort", abort, { once: true });
  ws.on("error", () => ws.terminate());
  ws.on("message", (message: Buffer, isBinary: boolean) => take(message, isBinary));
  guest.onDrain(() => ws.resume());
  const flushed = new Promise<void>((resolve) =>
    guest.onOutput(1, {
      // The bytes are lent until they are sent, so a slow reader holds the terminal's programs back.
      write: (chunk, done) => ws.send(chunk, { binary: true }, () => done()),
      end: () => resolve(),
    }),
  );
  try {
    const end = await Promise.race([exec.wait.end, over]);
    if (end === undefined) return;
    await Promise.race([flushed, over]);
    ws.send(JSON.stringify({ type: "exit", code: exitStatus(end) }));
    ws.close(CLOSE.normal);
    await over;
  } catch (error) {
    ws.close(CLOSE.fault, isAgentKernelError(error) ? error.code : "internal");
    await over;
  } finally {
    stopPings();
    signal.removeEventListener("abort", abort);
  }

  function take(message: Buffer, isBinary: boolean): void {
    if (isBinary) {
      if (!guest.writeStdin(Buffer.from(message))) ws.pause();
      return;
    }
    try {
      const { cols, rows } = resize.read(parseJson(message), "");
      guest.resize({ cols, rows });
    } catch (error) {
      ws.close(CLOSE.nonsense, isAgentKernelError(error) ? error.message.slice(0, 100) : "internal");
    }
  }
}

/** Who does not answer is gone, and so is their terminal. */
function keepAlive(ws: WebSocket): () => void {
  let isAlive = true;
  ws.on("pong", () => {
    isAlive = true;
  });
  const timer = setInterval(() => {
    if (!isAlive) {
      ws.terminate();
      return;
    }
    isAlive = false;
    ws.ping();
  }, PING_MS);
  return () => clearInterval(timer);
}
