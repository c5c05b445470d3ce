/** Whose the temporary sandboxes were, for as long as this process lives: their audit records are for nobody else. */
const MOST = 20_000;

export class RunOwners {
  /** Oldest first. */
  readonly #owners = new Map<string, string>();

  note(sandbox: string, caller: string): void {
    this.#owners.set(sandbox, caller);
    if (this.#owners.size <= MOST) return;
    const [oldest] = this.#owners.keys();
    if (oldest !== undefined) this.#owners.delete(oldest);
  }

  isOf(sandbox: string, caller: string): boolean {
    return this.#owners.get(sandbox) === caller;
  }
}
