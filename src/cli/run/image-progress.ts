/** Tells of an image on its way: a line that is redrawn on a terminal, one line at the start elsewhere. */
import { escapeText } from "../../core/escape.js";
import type { StandardOutput } from "../../invocation/index.js";
import type { ImageProgress } from "../../runtime/fetch-image.js";

const REDRAW_MS = 100;
const CLEAR_LINE = "\r\u001b[K";
const BAR_CELLS = 24;

interface ProgressTeller {
  readonly report: (progress: ImageProgress) => void;
  close(): void;
}

export function imageProgress(stream: StandardOutput): ProgressTeller {
  const layers = new Map<string, { readonly done: number; readonly total: number }>();
  let name = "";
  let unpacked = "";
  let drawnAtMs = 0;
  let isDrawn = false;
  let isSaid = false;
  const draw = (): void => {
    const nowMs = performance.now();
    if (!stream.isTerminal || nowMs - drawnAtMs < REDRAW_MS) return;
    drawnAtMs = nowMs;
    isDrawn = true;
    void stream.write(
      `${CLEAR_LINE}${lineFor(name, [...layers.values()], unpacked).slice(0, (stream.size()?.cols ?? 80) - 1)}`,
    );
  };
  return {
    report: (progress) => {
      if (progress.kind === "begin") {
        name = escapeText(progress.name);
      } else if (progress.kind === "download") {
        // Only now is it known that there is such an image.
        if (!stream.isTerminal && !isSaid) void stream.write(`agentkernel: pulling ${name}\n`);
        isSaid = true;
        layers.set(progress.layer.digest, { done: progress.layer.doneBytes, total: progress.layer.totalBytes });
      } else if (progress.kind === "unpack") {
        unpacked = `unpacking ${progress.done}/${progress.total}`;
      }
      draw();
    },
    close: () => {
      if (isDrawn) void stream.write(CLEAR_LINE);
    },
  };
}

function lineFor(name: string, layers: readonly { done: number; total: number }[], unpacked: string): string {
  const done = layers.reduce((sum, layer) => sum + layer.done, 0);
  const total = layers.reduce((sum, layer) => sum + layer.total, 0);
  const full = total === 0 ? 0 : Math.round((done / total) * BAR_CELLS);
  const bar = `${"█".repeat(full)}${"░".repeat(BAR_CELLS - full)}`;
  const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
  return unpacked === ""
    ? `pulling ${name} ${bar} ${mib(done)} of ${mib(total)} MiB`
    : `pulling ${name} ${bar} ${unpacked}`;
}
