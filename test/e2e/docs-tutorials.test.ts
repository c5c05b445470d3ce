/** The tutorials, typed from top to bottom in a shell, each in a home folder of its own and without any network but loopback. */
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors, environmentOf, programOf } from "../support/actors.js";
import { OnlyLoopback } from "../support/only-loopback.js";
import { isShown, pageFiles, typedCommands } from "../support/page-commands.js";
import { repository } from "../support/repository.js";
import { buildSdk } from "../support/sdk/runners.js";
import { testSettings } from "../support/test-settings.js";

const [actor] = actors;
if (actor === undefined) throw new Error("there is no actor");
const pages = [
  ...["claude-code", "agent-with-the-sdk", "ci-job", "team-server", "air-gapped"].map((name) => `tutorials/${name}`),
  ...["coming-from-bubblewrap", "coming-from-e2b", "coming-from-srt"],
].map((name) => `docs/${name}.md`);
/** Between the outputs of two commands, behind the status of the one before. */
const MARK = "\u001e";

const isRoot = actor.name === "root";
const why = isRoot ? "" : " (skipped: a network namespace takes root)";

describe.skipIf(!isRoot)(`the tutorials${why}`, () => {
  let world: OnlyLoopback;
  beforeAll(async () => {
    await buildSdk({ name: "typescript" });
    world = await OnlyLoopback.make();
  });
  afterAll(() => world?.end());

  it.each(pages)("%s does what it shows", async (page) => {
    const text = readFileSync(join(repository, page), "utf8");
    const commands = typedCommands(text);
    expect(commands.length).toBeGreaterThan(1);
    const folder = actor.folder("tutorial");
    const place = (name: string): string => {
      mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
      return join(folder, name);
    };
    const [programs, project] = [place("bin"), place("work")];
    writeFileSync(join(programs, "agentkernel"), `#!/bin/sh\nexec ${programOf(actor).join(" ")} "$@"\n`);
    chmodSync(join(programs, "agentkernel"), 0o755);
    for (const { name, text: content } of pageFiles(text)) writeFileSync(join(project, name), content);
    mkdirSync(join(project, "node_modules"));
    symlinkSync(join(repository, "sdk", "typescript"), join(project, "node_modules", "agentkernel"));
    const env = {
      ...environmentOf(actor),
      ...testSettings,
      HOME: place("home"),
      XDG_STATE_HOME: place("state"),
      XDG_CACHE_HOME: place("cache"),
      XDG_CONFIG_HOME: place("config"),
      XDG_RUNTIME_DIR: place("run"),
      PATH: `${programs}:${process.env.PATH}`,
    };
    const script = commands.map(({ command }) => `${command}\nprintf '${MARK}%s${MARK}' "$?"`).join("\n");
    // Where a page fails halfway, what it started ends all the same.
    const end = "agentkernel daemon stop > /dev/null; kill $(jobs -p) 2> /dev/null";
    const shell = ["/bin/bash", "-c", `exec 2>&1\n${script}\n${end}\n`];
    const { stdout } = await world.run(shell, { actor, env, cwd: project });
    const results = stdout.split(MARK);
    commands.forEach(({ command, output }, index) => {
      const [came = "", status] = results.slice(index * 2);
      expect({ command, status, came }).toMatchObject({ command, status: "0" });
      expect(isShown(output, came), `${command}\n--- shown\n${output}\n--- came\n${came}`).toBe(true);
    });
  });
});

describe("the comparison with what came", () => {
  it("takes three dots for anything, and a line of them for any lines", () => {
    expect(isShown("a\n…\nb", "a\nx\ny\nb\n")).toBe(true);
    expect(isShown("a\n…\nb", "a\nb")).toBe(true);
    expect(isShown("…\nb", "b")).toBe(true);
    expect(isShown("a …", "a b c")).toBe(true);
    expect(isShown("a.c", "abc")).toBe(false);
    expect(isShown("a", "a\nb")).toBe(false);
  });

  it("reads commands, what they show, and files", () => {
    const page = "```console\n$ a b\nc\n$ d\n```\n```sh\nnot this\n```\n```js x.mjs\n1;\n```\n";
    expect(typedCommands(page)).toEqual([
      { command: "a b", output: "c" },
      { command: "d", output: "" },
    ]);
    expect(pageFiles(page)).toEqual([{ name: "x.mjs", text: "1;\n" }]);
  });
});
