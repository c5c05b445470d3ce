import { join } from "node:path";
import { BenchDaemon } from "../daemon.mjs";
import { HttpClient } from "../http-client.mjs";
import { compare, interleaved, summary } from "../measure.mjs";
import { withRivals } from "../rivals/index.mjs";

/** Ours against each of the others, all of them taken in turn. */
function beside({ ours, ...others }, skipped) {
  const compared = Object.entries(others).map(([name, samples]) => {
    const { ratio, interval, reference } = compare(ours, samples);
    return [name, { ratio, interval, ...reference }];
  });
  return { subject: summary(ours), beside: Object.fromEntries(compared), skipped };
}

const rounds = (quick) => ({ rounds: quick ? 5 : 40, warmUps: 2, settleMs: 10 });

export const runBesideAll = {
  name: "run-beside-all",
  promise: "`run true` through the daemon and without one, beside every rival and the floor",
  limit: null,
  run: (context, quick) =>
    besideAll(context, quick, "`run` without a daemon", ["true"], (stopwatch, words, at) =>
      stopwatch.untilExit(words, at),
    ),
};

export const firstByte = {
  name: "first-byte",
  promise: "from starting `run echo` to its first byte of output, beside every rival and the floor",
  limit: null,
  run: (context, quick) =>
    besideAll(context, quick, "`run` without a daemon", ["echo", "hello"], (stopwatch, words, at) =>
      stopwatch.untilByte(words, at),
    ),
};

function besideAll(context, quick, coldName, command, take) {
  return withRivals(context, async (rivals, skipped) => {
    const daemon = new BenchDaemon(context);
    const { cli, emptyProject, stopwatch } = context;
    const run = daemon.runTrue.slice(0, -1);
    const cold = [cli, "run", "--no-network", "--image", "host", ...command];
    try {
      await daemon.filled();
      const subjects = {
        ours: () => take(daemon.stopwatch, [...run, ...command], { cwd: daemon.project }),
        [coldName]: () => take(stopwatch, cold, { cwd: emptyProject }),
      };
      for (const { name, words } of rivals) {
        subjects[name] = () => take(stopwatch, words(...command), { cwd: emptyProject });
      }
      return beside(await interleaved(subjects, rounds(quick)), skipped);
    } finally {
      daemon.stop();
    }
  });
}

export const execBesideAll = {
  name: "exec-beside-all",
  promise: "`exec true` in a sandbox that stays, beside the same over HTTP and every rival's",
  limit: null,
  run: (context, quick) =>
    withRivals(context, async (rivals, skipped) => {
      const daemon = new BenchDaemon(context);
      const client = new HttpClient({ path: join(daemon.variables.XDG_RUNTIME_DIR, "agentkernel", "daemon.sock") });
      const [program] = daemon.runTrue;
      try {
        await client.ask("POST", "/sandboxes", { name: "bench", image: "host", network: false });
        const subjects = {
          ours: () => daemon.run([program, "exec", "bench", "true"]),
          "ours over HTTP": async () => {
            const startedAt = performance.now();
            await client.ask("POST", "/sandboxes/bench/exec", { command: ["true"] });
            return { wallMs: performance.now() - startedAt, cpuMs: 0 };
          },
        };
        for (const { name, execWords } of rivals.filter((rival) => rival.execWords !== null)) {
          const words = execWords("true");
          subjects[`${name} exec`] = () => context.stopwatch.untilExit(words, { cwd: context.emptyProject });
        }
        return beside(await interleaved(subjects, rounds(quick)), skipped);
      } finally {
        await client.ask("DELETE", "/sandboxes/bench?force=true");
        client.close();
        daemon.stop();
      }
    }),
};
