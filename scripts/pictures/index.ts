/**
 * `npm run pictures [-- NAME…]`: makes the pictures of the documentation from what real programs show on a real terminal.
 * It needs root, for each scene is played in namespaces of its own, and npm, for the agents. It writes pictures and
 * nothing else, and none that has a path of this machine in it.
 */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { agentCli } from "../../test/support/agent-clis.js";
import { type Scene, scenes } from "./scenes/index.js";
import { play } from "./stage/index.js";
import type { Belongings } from "./stage/neutral-home.js";
import { terminalPicture } from "./svg/index.js";
import { screenText } from "./svg/screen-cells.js";

const run = promisify(execFile);
const PLAY = "--play";

async function main(words: readonly string[]): Promise<void> {
  const [first, name, belongings] = words;
  if (first === PLAY) {
    const captured = await play(sceneCalled(name ?? ""), JSON.parse(belongings ?? "{}") as Belongings);
    process.stdout.write(captured, () => process.exit(0));
    return;
  }
  if (process.getuid?.() !== 0) throw new Error("pictures are made as root: each has namespaces of its own");
  const wanted = words.length === 0 ? scenes : words.map(sceneCalled);
  const repository = process.cwd();
  for (const scene of wanted) await makePicture(scene, repository);
}

/** The agent in the version that npm serves now. */
async function belongingsOf({ agent }: Scene, repository: string): Promise<Belongings> {
  const agents = join(repository, ".build/agent-clis");
  mkdirSync(agents, { recursive: true });
  const programs = agent === null ? {} : { [agent]: (await agentCli(agent)).program };
  return { dist: join(repository, "dist"), agents, programs };
}

async function makePicture(scene: Scene, repository: string): Promise<void> {
  const belongings = await belongingsOf(scene, repository);
  const own = fileURLToPath(import.meta.url);
  const apart = ["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const words = [...apart, process.execPath, own, PLAY, scene.name, JSON.stringify(belongings)];
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C.UTF-8" };
  const { stdout: captured } = await run("unshare", words, { cwd: "/", env, maxBuffer: 16 * 1024 * 1024 });
  const text = screenText(captured);
  const strange = /\/(tmp|work|root|var\/tmp)\b.*/.exec(text);
  if (strange !== null) throw new Error(`${scene.name} shows a path of this machine: ${strange[0]}\n${text}`);
  const { columns, title, description } = scene;
  const path = join(repository, scene.path);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, terminalPicture({ captured, columns, title, description }));
  process.stdout.write(`${scene.path}\n${text}\n\n`);
}

function sceneCalled(name: string): Scene {
  const found = scenes.find((scene) => scene.name === name);
  if (found === undefined) {
    throw new Error(`there is no picture "${name}"; there are ${scenes.map((scene) => scene.name).join(", ")}`);
  }
  return found;
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
