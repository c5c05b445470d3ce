/** What was found out about a backend by using it. */
export interface Proof {
  readonly works: boolean;
  /** For people: what was done, or why it did not work. */
  readonly detail: string;
  /** What to do about it, where it does not work. */
  readonly nextStep: string | null;
  /** What a sandbox is opened with: found once, and not looked for again. */
  readonly facts: Readonly<Record<string, string>>;
}

export function working(detail: string, facts: Proof["facts"] = {}): Proof {
  return { works: true, detail, nextStep: null, facts };
}

export function failing(detail: string, nextStep: string | null): Proof {
  return { works: false, detail, nextStep, facts: {} };
}

/** Of virtual machines: one has run on the processor itself, by the monitor that is used without being named. */
export function isByHardware({ works, facts: { accelerator, kind } }: Proof): boolean {
  return works && accelerator === "kvm" && kind === "qemu";
}
