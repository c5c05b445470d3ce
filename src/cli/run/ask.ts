/** Puts destinations that no rule covers to the user, on the terminal, one after the other. */
import { type FileHandle, open } from "node:fs/promises";
import { createInterface, type Interface } from "node:readline/promises";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { Answer, Ask, Question } from "../../egress/index.js";

export interface Asker {
  readonly ask: Ask;
  close(): Promise<void>;
}

const answers: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ["o", "once"],
  ["once", "once"],
  ["s", "sandbox"],
  ["sandbox", "sandbox"],
  ["n", "never"],
  ["never", "never"],
]);

export async function terminalAsker(path = "/dev/tty"): Promise<Asker> {
  const terminal = await openTerminal(path);
  const input = terminal.createReadStream({ autoClose: false });
  const output = terminal.createWriteStream({ autoClose: false });
  const lines = createInterface({ input, output, terminal: false });
  // One question at a time: two on one terminal could not be told apart.
  let last: Promise<unknown> = Promise.resolve();
  return {
    ask: (question) => {
      const answer = last.then(() => put(lines, question));
      last = answer.catch(() => {});
      return answer;
    },
    close: async () => {
      lines.close();
      input.destroy();
      output.destroy();
      await terminal.close();
    },
  };
}

async function openTerminal(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r+");
  } catch (cause) {
    throw new AgentKernelError("invalid_argument", "--ask needs a terminal to ask on, and there is none", {
      hint: "leave it out, and name what may be reached with --allow-domain",
      cause,
    });
  }
}

async function put(lines: Interface, { sandbox, host, port, signal }: Question): Promise<Answer> {
  const where = `${escapeText(host)}:${port}`;
  const words = `agentkernel: ${sandbox} wants to reach ${where}. Allow it? [o]nce, for this [s]andbox, [n]ever: `;
  for (;;) {
    const text = await lines.question(words, { signal });
    const answer = answers.get(text.trim().toLowerCase());
    if (answer !== undefined) return answer;
  }
}
