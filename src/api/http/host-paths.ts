/** Words for callers who are not the user of this machine: where its user keeps things is not theirs to know. */
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Redactor } from "../../core/redact.js";
import { dataFolder, stateFolder } from "../../core/state-folders.js";
import type { Surroundings } from "../../core/surroundings.js";
import { userWidePath } from "../../request/index.js";

const INSTEAD = "the server's own files";

/** Paths end where a message goes on. */
const REST = String.raw`[^\s"'\`,;()]*`;

export function hidingPaths(redact: Redactor, { env, homeDir }: Pick<Surroundings, "env" | "homeDir">): Redactor {
  const config = userWidePath({ env, homeDir, cwd: "/" });
  const folders = [
    ...(config === null ? [] : [dirname(config)]),
    dataFolder(env, homeDir),
    stateFolder(env, homeDir),
    join(homeDir, ".docker"),
  ];
  const known = new Set(folders.flatMap((folder) => [folder, real(folder)]).filter((folder) => folder.length > 1));
  const found = new RegExp(`(?:${[...known].map(escaped).join("|")})(?![\\w.-])${REST}`, "g");
  const hide = (text: string) => text.replace(found, INSTEAD);
  return {
    text: (text) => hide(redact.text(text)),
    value: (text) => hide(redact.value(text)),
    argv: (words) => redact.argv(words),
  };
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It is not there, so nothing speaks of where it really is.
    return path;
  }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
