/** `--dir`: everything is as if the caller had asked for it in that directory. */
import { resolve } from "node:path";
import type { Invocation } from "../../invocation/index.js";
import { projectFolder } from "../../request/project-folder.js";
import type { ParsedOptions } from "../option-spec.js";

export function inProject(parsed: ParsedOptions, invocation: Invocation): Invocation {
  const dir = parsed.values.get("dir")?.[0];
  if (dir === undefined) return invocation;
  const cwd = projectFolder({ path: resolve(invocation.cwd, dir), field: "--dir", shown: dir });
  // The look ahead was at the directory that the caller is in.
  return { ...invocation, cwd, prescan: null };
}
