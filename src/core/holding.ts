/** Resources that a long-lived process owns beside the command lines that it serves, such as a persistent sandbox. */
export interface Holding {
  /** For people: `sandbox web`. */
  readonly what: string;
  /** Lets go of it. It goes on, and a later owner can take it over. */
  release(): Promise<void>;
  end(): Promise<void>;
}

/** Whoever owns something for long says so: the process then does not end by itself. */
export interface HoldingRegistry {
  /** Returns how to take it back, once it is over. */
  add(holding: Holding): () => void;
}
