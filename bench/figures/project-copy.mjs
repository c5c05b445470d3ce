import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compare, interleaved } from "../measure.mjs";

const FOLDERS = 1000;
const FILES_EACH = 100;
const FILE_BYTES = 10_737;

export const projectCopy = {
  name: "project-copy",
  promise: "`run true` in a project of 100,000 files and 1 GB, caches warm, against an empty one",
  limit: { ratio: 2 },
  async run({ folder, cli, jail, jailSpecFile, emptyProject, stopwatch }, quick) {
    const project = join(folder, "large-project");
    makeProject(project);
    const specs = { large: jailSpecFile(project), empty: jailSpecFile(emptyProject) };
    const run = [cli, "run", "--no-network", "--image", "host", "true"];
    const samples = await interleaved(
      {
        large: () => stopwatch.untilExit(run, { cwd: project }),
        empty: () => stopwatch.untilExit(run, { cwd: emptyProject }),
        largeJail: () => stopwatch.untilReady(jail, specs.large),
        emptyJail: () => stopwatch.untilReady(jail, specs.empty),
      },
      { rounds: quick ? 8 : 30, warmUps: 2, settleMs: 30 },
    );
    const jails = compare(samples.largeJail, samples.emptyJail);
    return {
      ...compare(samples.large, samples.empty),
      information: {
        jailAlone: jails.ratio,
        jailLargeP50Ms: jails.subject.p50Ms,
        jailEmptyP50Ms: jails.reference.p50Ms,
      },
    };
  },
};

/** As uneven as a project is: nested folders, and a file to hide in one of a hundred. */
function makeProject(project) {
  const content = Buffer.alloc(FILE_BYTES, "agentkernel ");
  for (let i = 0; i < FOLDERS; i++) {
    const at = join(project, `part-${i % 10}`, `group-${Math.floor(i / 10) % 10}`, `folder-${i}`);
    mkdirSync(at, { recursive: true });
    for (let j = 0; j < FILES_EACH; j++) {
      const name = i % 100 === 0 && j === 0 ? ".env" : `source-${j}.ts`;
      writeFileSync(join(at, name), content);
    }
  }
}
