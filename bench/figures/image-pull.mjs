import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { serveImage } from "../images.mjs";
import { compare, interleaved } from "../measure.mjs";

export const imagePull = {
  name: "image-pull",
  promise: "pull and unpack of an image of 200 MB, against `podman pull` from the same registry",
  limit: { ratio: 1.0 },
  async run({ folder, cli, stopwatch }, quick) {
    const image = await serveImage(folder);
    let round = 0;
    const fresh = (name) => {
      // Not removed before the end: a filesystem is slow at making files where many were removed a moment ago.
      const made = join(folder, `${name}-${round++}`);
      mkdirSync(made);
      execFileSync("sync");
      return made;
    };
    const samples = await interleaved(
      {
        ours: () => stopwatch.untilExit(["env", `XDG_DATA_HOME=${fresh("pull")}`, cli, "images", "pull", image]),
        podman: () => {
          const storage = fresh("podman");
          const where = [
            "--root",
            join(storage, "root"),
            "--runroot",
            join(storage, "run"),
            "--storage-driver",
            "overlay",
          ];
          return stopwatch.untilExit(["podman", ...where, "pull", "-q", "--tls-verify=false", image]);
        },
      },
      { rounds: quick ? 2 : 5, warmUps: 0 },
    );
    return compare(samples.ours, samples.podman);
  },
};
