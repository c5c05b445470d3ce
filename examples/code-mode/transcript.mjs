// Everything that a model reads and writes while it does a task, once: the tools that it is offered with their servers'
// words about them, the question, each call and each result, and the answer. A turn ends with what the model writes.

/** What a model is shown of a tool. */
export const shown = ({ name, description, inputSchema }) => ({ name, description, inputSchema });

const textOf = (part) => (typeof part === "string" ? part : JSON.stringify(part));

export class Transcript {
  #encode;
  parts = [];
  turns = 0;

  constructor(encode) {
    this.#encode = encode;
  }

  reads(part) {
    this.parts.push({ how: "read", text: textOf(part) });
  }

  /** One turn: an answer, or one or more calls at once. */
  writes(...parts) {
    this.turns++;
    for (const part of parts) this.parts.push({ how: "written", text: textOf(part) });
  }

  get counts() {
    const tokens = (how) =>
      this.parts.filter((part) => part.how === how).reduce((sum, { text }) => sum + this.#encode(text).length, 0);
    const [read, written] = [tokens("read"), tokens("written")];
    return { turns: this.turns, read, written, tokens: read + written };
  }
}

/** How fast a model is. These are assumptions, not measurements; each can be given on the command line. */
export const usualModel = { firstTokenMs: 500, readPerSecond: 10_000, writtenPerSecond: 80 };

export function modelMs({ turns, read, written }, model) {
  return turns * model.firstTokenMs + (read / model.readPerSecond + written / model.writtenPerSecond) * 1000;
}

/**
 * How many tokens a model would have to read in a second for both ways to take the same time; one that reads fewer is
 * faster with code mode. Infinite where code mode is faster even if reading takes no time at all.
 */
export function breakEvenReading(direct, code, model) {
  const withoutReading = ({ counts, toolsMs }) => toolsMs + modelMs({ ...counts, read: 0 }, model);
  const aheadMs = withoutReading(code) - withoutReading(direct);
  return aheadMs <= 0 ? Number.POSITIVE_INFINITY : ((direct.counts.read - code.counts.read) / aheadMs) * 1000;
}
