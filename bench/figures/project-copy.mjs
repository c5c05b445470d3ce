import { join } from "node:path";
import { makeLargeProject } from "../large-project.mjs";
import { compare, interleaved } from "../measure.mjs";

const FILE_BYTES = 10_737;

export const projectCopy = {
  name: "project-copy",
  promise: "`run true` in a project of 100,000 files and 1 GB, caches warm, against an empty one",
  limit: { ratio: 2 },
  async run({ folder, cli, jail, jailSpecFile, emptyProject, stopwatch }, quick) {
    const project = join(folder, "large-project");
    makeLargeProject(project, FILE_BYTES);
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
