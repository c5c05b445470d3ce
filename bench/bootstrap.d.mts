export function ratioInterval(subject: readonly number[], reference: readonly number[]): readonly [number, number];
