/**
 * The requests of one client that have no answer yet, by their ids. Two by one id could not be told apart: the answer of
 * one would go to the other, and only one of them could be cancelled. What was claimed for an answer is given back when
 * the answer was written, or when there will be none.
 */
export type RequestId = string | number;

const nothing = (): void => {};

export class RequestsAtWork {
  /** Those that a transport has taken and is not done with, with how to give back what their answers hold. */
  readonly #taken = new Map<RequestId, () => void>();
  /** Those for which something is still done, whatever has become of their transport. */
  readonly #worked = new Set<RequestId>();

  /** False where one by this id is still at work: it must not be taken. */
  take(id: RequestId): boolean {
    if (this.#taken.has(id) || this.#worked.has(id)) return false;
    this.#taken.set(id, nothing);
    return true;
  }

  /** It has its answer, or will have none. What is returned is for when the answer was written. */
  leave(id: RequestId): () => void {
    const giveBack = this.#taken.get(id) ?? nothing;
    this.#taken.delete(id);
    return giveBack;
  }

  async during<T>(id: RequestId, giveBack: () => void, work: () => Promise<T>): Promise<T> {
    this.#worked.add(id);
    try {
      return await work();
    } finally {
      this.#worked.delete(id);
      if (this.#taken.has(id)) this.#taken.set(id, giveBack);
      else giveBack();
    }
  }
}
