/** A sandbox that stops at a point of its command until the test, which may change the host's files, lets it go on. */
import type { Actor } from "../../support/actors.js";
import { startCli } from "../../support/run-cli.js";

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface PausedRun {
  /** Lets the command go on, and waits for its end. */
  finish(): Promise<Ended>;
}

const MARK = "paused-here";

/** In the command: says that the point is reached and waits for a line of input. */
export const PAUSE = `echo ${MARK}; read -r _`;

/** `script` is for `sh` and has PAUSE in it once. Resolves when it is there. */
export async function runToPause(
  actor: Actor,
  flags: readonly string[],
  script: string,
  cwd: string,
): Promise<PausedRun> {
  const child = startCli(actor, ["run", "--no-network", ...flags, "sh", "-c", script], { cwd });
  let stdout = "";
  let stderr = "";
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const paused = new Promise<void>((resolve) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      stdout += chunk.toString();
      if (stdout.includes(MARK)) resolve();
    });
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  await Promise.race([
    paused,
    ended.then((status) => {
      throw new Error(`the sandbox ended (${status}) before its pause: ${stdout}${stderr}`);
    }),
  ]);
  return {
    async finish() {
      child.stdin?.on("error", () => {});
      child.stdin?.end("\n");
      const status = await ended;
      return { status, stdout: stdout.replace(`${MARK}\n`, ""), stderr };
    },
  };
}
