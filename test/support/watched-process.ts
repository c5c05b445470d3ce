/** A process that a test watches: its output so far, lines to wait for, its end. */
import type { ChildProcess } from "node:child_process";

export interface ProcessEnd {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class WatchedProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly end: Promise<ProcessEnd>;
  stdout = "";
  stderr = "";
  readonly #looks = new Set<() => void>();

  constructor(child: ChildProcess) {
    this.child = child;
    if (this.child.pid === undefined) throw new Error("the process did not start");
    this.pid = this.child.pid;
    this.child.stdin?.on("error", () => {});
    this.child.stdout?.on("data", (chunk: Buffer) => {
      this.stdout += String(chunk);
      for (const look of this.#looks) look();
    });
    this.child.stderr?.on("data", (chunk: Buffer) => {
      this.stderr += String(chunk);
      for (const look of this.#looks) look();
    });
    this.end = new Promise((resolve, reject) => {
      this.child.once("error", reject);
      this.child.once("close", (status, signal) => {
        for (const look of this.#looks) look();
        resolve({ status, signal, stdout: this.stdout, stderr: this.stderr });
      });
    });
  }

  /** Resolves when stdout has this in it; rejects when the run ends without. */
  until(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(this.stdout);
        if (found === null) return false;
        this.#looks.delete(look);
        resolve(found);
        return true;
      };
      this.#looks.add(look);
      if (look()) return;
      void this.end.then(({ status, stderr }) => {
        if (!look()) reject(new Error(`ended with ${status} before ${pattern} was printed: ${stderr}`));
      });
    });
  }

  type(text: string): void {
    this.child.stdin?.write(text);
  }
}
