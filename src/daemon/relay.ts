/**
 * Hands this process's command line to the client, which hands it to the daemon. Node cannot become another program, so
 * this process stays. The client has its streams and its terminal; signals that come here are passed on over a socket,
 * and the client, which is in the same group, leaves all others of their kind alone (native/client/src/relay.rs).
 */
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { distFolder } from "../core/build-id.js";
import { nativeBinary } from "../core/native-binary.js";
import type { HostEnvironment } from "../core/state-folders.js";
import { commandSignals, endingSignals } from "../invocation/index.js";

const SOCKET_FD = 3;
const PASSED_ON = [...endingSignals, ...commandSignals];

type RelayEnd =
  | { readonly how: "status"; readonly status: number }
  | { readonly how: "signal"; readonly signal: number }
  /** The daemon does not serve it; nothing was read or written. */
  | { readonly how: "declined"; readonly reason: string };

/** Where the client does not get this process's own stdin and stdout, but those that are connected here. */
type ConnectStreams = (stdin: Writable, stdout: Readable) => void;

export async function relay(
  words: readonly string[],
  env: HostEnvironment,
  connect?: ConnectStreams,
): Promise<RelayEnd> {
  const own = connect === undefined ? "inherit" : "pipe";
  const child = spawn(nativeBinary("ak-client"), words, {
    env: { ...env, AGENTKERNEL_DIST: distFolder(), AGENTKERNEL_RELAY: `${process.pid}:${SOCKET_FD}` },
    stdio: [own, own, "inherit", "pipe"],
  });
  if (connect !== undefined && child.stdin !== null && child.stdout !== null) connect(child.stdin, child.stdout);
  const socket = child.stdio[SOCKET_FD] as Socket;
  // The client's end tells.
  socket.on("error", () => {});
  let told = "";
  socket.on("data", (chunk: Buffer) => {
    told += String(chunk);
  });
  const stop = passSignals({
    tell: (name) => void socket.write(Buffer.from([constants.signals[name]])),
    // One that is stopped reads nothing.
    wake: () => void child.kill("SIGCONT"),
  });
  try {
    return await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (status, signal) => {
        if (told.startsWith("declined\n")) resolve({ how: "declined", reason: reasonIn(told) });
        else if (signal !== null) resolve({ how: "signal", signal: constants.signals[signal] });
        else resolve({ how: "status", status: status ?? 0 });
      });
    });
  } finally {
    stop();
  }
}

interface Passing {
  tell(name: NodeJS.Signals): void;
  wake(): void;
}

function passSignals({ tell, wake }: Passing): () => void {
  const pause = () => {
    tell("SIGTSTP");
    // By the usual effect of the signal, which knows whether there is a shell that could continue this.
    process.off("SIGTSTP", pause);
    process.kill(process.pid, "SIGTSTP");
    process.on("SIGTSTP", pause);
  };
  for (const name of PASSED_ON) process.on(name, tell);
  process.on("SIGTSTP", pause);
  process.on("SIGCONT", wake);
  return () => {
    for (const name of PASSED_ON) process.off(name, tell);
    process.off("SIGTSTP", pause);
    process.off("SIGCONT", wake);
  };
}

function reasonIn(told: string): string {
  const body = told.slice(told.indexOf("\r\n\r\n") + 4);
  return /"message":"([^"]*)"/.exec(body)?.[1] ?? "it gave no answer";
}
