/** What a large project costs a warm run, with the same run in a small one as the reference. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BenchDaemon } from "../daemon.mjs";
import { makeLargeProject } from "../large-project.mjs";
import { compare } from "../measure.mjs";

const BLOCK = 10;
/** Directories that changed a moment ago are read again each time. */
const SETTLED_MS = 3000;

export const warmSize = {
  name: "warm-size",
  promise: "a warm `run true` in a project of 100,000 files, against one of 5 files",
  limit: { ratio: 1.15 },
  async run(context, quick) {
    const [large, small] = ["warm-large", "warm-small"].map((name) => join(context.folder, name));
    makeLargeProject(large, 1);
    mkdirSync(small);
    for (let file = 0; file < 5; file++) writeFileSync(join(small, `source-${file}.ts`), "");
    await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
    // A daemon for each: what was read of one project is not to be in the other's way.
    const sides = [large, small].map((project) => {
      const daemon = new BenchDaemon(context);
      daemon.project = project;
      return { project, daemon, samples: [], changed: [] };
    });
    try {
      for (const { daemon } of sides) {
        await daemon.filled();
        for (let run = 0; run < 2 * BLOCK; run++) await daemon.run();
      }
      for (let runs = 0; runs < (quick ? 4 : 15) * BLOCK; runs += BLOCK) {
        for (const { daemon, samples } of sides) for (let run = 0; run < BLOCK; run++) samples.push(await daemon.run());
      }
      for (let run = 0; run < BLOCK; run++) {
        for (const { project, daemon, changed } of sides) {
          writeFileSync(join(project, `changed-${run}`), "");
          changed.push(await daemon.run());
        }
      }
    } finally {
      for (const { daemon } of sides) daemon.stop();
    }
    const [ours, theirs] = sides;
    return {
      ...compare(ours.samples, theirs.samples),
      information: { afterAChange: compare(ours.changed, theirs.changed).ratio },
    };
  },
};
