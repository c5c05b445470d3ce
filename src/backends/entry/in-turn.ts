/** One thing at a time with each kept sandbox, of those that start it or ask it. */
const last = new Map<string, Promise<unknown>>();

export async function inTurn<T>(stateDir: string, work: () => Promise<T>): Promise<T> {
  const before = last.get(stateDir) ?? Promise.resolve();
  const turn = before.then(work, work);
  last.set(stateDir, turn);
  try {
    return await turn;
  } finally {
    if (last.get(stateDir) === turn) last.delete(stateDir);
  }
}
