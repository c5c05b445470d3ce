/**
 * Hands this process's command line to the client, which hands it to the daemon. Node cannot become another program, so
 * this process stays: the client has its streams and its terminal, and gets the signals that it gets. They share a
 * group, so the client counts a signal only when it comes from here (native/client/src/relay.rs).
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { nativeBinary } from "../core/native-binary.js";
import type { HostEnvironment } from "../core/state-folders.js";

const DECLINED_FD = 3;
const PASSED_ON = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGCONT"] as const;

export type RelayEnd =
  | { readonly how: "status"; readonly status: number }
  | { readonly how: "signal"; readonly signal: number }
  /** The daemon does not serve it; nothing was read or written. */
  | { readonly how: "declined"; readonly reason: string };

export async function relay(words: readonly string[], env: HostEnvironment): Promise<RelayEnd> {
  const child = spawn(nativeBinary("ak-client"), words, {
    env: { ...env, AGENTKERNEL_RELAY: `${process.pid}:${DECLINED_FD}` },
    stdio: ["inherit", "inherit", "inherit", "pipe"],
  });
  const stop = passSignals((name) => child.kill(name));
  let told = "";
  child.stdio[DECLINED_FD]?.on("data", (chunk: Buffer) => {
    told += String(chunk);
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

/** A signal that was ignored when this process started stays ignored. */
function passSignals(pass: (name: NodeJS.Signals) => void): () => void {
  const ignored = ignoredSignals();
  const taken = PASSED_ON.filter((name) => !ignored.has(constants.signals[name]));
  for (const name of taken) process.on(name, pass);
  const pause = () => {
    pass("SIGTSTP");
    // By the usual effect of the signal, which knows whether there is a shell that could continue this.
    process.off("SIGTSTP", pause);
    process.kill(process.pid, "SIGTSTP");
    process.on("SIGTSTP", pause);
  };
  if (!ignored.has(constants.signals.SIGTSTP)) process.on("SIGTSTP", pause);
  return () => {
    for (const name of taken) process.off(name, pass);
    process.off("SIGTSTP", pause);
  };
}

function ignoredSignals(): ReadonlySet<number> {
  const mask = BigInt(`0x${/^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1] ?? "0"}`);
  return new Set(Object.values(constants.signals).filter((number) => (mask >> BigInt(number - 1)) & 1n));
}

function reasonIn(told: string): string {
  const body = told.slice(told.indexOf("\r\n\r\n") + 4);
  return /"message":"([^"]*)"/.exec(body)?.[1] ?? "it gave no answer";
}
