import { join } from "node:path";
import { BenchDaemon } from "../daemon.mjs";
import { withDocker } from "../docker.mjs";
import { makeLargeProject } from "../large-project.mjs";
import { compare, interleaved } from "../measure.mjs";

const GIGABYTE = ["head", "-c", "1073741824", "/dev/zero"];

function onDocker(program, command) {
  return [program, "run", "--no-network", "--backend", "docker", "--image", "bench", "--pull", "never", ...command];
}

/** With the engine in the environment of whoever asks, as users have it. */
async function withDockerAndDaemon(context, work) {
  return await withDocker(context, async (docker) => {
    const daemon = new BenchDaemon(context);
    daemon.variables.DOCKER_HOST = docker.address;
    const stopwatch = daemon.newStopwatch();
    try {
      return await work({ docker, daemon, stopwatch });
    } finally {
      stopwatch.close();
      daemon.stop();
    }
  });
}

export const dockerWarm = {
  name: "docker-warm",
  promise: "`run true` on docker with the daemon's warm pool, against plain `docker run`",
  limit: { ratio: 0.1 },
  run: (context, quick) =>
    withDockerAndDaemon(context, async ({ docker, daemon, stopwatch }) => {
      const at = { cwd: context.emptyProject };
      const run = () => stopwatch.untilExit(onDocker(daemon.runTrue[0], ["true"]), at);
      await run();
      const warm = () => {
        // What is measured is a run that finds a container ready.
        while (daemon.pool.warm < daemon.pool.min);
        return run();
      };
      const { ours, theirs } = await interleaved(
        { ours: warm, theirs: () => stopwatch.untilExit(docker.runTrue, at) },
        { rounds: quick ? 8 : 30, warmUps: 2, settleMs: 50 },
      );
      return compare(ours, theirs);
    }),
};

export const dockerCold = {
  name: "docker-cold",
  promise: "a cold `run true` on docker, against plain `docker run`",
  limit: { ratio: 1.3 },
  run: (context, quick) =>
    withDocker(context, async (docker) => {
      const at = { cwd: context.emptyProject };
      const stopwatch = context.stopwatchWithDaemon(context.folder, {
        AGENTKERNEL_DAEMON: "off",
        DOCKER_HOST: docker.address,
      });
      const { ours, theirs } = await interleaved(
        {
          ours: () => stopwatch.untilExit(onDocker(context.cli, ["true"]), at),
          theirs: () => stopwatch.untilExit(docker.runTrue, at),
        },
        { rounds: quick ? 8 : 30, warmUps: 2, settleMs: 50 },
      );
      stopwatch.close();
      return compare(ours, theirs);
    }),
};

const FILE_BYTES = 21_474;

export const dockerProject = {
  name: "docker-project",
  promise: "a cold `run true` on docker in a project of 100,000 files and 2 GB, against an empty one",
  limit: { ratio: 1.2 },
  run: (context, quick) =>
    withDocker(context, async (docker) => {
      const project = join(context.folder, "docker-project");
      makeLargeProject(project, FILE_BYTES);
      const stopwatch = context.stopwatchWithDaemon(context.folder, {
        AGENTKERNEL_DAEMON: "off",
        DOCKER_HOST: docker.address,
      });
      const run = (cwd) => () => stopwatch.untilExit(onDocker(context.cli, ["true"]), { cwd });
      const { large, empty } = await interleaved(
        { large: run(project), empty: run(context.emptyProject) },
        { rounds: quick ? 8 : 30, warmUps: 2, settleMs: 50 },
      );
      stopwatch.close();
      return compare(large, empty);
    }),
};

export const dockerGigabyte = {
  name: "docker-gigabyte",
  promise: "1 GB of output on docker into cat, against `docker run`",
  limit: { ratio: 1 },
  run: (context, quick) =>
    withDockerAndDaemon(context, async ({ docker, daemon, stopwatch }) => {
      const piped = (words) => () =>
        stopwatch.untilExit(["sh", "-c", `${words.join(" ")} | cat >/dev/null`], { cwd: context.emptyProject });
      const plain = docker.words("run", "--rm", "--network", "none", "bench", ...GIGABYTE);
      const { ours, theirs } = await interleaved(
        { ours: piped(onDocker(daemon.runTrue[0], GIGABYTE)), theirs: piped(plain) },
        { rounds: quick ? 2 : 7, warmUps: 1 },
      );
      return compare(ours, theirs);
    }),
};
