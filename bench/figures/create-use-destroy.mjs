import { withDocker } from "../docker.mjs";
import { compare, interleaved } from "../measure.mjs";
import { timed, withServer } from "./http.mjs";

export const createUseDestroy = {
  name: "create-use-destroy",
  promise: "a named sandbox created, used once and removed over HTTP, against `docker run -d`, `exec` and `rm -f`",
  limit: null,
  run: (context, quick) =>
    withDocker(context, (docker) =>
      withServer(context, async (ask) => {
        const ours = async () => {
          await ask("POST", "/sandboxes", { name: "bench", network: false, image: "host" });
          await ask("POST", "/sandboxes/bench/exec", { command: ["true"] });
          await ask("DELETE", "/sandboxes/bench?force=true");
        };
        const theirs = () => {
          docker.keep("used");
          docker.ask("exec", "used", "true");
          docker.ask("rm", "-f", "used");
        };
        const samples = await interleaved(
          { ours: () => timed(ours), theirs: () => timed(async () => theirs()) },
          { rounds: quick ? 5 : 30, warmUps: 2, settleMs: 10 },
        );
        const compared = compare(samples.ours, samples.theirs);
        return { ...compared, information: { aSecond: 1000 / compared.subject.p50Ms } };
      }),
    ),
};
