/** Names of what waits for a review: native/jail/src/carry/aside.rs makes them. */
const NAME = /^held-[0-9a-f]{12}$/;

export function isHeldName(name: string): boolean {
  return NAME.test(name);
}
