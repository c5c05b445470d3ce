/** How many sandboxes a caller may have at once: those that stay, and those of its sessions. */
import { AgentKernelError } from "../../core/errors.js";
import { type Caller, ownerOf } from "../auth/caller.js";

export class SandboxQuota {
  /** The default for a caller that is not trusted and whose key names no limit. */
  readonly #usual: number;
  /** Being made, or nobody's but a session's. */
  readonly #reserved = new Map<string, number>();

  constructor(usual: number) {
    this.#usual = usual;
  }

  /** `all`: those that stay, of all callers. Returns how to give the place back; it may be called more than once. */
  reserve(caller: Caller, all: readonly { readonly owner: string | null }[]): () => void {
    const most = caller.quotas.sandboxes ?? (caller.isTrusted ? Number.POSITIVE_INFINITY : this.#usual);
    const owner = ownerOf(caller);
    const reserved = this.#reserved.get(caller.id) ?? 0;
    if (reserved + all.filter((one) => one.owner === owner).length >= most) {
      throw new AgentKernelError("resource_exhausted", `this caller may have ${most} sandboxes at once`, {
        hint: "remove one, or use a key that may have more: agentkernel keys create --max-sandboxes",
      });
    }
    this.#reserved.set(caller.id, reserved + 1);
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      const left = (this.#reserved.get(caller.id) ?? 1) - 1;
      if (left === 0) this.#reserved.delete(caller.id);
      else this.#reserved.set(caller.id, left);
    };
  }
}
