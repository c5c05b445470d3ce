import { execFile } from "node:child_process";
import { cpSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { interleaved, quantile } from "../measure.mjs";
import { GREETING_PORT, joinedNetworks } from "../networks.mjs";

const run = promisify(execFile);
/** The first ones pay for code that is loaded and compiled for them. */
const WARM_UPS = 50;

async function times(argv, cwd) {
  const [program, ...rest] = argv;
  const { stdout } = await run(program, rest, { cwd });
  const us = stdout.trim().split("\n").map(Number).slice(WARM_UPS);
  return { us };
}

export const egressConnect = {
  name: "egress-connect",
  promise: "what capture and gateway add to connecting, at the median",
  limit: { p50Ms: 1 },
  async run({ folder, cli }, quick) {
    const { address, inside, connectTimes } = await joinedNetworks(folder);
    // The sandbox sees its project and the host's programs, not the benchmark's folder.
    const project = join(folder, "connect-project");
    mkdirSync(project);
    const program = join(project, basename(connectTimes));
    cpSync(connectTimes, program);
    const connect = [address, String(GREETING_PORT), String(WARM_UPS + (quick ? 200 : 500))];
    const samples = await interleaved(
      {
        ours: () =>
          times([...inside, cli, "run", "--image", "host", "--", `./${basename(program)}`, ...connect], project),
        direct: () => times([...inside, program, ...connect], project),
      },
      { rounds: quick ? 3 : 9, warmUps: 0 },
    );
    const all = (list) => list.flatMap(({ us }) => us);
    const at = (list, q) => quantile(all(list), q) / 1000;
    const added = (q) => at(samples.ours, q) - at(samples.direct, q);
    return {
      subject: { p50Ms: added(0.5), p95Ms: added(0.95) },
      reference: { p50Ms: at(samples.direct, 0.5), p95Ms: at(samples.direct, 0.95) },
      information: {
        bestRunAddedMs: Math.min(...samples.ours.map(({ us }) => quantile(us, 0.5))) / 1000 - at(samples.direct, 0.5),
      },
    };
  },
};
