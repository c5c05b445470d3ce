/** Puts destinations that no rule covers to the user, on the terminal, one after the other. */
import { openSync } from "node:fs";
import { createInterface, type Interface } from "node:readline/promises";
import { ReadStream, WriteStream } from "node:tty";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { ApprovalChoice, Question } from "../../egress/index.js";
import type { Asker } from "../../runtime/asker.js";

const answers: ReadonlyMap<string, ApprovalChoice> = new Map<string, ApprovalChoice>([
  ["o", "once"],
  ["once", "once"],
  ["s", "sandbox"],
  ["sandbox", "sandbox"],
  ["n", "never"],
  ["never", "never"],
]);

export function terminalAsker(path = "/dev/tty"): Asker {
  // Streams of a terminal wait for input without holding a thread: a read of the file itself could not be given up,
  // and the run would not end before somebody typed a line.
  const input = openTerminal(() => new ReadStream(openSync(path, "r")));
  const output = openTerminal(() => new WriteStream(openSync(path, "w")));
  const lines = createInterface({ input, output, terminal: false });
  // Ctrl-D ends the input: nobody is there to answer any more, and a question must not wait for its time to run out.
  let isOurs = false;
  const gone = new Promise<never>((_, reject) =>
    lines.once("close", () => {
      if (!isOurs) output.write("\n");
      reject(new Error("the input has ended"));
    }),
  );
  gone.catch(() => {});
  // One question at a time: two on one terminal could not be told apart.
  let last: Promise<unknown> = Promise.resolve();
  return {
    by: "terminal",
    ask: (question) => {
      const answer = last.then(() => Promise.race([put(lines, question), gone]));
      last = answer.catch(() => {});
      return answer;
    },
    close: () => {
      isOurs = true;
      lines.close();
      input.destroy();
      output.destroy();
    },
  };
}

function openTerminal<Stream>(open: () => Stream): Stream {
  try {
    return open();
  } catch (cause) {
    throw new AgentKernelError("invalid_argument", "--ask needs a terminal to ask on, and there is none", {
      hint: "leave it out, and name what may be reached with --allow-domain",
      cause,
    });
  }
}

async function put(lines: Interface, { sandbox, host, port, signal }: Question): Promise<ApprovalChoice> {
  const where = `${escapeText(host)}:${port}`;
  const words = `agentkernel: ${sandbox} wants to reach ${where}. Allow it? [o]nce, for this [s]andbox, [n]ever: `;
  for (;;) {
    const text = await lines.question(words, { signal });
    const answer = answers.get(text.trim().toLowerCase());
    if (answer !== undefined) return answer;
  }
}
