import { BenchDaemon } from "../daemon.mjs";
import { withDocker } from "../docker.mjs";
import { compare, interleaved } from "../measure.mjs";
import { timed, withServer } from "./http.mjs";

const AT_ONCE = 4;

export const dockerRun = {
  name: "docker-run",
  promise:
    "`run true` through the daemon, network on, a real project, against `docker run` of `true` without a network",
  limit: { ratio: 0.033 },
  run: (context, quick) =>
    withDocker(context, async (docker) => {
      const daemon = new BenchDaemon(context);
      try {
        await daemon.filled();
        const { ours, theirs } = await interleaved(
          { ours: () => daemon.run(), theirs: () => daemon.run(docker.runTrue) },
          { rounds: quick ? 10 : 50, warmUps: 3, settleMs: 10 },
        );
        return compare(ours, theirs);
      } finally {
        daemon.stop();
      }
    }),
};

export const dockerThroughput = {
  name: "docker-throughput",
  promise: `the time that a fresh sandbox takes through POST /run, against one of \`docker run\`, both ${AT_ONCE} at once`,
  limit: { ratio: 0.05 },
  run: (context, quick) =>
    withDocker(context, (docker) =>
      withServer(context, async (ask) => {
        const body = { command: ["true"], network: false, image: "host" };
        const each = ({ wallMs }, count) => ({ wallMs: wallMs / count, cpuMs: 0 });
        const runs = quick ? 100 : 400;
        const ours = () => Promise.all(Array.from({ length: AT_ONCE }, () => inTurn(runs / AT_ONCE)));
        const inTurn = async (count) => {
          for (let run = 0; run < count; run++) await ask("POST", "/run", body);
        };
        const theirs = () => context.stopwatch.untilExit(docker.runTrue, { cwd: context.emptyProject, count: AT_ONCE });
        const samples = await interleaved(
          { ours: async () => each(await timed(ours), runs), theirs: async () => each(await theirs(), AT_ONCE) },
          { rounds: quick ? 4 : 10, warmUps: 1, settleMs: 100 },
        );
        const compared = compare(samples.ours, samples.theirs);
        return { ...compared, information: { aSecond: 1000 / compared.subject.p50Ms } };
      }),
    ),
};

export const dockerExec = {
  name: "docker-exec",
  promise: "exec of `true` in a running sandbox over HTTP, against `docker exec` of `true` in a running container",
  limit: { ratio: 0.05 },
  run: (context, quick) =>
    withDocker(context, (docker) =>
      withServer(context, async (ask) => {
        docker.keep("kept");
        await ask("POST", "/sandboxes", { name: "bench", network: false, image: "host" });
        const { ours, theirs } = await interleaved(
          {
            ours: () => timed(() => ask("POST", "/sandboxes/bench/exec", { command: ["true"] })),
            theirs: () =>
              context.stopwatch.untilExit(docker.words("exec", "kept", "true"), { cwd: context.emptyProject }),
          },
          { rounds: quick ? 20 : 100, warmUps: 5, settleMs: 10 },
        );
        await ask("DELETE", "/sandboxes/bench?force=true");
        return compare(ours, theirs);
      }),
    ),
};
