/** A patch on a terminal: the text in it is a sandbox's, so whatever could steer the terminal is made visible. */
import { escapeText } from "../../core/escape.js";

/** What has no line end for so long is shown in pieces. */
const MAX_LINE_CHARS = 1 << 16;

export async function* forTerminal(patch: AsyncIterable<Buffer>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of patch) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield lines.map((line) => `${shown(line)}\n`).join("");
    if (rest.length > MAX_LINE_CHARS) {
      yield shown(rest);
      rest = "";
    }
  }
  if (rest !== "") yield shown(rest);
}

function shown(line: string): string {
  return line.split("\t").map(escapeText).join("\t");
}
