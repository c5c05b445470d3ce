// The sources of the SDKs that their own registries take as they are. TypeScript's is in the npm package.
import { cpSync } from "node:fs";
import { basename, join } from "node:path";

const languages = ["python", "golang", "rust", "swift"];
const madeByTools = new Set(["dist", "target", ".build", "build", "__pycache__", ".mypy_cache", ".ruff_cache"]);

/** The folders, each named for what its archive is called. */
export function stageSdks({ root, version, scratch }) {
  return languages.map((language) => {
    const folder = join(scratch, `agentkernel-sdk-${language}-${version}`);
    const filter = (path) => !madeByTools.has(basename(path)) && !path.endsWith(".egg-info");
    cpSync(join(root, "sdk", language), folder, { recursive: true, filter });
    cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
    return folder;
  });
}
