export interface Sample {
  readonly wallMs: number;
  readonly cpuMs: number;
}

export function interleaved<Name extends string>(
  subjects: Readonly<Record<Name, () => Promise<Sample>>>,
  options: { readonly rounds: number; readonly warmUps: number; readonly settleMs?: number },
): Promise<Record<Name, readonly Sample[]>>;
