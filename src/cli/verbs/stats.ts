/** `stats`: what sandboxes use. On a terminal it is shown anew each second, until it is interrupted. */

import type { Invocation } from "../../invocation/index.js";
import type { Sandbox, SandboxStats } from "../../runtime/sandboxes/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";
import { EndingSignals } from "../run/signals.js";
import { sandboxesOf } from "../sandboxes/residents.js";
import { shownStats, statsTable } from "../sandboxes/stats-text.js";

const REFRESH_MS = 1000;
const CLEAR_SCREEN = "\u001b[H\u001b[2J";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const isJson = parsed.flags.has("json");
  const names = [...new Set(parsed.rest)];
  // A name that is wrong is told at once.
  const first = await statsOf(invocation, names);
  if (!isJson && invocation.stdout.isTerminal && !parsed.flags.has("once"))
    return await watch(names, first, invocation);
  // How much of a processor is used can only be told from two looks.
  await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
  const second = await statsOf(invocation, names);
  if (isJson) {
    return await writeJson(invocation, {
      success: true,
      data: second.map((stats) => shownStats(stats, before(first, stats))),
    });
  }
  return await writeOut(invocation, statsTable(second, first));
}

const SAMPLE_MS = 200;

async function watch(
  names: readonly string[],
  first: readonly SandboxStats[],
  invocation: Invocation,
): Promise<number> {
  let stop: () => void = () => {};
  let isOver = false;
  const over = new Promise<void>((resolve) => {
    stop = () => {
      isOver = true;
      resolve();
    };
  });
  const signals = new EndingSignals(invocation.signals, stop);
  invocation.gone?.onGone(stop);
  invocation.stdout.onClosed(stop);
  try {
    for (let last = first; !isOver; ) {
      await Promise.race([over, new Promise((resolve) => setTimeout(resolve, REFRESH_MS).unref())]);
      if (isOver) break;
      const now = await statsOf(
        invocation,
        names.filter((name) => isThere(invocation, name)),
      );
      await writeOut(invocation, `${CLEAR_SCREEN}${statsTable(now, last)}`);
      last = now;
    }
    return signals.first === null ? 0 : 128 + signals.first;
  } finally {
    signals.stop();
  }
}

/** Of those that are named, else of all that run. */
async function statsOf(invocation: Invocation, names: readonly string[]): Promise<readonly SandboxStats[]> {
  const sandboxes = sandboxesOf(invocation);
  const isRunning = ({ state }: Sandbox) => state === "running" || state === "paused";
  const meant = names.length > 0 ? names.map((name) => sandboxes.get(name)) : sandboxes.list().filter(isRunning);
  return await Promise.all(meant.map((sandbox) => sandbox.stats()));
}

function isThere(invocation: Invocation, name: string): boolean {
  return sandboxesOf(invocation)
    .list()
    .some((sandbox) => sandbox.name === name);
}

function before(earlier: readonly SandboxStats[], { name }: SandboxStats): SandboxStats | undefined {
  return earlier.find((stats) => stats.name === name);
}
