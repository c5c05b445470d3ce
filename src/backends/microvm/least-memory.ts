/** A kernel with its first filesystem needs as much to come up. */
export const LEAST_MEMORY_MIB = 128;
