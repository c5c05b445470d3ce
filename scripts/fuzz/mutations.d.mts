import type { Buffer } from "node:buffer";

export type Random = (below: number) => number;
export interface Material {
  readonly words: readonly Buffer[];
  readonly others: readonly Buffer[];
}
export function randomOf(seed: number): Random;
export function mutated(bytes: Buffer, random: Random, material: Material, maxBytes: number): Buffer;
