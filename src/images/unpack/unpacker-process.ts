/** The native unpacker's process: started for one order, asked over a descriptor of its own, ended by whoever gives up. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { AgentKernelError, errorCodeOf } from "../../core/errors.js";
import { nativeBinary } from "../../core/native-binary.js";

type UnpackerAnswer = Readonly<Record<string, unknown>>;

interface UnpackerJob {
  readonly verb: "layer" | "disk";
  readonly order: object;
  /** A descriptor that it reads besides. */
  readonly input?: number;
  /** What is said where it was killed. */
  readonly killed: string;
}

const MAX_ANSWER_CHARS = 64 << 10;
/** Only for finding newuidmap and newgidmap. */
const ENVIRONMENT = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };

/** What it answered. Rejects with why it failed. */
export async function askUnpacker(job: UnpackerJob, signal?: AbortSignal): Promise<UnpackerAnswer> {
  const { verb, order, input } = job;
  const child = spawn(nativeBinary("ak-unpack"), [verb], {
    detached: true,
    env: ENVIRONMENT,
    stdio: ["ignore", "ignore", "ignore", "pipe", ...(input === undefined ? [] : [input])],
  });
  const ended = endOf(child);
  if (child.pid === undefined) throw await ended.then(() => notStarted(null), notStarted);
  const control = child.stdio[3] as Socket;
  // The end of its orders ends it.
  const stop = (): void => void control.destroy();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    const answer = readAll(control);
    control.write(`${JSON.stringify(order)}\n`);
    const text = await answer;
    await ended;
    signal?.throwIfAborted();
    return answerIn(text, job);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/** Removes folders of layers, also where their files belong to ids that only a user namespace may touch. */
export async function removeFolders(paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  const child = spawn(nativeBinary("ak-unpack"), ["remove", ...paths], {
    env: ENVIRONMENT,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const said = child.stderr === null ? Promise.resolve("") : readAll(child.stderr);
  const status = await endOf(child).catch((cause: unknown) => Promise.reject(notStarted(cause)));
  if (status === 0) return;
  throw new AgentKernelError("internal", `unpacked layers could not be removed: ${(await said).trim()}`, {
    hint: "look at who owns the files in the image store",
  });
}

/** It was killed, or speaks another language than this build. */
export function wasKilled({ killed }: UnpackerJob, cause?: unknown): AgentKernelError {
  return new AgentKernelError("image_invalid", killed, {
    hint: "the machine may be short of memory; try again",
    ...(cause === undefined ? {} : { cause }),
  });
}

function answerIn(text: string, job: UnpackerJob): UnpackerAnswer {
  let answer: UnpackerAnswer;
  try {
    answer = JSON.parse(text) as UnpackerAnswer;
  } catch (cause) {
    throw wasKilled(job, cause);
  }
  if (answer.event !== "failed") return answer;
  const { code, message, hint } = answer;
  throw new AgentKernelError(errorCodeOf(code), String(message), typeof hint === "string" ? { hint } : {});
}

function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => resolve(code));
    child.once("error", reject);
  });
}

function notStarted(cause: unknown): AgentKernelError {
  return new AgentKernelError("backend_unavailable", "the unpacker could not be started", {
    hint: "the installation may be incomplete: install it again",
    cause,
  });
}

function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      if (text.length < MAX_ANSWER_CHARS) text += chunk;
    });
    // One that is gone has said all that it will say; what that means is judged by the text.
    stream.on("error", () => {});
    stream.once("close", () => resolve(text));
  });
}
