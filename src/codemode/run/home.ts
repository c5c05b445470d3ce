/** The folder in the sandbox that a program lies in, with what it needs beside it. */
import type { SessionSandbox } from "../../runtime/session-sandbox.js";
import { HOME } from "./inside.js";
import type { ProgramFile } from "./program.js";

/** Whoever commands run as writes there: what is compiled, and the pipe that a compiler waits at. */
export async function makeHome({ files }: SessionSandbox): Promise<void> {
  await files.mkdir(HOME, { parents: true, mode: 0o777 });
  await files.mkdir(`${HOME}/js`, { mode: 0o777 });
}

export async function writeFiles({ files }: SessionSandbox, program: readonly ProgramFile[]): Promise<void> {
  await Promise.all(program.map(({ path, bytes }) => files.writeFile(path, bytes, { parents: true })));
}
