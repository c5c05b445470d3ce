/**
 * kill -9 at an exact point of a process's life: as it is about to make its n-th system call of a kind. strace injects
 * the signal, so the programs are those that users have, and the call at which they died was never made.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Actor, programOf } from "./actors.js";
import { isGone } from "./process-tree.js";
import { testFolder } from "./test-folder.js";

interface Point {
  readonly call: string;
  readonly nth: number;
}

/** The first calls one by one, later ones further and further apart. */
const COUNTS = [1, 2, 3, 5, 8, 13, 21, 34];

/**
 * Puts `strike` to every point that is reached: it answers whether somebody was struck. What comes after the first count
 * of a call that nobody reaches is not tried. Returns the points at which somebody was.
 */
export async function atEachPoint(
  calls: readonly string[],
  strike: (point: Point) => Promise<boolean>,
): Promise<readonly Point[]> {
  const struck: Point[] = [];
  for (const call of calls) {
    for (const nth of COUNTS) {
      if (!(await strike({ call, nth }))) break;
      struck.push({ call, nth });
    }
  }
  return struck;
}

/** How long strace may take to let go. */
const DETACH_MS = 1000;
const REST_LOOK_MS = 2;

let logs = 0;

function injection({ call, nth }: Point, log: string): readonly string[] {
  return ["-e", `trace=${call}`, "-e", `inject=${call}:signal=KILL:when=${nth}`, "-e", "signal=none", "-o", log];
}

/** A call that has no result, since its process did not live to make it. */
function isStruck(log: string): boolean {
  return / = \?$/m.test(readFileSync(log, "utf8"));
}

interface StruckActor extends Actor {
  /** To be asked when all is over. */
  wasStruck(): boolean;
}

/** Whatever process of the actor's program comes to the point first, itself or a descendant, dies there. */
export function struckAt(actor: Actor, point: Point): StruckActor {
  const log = join(testFolder(), `strike-${logs++}`);
  const identity = process.getuid?.() === 0 ? ["-u", userName(actor.uid)] : [];
  return {
    ...actor,
    // strace itself has to stay root: programs that are setuid would lose that under a tracer of the user's.
    ...(process.getuid?.() === 0 ? { uid: 0, gid: 0 } : {}),
    program: ["strace", "-f", "-qqq", ...identity, ...injection(point, log), ...programOf(actor)],
    wasStruck: () => isStruck(log),
  };
}

function userName(uid: number): string {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.split(":")[2] === String(uid));
  if (line === undefined) throw new Error(`user ${uid} has no name`);
  return line.slice(0, line.indexOf(":"));
}

/** Waits for one running process at the point; its descendants too, if they are to be followed. */
export class Striker {
  readonly #log = join(testFolder(), `strike-${logs++}`);
  readonly #pid: number;
  readonly #over: Promise<unknown>;
  readonly #tell: (signal: NodeJS.Signals) => void;

  private constructor(pid: number, point: Point, follow: boolean) {
    this.#pid = pid;
    const threads = readdirSync(`/proc/${pid}/task`);
    // Told to follow, it takes all the threads of a process together, and says so once.
    const whom = follow ? ["-f", "-p", String(pid)] : threads.flatMap((thread) => ["-p", thread]);
    const toAttach = follow ? 1 : threads.length;
    const child = spawn("strace", [...injection(point, this.#log), ...whom], { stdio: ["ignore", "ignore", "pipe"] });
    this.#over = once(child, "close");
    this.#tell = (signal) => child.kill(signal);
    let said = "";
    this.#attached = new Promise((resolve, reject) => {
      child.stderr.on("data", (chunk: Buffer) => {
        said += String(chunk);
        if ((said.match(/ attached/g)?.length ?? 0) >= toAttach) resolve();
      });
      void this.#over.then(() => reject(new Error(`strace did not attach to process ${pid}: ${said}`)));
    });
  }

  readonly #attached: Promise<void>;

  static async at(pid: number, point: Point, { follow = false } = {}): Promise<Striker> {
    const striker = new Striker(pid, point, follow);
    await striker.#attached;
    return striker;
  }

  /**
   * Lets go of the process, and waits until it is gone or goes on; whether the tracer has written down that it was struck.
   * It may have let go between the blow and the end, so it can be gone all the same.
   */
  async off(): Promise<boolean> {
    this.#tell("SIGINT");
    // It can miss the end of a process with many threads, which then stays a zombie until its tracer is gone.
    const timer = setTimeout(() => this.#tell("SIGKILL"), DETACH_MS);
    await this.#over;
    clearTimeout(timer);
    while (!isGone(this.#pid) && !isAtRest(this.#pid)) await sleep(REST_LOOK_MS);
    return isStruck(this.#log);
  }
}

const KILL_BIT = 1n << 8n;

/** All its threads wait for something, and none of them has a kill to come. */
function isAtRest(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) => {
      const status = readFileSync(`/proc/${pid}/task/${thread}/status`, "latin1");
      const pending = [...status.matchAll(/^(?:SigPnd|ShdPnd):\s*([0-9a-f]+)$/gm)];
      const toDie = pending.some(([, mask]) => (BigInt(`0x${mask}`) & KILL_BIT) !== 0n);
      return /^State:\s*S/m.test(status) && !toDie;
    });
  } catch (error) {
    // A thread that has ended since the folder was read: one more look.
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}
