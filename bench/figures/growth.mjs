import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { BenchDaemon } from "../daemon.mjs";
import { HttpClient } from "../http-client.mjs";
import { compare, interleaved } from "../measure.mjs";

const SANDBOXES = 40;
const IMAGES = 60;
const AUDIT_LINES = 100_000;
const names = { subject: "with them", reference: "without" };

export const growth = {
  name: "growth",
  promise: `\`run true\` beside ${SANDBOXES} sandboxes, ${IMAGES} images and ${AUDIT_LINES} audit records, against without`,
  limit: null,
  async run(context, quick) {
    const share = quick ? 0.1 : 1;
    const rounds = { rounds: quick ? 5 : 30, warmUps: 2, settleMs: 10 };
    const series = [];
    for (const [what, count, pair] of [
      ["sandboxes", SANDBOXES, sandboxes],
      ["images", IMAGES, images],
      ["audit records", AUDIT_LINES, auditRecords],
    ]) {
      const some = count * share;
      const { many, few, close } = await pair(context, some);
      try {
        const samples = await interleaved({ many, few }, rounds);
        series.push({ at: `${some} ${what}`, names, ...compare(samples.many, samples.few) });
      } finally {
        await close();
      }
    }
    const { ratio, interval, subject, reference } = series.reduce((a, b) => (a.ratio > b.ratio ? a : b));
    return { ratio, interval, subject, reference, series };
  },
};

/** Two daemons, one of which has so many idle sandboxes; warm runs through each. */
async function sandboxes(context, count) {
  const [full, empty] = [new BenchDaemon(context), new BenchDaemon(context)];
  const client = new HttpClient({ path: join(full.variables.XDG_RUNTIME_DIR, "agentkernel", "daemon.sock") });
  const all = Array.from({ length: count }, (_, index) => `box-${index}`);
  for (const name of all) await client.ask("POST", "/sandboxes", { name, image: "host", network: false });
  await Promise.all([full.filled(), empty.filled()]);
  return {
    many: () => full.run(),
    few: () => empty.run(),
    close: async () => {
      for (const name of all) await client.ask("DELETE", `/sandboxes/${name}?force=true`);
      client.close();
      full.stop();
      empty.stop();
    },
  };
}

/** Two stores, one of which has so many images beside the one that is run; without a daemon. */
async function images({ folder, cli, stopwatch, emptyProject }, count) {
  const root = join(folder, "growth-root", "bin");
  mkdirSync(root, { recursive: true });
  copyFileSync("/bin/busybox", join(root, "true"));
  const store = (name, images) => {
    const data = join(folder, `growth-${name}`);
    const env = { ...process.env, XDG_DATA_HOME: data };
    for (let index = 0; index < images; index++) {
      const words = ["images", "import", join(folder, "growth-root"), `localhost/growth-${index}:1`];
      execFileSync(cli, words, { env, stdio: "ignore" });
    }
    const run = ["run", "--no-network", "--image", "localhost/growth-0:1", "/bin/true"];
    return () => stopwatch.untilExit(["env", `XDG_DATA_HOME=${data}`, cli, ...run], { cwd: emptyProject });
  };
  return { many: store("many", 1 + count), few: store("few", 1), close: () => {} };
}

/** Two logs, one of which is long; without a daemon. Written by the product's own writer, so that it is whole. */
async function auditRecords({ folder, cli, stopwatch, emptyProject }, count) {
  const outfile = join(folder, "audit-writer.mjs");
  await build({
    stdin: {
      contents: `export { AuditWriter } from "./audit/writer.ts";
                 export { defaultRetention } from "./audit/retention-options.ts";`,
      resolveDir: join(cli, "..", "..", "src"),
    },
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "warning",
  });
  const { AuditWriter, defaultRetention } = await import(pathToFileURL(outfile).href);
  const log = (name, lines) => {
    const state = join(folder, `growth-state-${name}`);
    const writer = new AuditWriter({ folder: join(state, "agentkernel", "audit"), ...defaultRetention });
    const record = { time: new Date().toISOString(), type: "file", fields: { sandbox: "bench", path: "/workspace/a" } };
    for (let left = lines; left > 0; left -= 1000) {
      const answer = writer.tryAppend(Array.from({ length: Math.min(left, 1000) }, () => record));
      if (answer !== null) throw new Error("the audit log could not be made");
    }
    const run = ["run", "--no-network", "--image", "host", "true"];
    return () => stopwatch.untilExit(["env", `XDG_STATE_HOME=${state}`, cli, ...run], { cwd: emptyProject });
  };
  return { many: log("many", count), few: log("few", 1), close: () => {} };
}
