/** Finds what `agents install` has put into the files of coding agents, to remove it with everything else. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Setting } from "../../agents/agent.js";
import { launchWords } from "../../agents/launch.js";
import { stateFolder } from "../../core/state-folders.js";
import type { Invocation } from "../../invocation/index.js";

interface AgentEntries {
  /** Files of this user's that would be changed. */
  readonly files: readonly string[];
  /** Files in projects, which are not ours to visit. */
  readonly elsewhere: readonly string[];
  remove(): void;
}

export async function agentEntries({ cwd, env, homeDir }: Invocation): Promise<AgentEntries> {
  const { agents, apply, fileExists, plan } = await import("../../agents/index.js");
  const at = { cwd, env, homeDir };
  const setting: Setting = { scope: "user", launch: launchWords("user", at), at, exists: fileExists };
  const planned = agents.map((agent) => plan("uninstall", agent, setting)).filter(({ changes }) => changes.length > 0);
  return {
    files: planned.flatMap(({ changes }) => changes.map(({ path }) => path)),
    elsewhere: projectFiles(join(stateFolder(env, homeDir), "agents")),
    remove: () => {
      for (const one of planned) apply(one);
    },
  };
}

function projectFiles(folder: string): readonly string[] {
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
  return names
    .filter((name) => /-project-[0-9a-f]+\.json$/.test(name))
    .flatMap((name) => {
      const record = JSON.parse(readFileSync(join(folder, name), "utf8")) as { readonly files: object };
      return Object.keys(record.files);
    });
}
