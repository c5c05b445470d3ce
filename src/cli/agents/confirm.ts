/** A question that is answered with yes or no on the terminal. */
import { createInterface } from "node:readline";
import { AgentKernelError } from "../../core/errors.js";
import type { Invocation } from "../../invocation/index.js";
import { writeErr } from "../output.js";

/** Anything but a yes is a no. */
export async function confirm(invocation: Invocation, question: string): Promise<boolean> {
  const input = invocation.stdin.isTerminal ? invocation.stdin.open() : null;
  if (input === null) {
    throw new AgentKernelError("invalid_argument", "nothing was changed: there is no terminal to ask on", {
      hint: "look at the change above and add --yes",
    });
  }
  await writeErr(invocation, `${question} [y/N] `);
  const lines = createInterface({ input });
  try {
    return await new Promise<boolean>((resolve) => {
      lines.once("line", (line) => resolve(/^y(es)?$/i.test(line.trim())));
      lines.once("close", () => resolve(false));
    });
  } finally {
    lines.close();
    input.pause();
  }
}
