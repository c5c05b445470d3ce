/**
 * Plays one scene and gives back what the screen then shows. The process must have a network namespace with nothing in it
 * but loopback, and mount and process namespaces of its own: with the last process of those everything that was started
 * here is gone.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { startModelServer } from "../../../test/support/model-servers/index.js";
import type { Scene } from "../scenes/index.js";
import { screenText } from "../svg/screen-cells.js";
import { type Belongings, environment, HOME, makeHome, PROJECT, write } from "./neutral-home.js";
import { agentkernelEnded } from "./processes.js";
import { Terminal } from "./terminal.js";

export async function play(scene: Scene, belongings: Belongings): Promise<string> {
  execFileSync("ip", ["link", "set", "lo", "up"]);
  makeHome(belongings);
  const model = scene.model === null ? null : await startModelServer(scene.model.protocol, scene.model.script);
  const placed = (text: string): string => text.replaceAll("{url}", model?.url ?? "");
  const env = environment(Object.fromEntries(Object.entries(scene.env).map(([name, value]) => [name, placed(value)])));
  for (const [name, text] of Object.entries(scene.files)) write(join(HOME, name), placed(text));
  for (const [program = "", ...words] of scene.preparations) {
    execFileSync(program, words, { cwd: PROJECT, env: { ...env }, stdio: ["ignore", "ignore", "inherit"] });
  }
  const { columns, rows, hasBlanks, argv } = scene;
  const terminal = new Terminal(join(HOME, ".tmux-socket"), { columns, rows, hasBlanks, argv, folder: PROJECT, env });
  for (const { after, type, keys = [], click } of scene.moves) {
    await terminal.until(after);
    if (type !== undefined) terminal.type(type);
    if (type !== undefined && keys.length > 0) await terminal.until(shown(type));
    if (keys.length > 0) terminal.key(...keys);
    if (click !== undefined) terminal.click(click);
  }
  const captured = await terminal.until(scene.end);
  const answers = model?.seen.results.join("\n") ?? "";
  if (scene.model !== null && !scene.model.answered.test(answers)) {
    throw new Error(
      `${scene.name}: the tool answered something else, and the model's words are not true:\n${answers}\n${model?.seen.tools.join(" ")}\n${screenText(captured)}`,
    );
  }
  if (scene.leaving !== undefined) await terminal.leave(scene.leaving);
  terminal.close();
  for (const [program = "", ...words] of scene.afterwards) {
    execFileSync(program, words, { cwd: PROJECT, env: { ...env }, stdio: "ignore" });
  }
  await agentkernelEnded();
  model?.close();
  return captured;
}

/** The end of what was typed; its beginning may be on the line before. */
function shown(typed: string): RegExp {
  return new RegExp(typed.slice(-12).replace(/[^\w ]/g, "\\$&"));
}
