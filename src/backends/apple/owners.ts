/**
 * The labels of our containers at Apple's program, and those that nobody owns any more. A container is found by its
 * labels, all of them and exactly, never by its name; nothing without them is touched.
 */
import { type Labels, labels, userLabel } from "../engine/labels.js";
import { containersOf, type FoundContainer } from "./answers.js";
import { CliRefusal, type ContainerCli } from "./cli.js";

const KIND = "run";

/** `folder`: in the state directory that it works for. */
export function ownLabels(sandbox: string, folder: string): Labels {
  return {
    [labels.kind]: KIND,
    [labels.sandbox]: sandbox,
    [labels.user]: userLabel(),
    [labels.owner]: String(process.pid),
    [labels.folder]: folder,
  };
}

/** Of this user, running or not. */
export async function ownContainers(cli: ContainerCli): Promise<readonly FoundContainer[]> {
  const all = containersOf(await cli.json(["list", "--all", "--format", "json"]));
  return all.filter((one) => one.labels[labels.kind] === KIND && one.labels[labels.user] === userLabel());
}

/** Nothing of the sandbox is left, whether it ran, had ended or never began. */
export async function removeSandbox(cli: ContainerCli, sandbox: string): Promise<void> {
  for (const { id, labels: found } of await ownContainers(cli)) {
    if (found[labels.sandbox] === sandbox) await remove(cli, id);
  }
}

/** Removes containers of processes that were killed; resolves to their ids. */
export async function sweepOrphans(cli: ContainerCli): Promise<readonly string[]> {
  const orphans = (await ownContainers(cli)).filter(({ labels: found }) => isGone(found[labels.owner]));
  for (const { id } of orphans) await remove(cli, id);
  return orphans.map(({ id }) => id);
}

/** The kill switch: all that work for one state directory, or (null) for this user, at once. How many ran. */
export async function endAllOnApple(cli: ContainerCli, folder: string | null): Promise<number> {
  const own = await ownContainers(cli);
  const found = own.filter((one) => folder === null || one.labels[labels.folder] === folder);
  await Promise.all(found.map(({ id }) => remove(cli, id)));
  return found.filter(({ isRunning }) => isRunning).length;
}

async function remove(cli: ContainerCli, id: string): Promise<void> {
  try {
    await cli.ask(["delete", "--force", id]);
  } catch (error) {
    // It may have been removed meanwhile, by its own end: only one that is still there is a failure.
    if (!(error instanceof CliRefusal)) throw error;
    if ((await ownContainers(cli)).some((one) => one.id === id)) throw error;
  }
}

/** A number that another process has by now keeps the container for as long as that lives: never the other way round. */
function isGone(owner: string | undefined): boolean {
  const pid = Number(owner);
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
