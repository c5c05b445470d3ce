/** Where somebody who asks for something stands: what the answer depends on besides the question. */
export interface Surroundings {
  /** Reading it throws where the folder does not exist any more. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
}
