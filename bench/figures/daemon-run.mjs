import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { bwrapTrue } from "../bwrap.mjs";
import { compare, interleaved, summary } from "../measure.mjs";

export const daemonRun = {
  name: "daemon-run",
  promise: "a whole `run true` through the daemon against the same without it (for information)",
  limit: null,
  async run({ cli, entry, folder, emptyProject, stopwatch, stopwatchWithDaemon }, quick) {
    const runtimeFolder = join(folder, "runtime");
    mkdirSync(runtimeFolder, { recursive: true, mode: 0o700 });
    const env = { ...process.env, XDG_RUNTIME_DIR: runtimeFolder };
    const daemon = (verb) =>
      execFileSync(process.execPath, [entry, "daemon", verb, "--json"], { env, encoding: "utf8" });
    const through = stopwatchWithDaemon(runtimeFolder);
    const run = ["run", "--no-network", "--image", "host", "true"];
    const at = { cwd: emptyProject };
    daemon("start");
    try {
      const samples = await interleaved(
        {
          daemon: () => through.untilExit([cli, ...run], at),
          embedded: () => stopwatch.untilExit([cli, ...run], at),
          version: () => through.untilExit([cli, "version"], at),
          shell: () => stopwatch.untilExit(["/bin/sh", "-c", ":"], at),
          bwrap: () => stopwatch.untilExit(bwrapTrue, at),
        },
        { rounds: quick ? 20 : 100, warmUps: 5, settleMs: 10 },
      );
      const { data } = JSON.parse(daemon("status"));
      return {
        ...compare(samples.daemon, samples.embedded),
        information: {
          againstBwrap: compare(samples.daemon, samples.bwrap).ratio,
          versionVerbP50Ms: summary(samples.version).p50Ms,
          emptyShellP50Ms: summary(samples.shell).p50Ms,
          served: data.served,
          daemonMiB: data.memory_bytes / 2 ** 20,
        },
      };
    } finally {
      daemon("stop");
      through.close();
    }
  },
};
