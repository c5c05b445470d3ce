import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BIG_FILE, serveImage } from "../images.mjs";
import { compare, interleaved } from "../measure.mjs";

/** The image in a store of the benchmark's own, and the environment that uses it. */
async function pulled({ folder, cli }) {
  const image = await serveImage(folder);
  const env = { ...process.env, XDG_DATA_HOME: join(folder, "store") };
  execFileSync(cli, ["images", "pull", image], { env, stdio: "ignore" });
  return { image, env };
}

export const imageStart = {
  name: "image-start",
  promise: "starting a sandbox from an unpacked image of four layers, against one from host",
  limit: { ratio: 1.2 },
  async run(context, quick) {
    const { emptyProject, jail, jailSpecFile, stopwatch } = context;
    const { image, env } = await pulled(context);
    const layers = layersOf(env, image);
    const [fromImage, fromHost] = [jailSpecFile(emptyProject, { layers }), jailSpecFile(emptyProject)];
    const samples = await interleaved(
      {
        image: () => stopwatch.untilReady(jail, fromImage),
        host: () => stopwatch.untilReady(jail, fromHost),
      },
      { rounds: quick ? 40 : 200, warmUps: 5, settleMs: 30 },
    );
    return { ...compare(samples.image, samples.host), information: { layers: layers.length } };
  },
};

function layersOf(env, image) {
  const name = encodeURIComponent(`${image} linux/${process.arch === "x64" ? "amd64" : process.arch}`);
  const store = join(env.XDG_DATA_HOME, "agentkernel", "images");
  const { layers } = JSON.parse(readFileSync(join(store, "ready", `${name}.json`), "utf8"));
  return layers.map((layer) => join(store, "layers", layer, "fs"));
}

const SANDBOXES = 100;

export const imagePageCache = {
  name: "image-page-cache",
  promise: `growth of the page cache while ${SANDBOXES} sandboxes of one image read the same file of 64 MiB`,
  limit: { mib: 1.5 * (BIG_FILE.bytes / 2 ** 20) },
  async run(context) {
    const { cli, emptyProject } = context;
    const { image, env } = await pulled(context);
    const [top] = layersOf(env, image);
    execFileSync("dd", [`if=${join(top, BIG_FILE.path)}`, "iflag=nocache", "count=0"], { stdio: "ignore" });
    const before = cachedMiB();
    const script = `/busybox cat ${BIG_FILE.path} > /dev/null; echo; read end`;
    const words = ["run", "--no-network", "-i", image, "/busybox", "sh", "-c", script];
    const sandboxes = Array.from({ length: SANDBOXES }, () =>
      spawn(cli, words, { cwd: emptyProject, env, stdio: ["pipe", "pipe", "ignore"] }),
    );
    await Promise.all(sandboxes.map((child) => once(child.stdout, "data")));
    const mib = cachedMiB() - before;
    await Promise.all(
      sandboxes.map(async (child) => {
        child.stdin.end("\n");
        await once(child, "exit");
      }),
    );
    return { mib };
  },
};

function cachedMiB() {
  const found = /^Cached: +(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"));
  return Number(found[1]) / 1024;
}
