/**
 * The host's end of a lazy view: `ak-copy serve`, which answers for one folder with the rights of whoever runs
 * agentkernel. It searches the folder as soon as it is started, and ends when nobody asks any more.
 */
import { spawn } from "node:child_process";
import { type Duplex, pipeline } from "node:stream";
import type { ServeView } from "../core/backend.js";
import { AgentKernelError } from "../core/errors.js";
import { escapeText } from "../core/escape.js";
import { nativeBinary } from "../core/native-binary.js";
import type { HideRule } from "../core/policy.js";

const MAX_WORDS_CHARS = 1 << 16;

export interface LazyView {
  readonly serve: ServeView;
  /** Rejects when it cannot answer; does not settle otherwise. */
  readonly failed: Promise<never>;
  end(): void;
}

export function beginLazyView(path: string, hide: readonly HideRule[]): LazyView {
  const child = spawn(nativeBinary("ak-copy"), ["serve", JSON.stringify({ path, hide })], {
    // An own session: a signal to our process group is not meant for it.
    detached: true,
    env: {},
    stdio: "pipe",
  });
  let words = "";
  let isOver = false;
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(-MAX_WORDS_CHARS);
  });
  // Its end tells.
  for (const stream of [child.stdin, child.stdout]) stream.on("error", () => {});
  const failed = new Promise<never>((_, reject) => {
    child.once("error", (cause) => reject(new AgentKernelError("internal", "ak-copy does not start", { cause })));
    child.once("close", (code) => {
      if (!isOver && code !== 0) reject(failure(words));
    });
  });
  failed.catch(() => {});
  const end = () => {
    isOver = true;
    child.kill("SIGKILL");
  };
  return {
    failed,
    end,
    serve(stream: Duplex) {
      pipeline(stream, child.stdin, () => {});
      pipeline(child.stdout, stream, () => {});
      stream.once("close", end);
    },
  };
}

function failure(words: string): AgentKernelError {
  const line = words.trim().split("\n").at(-1) ?? "";
  return new AgentKernelError(
    "sandbox_start_failed",
    `the project could not be shown: ${escapeText(line.slice(0, 500))}`,
  );
}
