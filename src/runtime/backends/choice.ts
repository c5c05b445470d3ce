/** A backend that was chosen for a sandbox, and why. */
import type { Backend, ImageSource } from "../../core/backend.js";

export interface Choice {
  readonly backend: Backend;
  /** For people. */
  readonly why: string;
  /** What they should know without asking. */
  readonly notes: readonly string[];
  /** Nobody named it: where it cannot do what turns out to be asked for, there is another. */
  readonly otherwise?: (why: string) => Promise<Choice>;
}

/** What an image turns out to be may not be for the backend that was chosen before. */
export async function forImage(choice: Choice, { kind }: ImageSource): Promise<Choice> {
  if (kind !== "host" || choice.otherwise === undefined) return choice;
  return await choice.otherwise((await import("./machine-fit.js")).HOST_PROGRAMS);
}
