/**
 * Whoever waits for a command in a sandbox and can be asked about destinations that no rule covers. Callers come and go
 * while the sandbox stays; the one who came last is asked, and where nobody is there the answer is no. Only whoever may
 * open the sandbox further by themselves enters, that is the user of this machine: another's yes would be their own leave.
 */
import type { Ask } from "../egress/index.js";
import type { Asker } from "./asker.js";

export class AttachedApprovers implements Asker {
  /** Only clients of agents come and go. */
  readonly by = "mcp";
  readonly #present: Ask[] = [];

  readonly ask: Ask = async (question) => {
    const last = this.#present.at(-1);
    if (last === undefined) throw new Error("nobody waits who could be asked");
    return await last(question);
  };

  readonly mayAsk = (): boolean => this.#present.length > 0;

  /** Returns how to leave. */
  enter(ask: Ask): () => void {
    this.#present.push(ask);
    return () => {
      const at = this.#present.indexOf(ask);
      if (at >= 0) this.#present.splice(at, 1);
    };
  }

  /** Each leaves by itself. */
  close(): void {}
}
