/** Asks the user on the terminal whether something shall be done. */
import { createInterface } from "node:readline";
import { AgentKernelError } from "../../core/errors.js";
import type { Invocation } from "../../invocation/index.js";
import { writeErr } from "../output.js";

/** Everything but a yes is a no. */
export async function isAgreed(invocation: Invocation, question: string): Promise<boolean> {
  const { stdin } = invocation;
  const input = stdin.isTerminal ? stdin.open() : null;
  if (input === null) {
    throw new AgentKernelError("invalid_argument", "nobody can be asked here: stdin is no terminal", {
      hint: "--yes does it without asking, --print only shows it",
    });
  }
  await writeErr(invocation, `${question} [y/N] `);
  const lines = createInterface({ input });
  const answer = await new Promise<string>((resolve) => {
    lines.once("line", resolve);
    lines.once("close", () => resolve(""));
  });
  lines.close();
  return /^y(es)?$/i.test(answer.trim());
}
