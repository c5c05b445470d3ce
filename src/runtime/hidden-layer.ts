/** Lists hidden files for backends that do not report them: the search runs beside their start. */
import type { Backend, BootSpec, HiddenFiles, Layer, LinkedRepository } from "../core/backend.js";
import { findHidden } from "../guest/hidden-content.js";

const LISTED = 50;
const NAMED = 5;

/** As native/jail/src/view/told.rs has it. Never rejects. */
export async function hiddenLayers(
  { tellsHidden }: Pick<Backend, "tellsHidden">,
  { policy: { fs }, projectDir, repository }: Pick<BootSpec, "policy" | "projectDir" | "repository">,
): Promise<readonly Layer[]> {
  if (tellsHidden === true || fs.workspace.mode === "none" || projectDir === null) return [];
  const files = await hiddenFiles(fs, projectDir);
  return repository === undefined ? files : [...files, withoutRepository(repository)];
}

/** Such a backend shows nothing beside the project. */
function withoutRepository({ directory, part }: LinkedRepository): Layer {
  const top = part === "" ? "" : ", or name the top of its working tree with --dir";
  const detail = `git inside finds no repository: that of the project is ${directory}, and this backend shows the project alone; use --backend linux${top}`;
  return { name: "git", state: "partial", detail };
}

async function hiddenFiles(fs: BootSpec["policy"]["fs"], projectDir: string): Promise<readonly Layer[]> {
  try {
    const { hidden: found, omitted, tracked } = await findHidden(projectDir, fs.deny);
    const count = found.length + omitted;
    return count === 0 ? [] : [hiddenLayer({ count, tracked, files: found.slice(0, LISTED) })];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [{ name: "hidden-files", state: "partial", detail: `they are hidden, but could not be listed: ${why}` }];
  }
}

function hiddenLayer(hidden: HiddenFiles): Layer {
  const named = hidden.files.slice(0, NAMED).map(({ path }) => path);
  const more = hidden.count > named.length ? ` and ${hidden.count - named.length} more` : "";
  const detail = `${hidden.count} hidden: ${named.join(", ")}${more}`;
  return { name: "hidden-files", state: "applied", detail, hidden };
}
