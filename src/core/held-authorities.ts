/**
 * What NODE_EXTRA_CA_CERTS names, held back from Node. Where that variable is set, Node 20 reads its whole list of
 * authorities at each start, which takes longer than the rest of the start. So whoever starts the command line gives it
 * the variable by another name, and it is trusted when the first connection needs it (trust-held-authorities.ts).
 */

/** Known to native/client and scripts/embedded.sh too. */
const VARIABLE = "AGENTKERNEL_HELD_CA_CERTS";

/** Whom a process trusts by default is a thing of the whole process. */
let held: string | null = null;

/** Before anybody reads the environment, which is as the caller had it from then on. */
export function takeHeldAuthorities(env: NodeJS.ProcessEnv): void {
  const path = env[VARIABLE];
  if (path === undefined) return;
  delete env[VARIABLE];
  // Node has read the one that it was given.
  if (env.NODE_EXTRA_CA_CERTS) return;
  env.NODE_EXTRA_CA_CERTS = path;
  held = path;
}

/** To be trusted yet; from now on that is done. */
export function releaseHeldAuthorities(): string | null {
  const path = held;
  held = null;
  return path;
}
