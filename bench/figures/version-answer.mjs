import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { stageMainPackage, stagePlatformPackage, stageWhole } from "../../scripts/release/folders.mjs";
import { thisPlatform } from "../../scripts/release/platforms.mjs";
import { compare, interleaved, summary } from "../measure.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export const versionAnswer = {
  name: "version-answer",
  promise: "`agentkernel --version` of an installed release against `true`",
  limit: { ratio: 2 },
  async run({ folder, emptyProject, stopwatch }, quick) {
    const { installed, npm } = layOut(join(folder, "installed"));
    const at = { cwd: emptyProject };
    const samples = await interleaved(
      {
        installed: () => stopwatch.untilExit([installed, "--version"], at),
        npm: () => stopwatch.untilExit([npm, "--version"], at),
        shell: () => stopwatch.untilExit(["/bin/sh", "-c", ":"], at),
        true: () => stopwatch.untilExit(["/bin/true"], at),
      },
      { rounds: quick ? 100 : 500, warmUps: 10 },
    );
    return {
      ...compare(samples.installed, samples.true),
      information: {
        throughNpmsLink: compare(samples.npm, samples.true).ratio,
        throughNpmsLinkP50Ms: summary(samples.npm).p50Ms,
        emptyShell: compare(samples.shell, samples.true).ratio,
      },
    };
  },
};

/** As the install script and as `npm install -g` lay them out. */
function layOut(folder) {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const native = join(root, "dist", "native");
  const natives = new Map([[thisPlatform, native]]);
  mkdirSync(join(folder, "sdk"), { recursive: true });
  const made = { pages: [], completions: { bash: "", zsh: "", fish: "" }, sdk: join(folder, "sdk") };
  const base = join(folder, "script/lib/agentkernel");
  stageWhole({ root, made, version, platform: thisPlatform, natives, folder: join(base, "versions", version) });
  symlinkSync(`versions/${version}`, join(base, "current"));
  const main = join(folder, "npm/lib/node_modules/agentkernel");
  stageMainPackage({ root, made, version, natives, folder: main });
  const own = join(main, "node_modules/@agentkernel", thisPlatform);
  stagePlatformPackage({ root, version, platform: thisPlatform, native, folder: own });
  const link = (where, target) => {
    mkdirSync(join(folder, where, "bin"), { recursive: true });
    symlinkSync(target, join(folder, where, "bin/agentkernel"));
    return join(folder, where, "bin/agentkernel");
  };
  return {
    installed: link("script", "../lib/agentkernel/current/dist/native/ak-client"),
    npm: link("npm", "../lib/node_modules/agentkernel/bin/agentkernel"),
  };
}
