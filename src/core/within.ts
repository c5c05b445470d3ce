/** Waits for something, but no longer than it is worth waiting for. */
const LATE: unique symbol = Symbol("late");

/** `otherwise` decides what a wait that took too long comes to. */
export async function within<T, Late>(ms: number, work: Promise<T>, otherwise: () => Late): Promise<T | Late> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, ms, LATE);
  });
  try {
    const first = await Promise.race([work, late]);
    return first === LATE ? otherwise() : first;
  } finally {
    clearTimeout(timer);
  }
}
