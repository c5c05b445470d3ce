/** The result of probing a backend by using it. */
export interface Proof {
  readonly works: boolean;
  /** For people: what was done, or why it did not work. */
  readonly detail: string;
  /** What to do about it, where it does not work. */
  readonly nextStep: string | null;
  /** What a sandbox is opened with: found once, and not looked for again. */
  readonly facts: Readonly<Record<string, string>>;
  /** Nothing was shown: it could not be found out this time. Never remembered. */
  readonly isInconclusive?: true;
}

export function working(detail: string, facts: Proof["facts"] = {}): Proof {
  return { works: true, detail, nextStep: null, facts };
}

export function failing(detail: string, nextStep: string | null): Proof {
  return { works: false, detail, nextStep, facts: {} };
}

export function inconclusive(detail: string, nextStep: string | null): Proof {
  return { ...failing(detail, nextStep), isInconclusive: true };
}

/** Whatever made finding out end before it was done. */
export function inconclusiveAfter(error: unknown): Proof {
  return inconclusive(
    error instanceof Error ? error.message : String(error),
    "try again: this says nothing of the machine",
  );
}

/** Of virtual machines: one has run on the processor itself, by the monitor that is used without being named. */
export function isByHardware({ works, facts: { accelerator, kind } }: Proof): boolean {
  return works && accelerator === "kvm" && kind === "qemu";
}
