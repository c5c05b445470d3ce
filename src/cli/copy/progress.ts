/** How far a copy is, in one line that is redrawn. Only for a person at a terminal; elsewhere nothing is drawn. */

import type { Invocation } from "../../invocation/index.js";
import { sizeText } from "../images/text.js";

const REDRAW_MS = 100;

interface CopyProgress {
  update(bytes: number): void;
  /** Takes the line away: what is said next stands where it was. */
  clear(): void;
}

export function copyProgress(
  quiet: boolean,
  { stderr, env }: Pick<Invocation, "stderr" | "env">,
  now: () => number = () => performance.now(),
): CopyProgress {
  if (quiet || !stderr.isTerminal || env.TERM === "dumb") return { update: () => {}, clear: () => {} };
  // What is over at once needs no line.
  let drawnAtMs = now();
  let isDrawn = false;
  return {
    update(bytes) {
      if (now() - drawnAtMs < REDRAW_MS) return;
      drawnAtMs = now();
      isDrawn = true;
      void stderr.write(`\r\x1b[K${sizeText(bytes)} copied`);
    },
    clear() {
      if (isDrawn) void stderr.write("\r\x1b[K");
      isDrawn = false;
    },
  };
}
