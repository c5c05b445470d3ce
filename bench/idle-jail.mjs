/** Sandboxes that nobody asks anything of, for figures about what they cost. */
import { spawn } from "node:child_process";
import { once } from "node:events";

/** A sandbox that has had nothing to do for this long has given back what it does not need. */
export const IDLE_MS = 500;

/** Its guest has said that it is ready. */
export async function startIdle([binary, ...words], spec) {
  const child = spawn(binary, words, { stdio: ["ignore", "ignore", "inherit", "pipe", "pipe"] });
  child.stdio[3].resume();
  child.stdio[3].write(spec);
  await once(child.stdio[4], "data");
  return child;
}

export async function endIdle(children) {
  for (const child of children) {
    child.stdio[3].write('{"do":"kill"}\n');
    await once(child, "exit");
  }
}
