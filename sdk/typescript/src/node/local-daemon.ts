/** Starts the user's daemon, by the command line, unless it is up. */
import { spawn } from "node:child_process";
import { AgentKernelError } from "../errors.js";

const INSTALL_HINT = "install agentkernel, or name its program (`program`, AGENTKERNEL_PROGRAM)";

/** The URL of its socket. */
export async function startLocalDaemon(program: string): Promise<string> {
  const words = ["daemon", "start", "--json", "--idle-timeout", "1h"];
  const { stdout, stderr } = await outputOf(program, words);
  try {
    const { success, data, error } = JSON.parse(stdout);
    if (success) return `unix://${encodeURI(data.socket)}`;
    throw new AgentKernelError(`${program} daemon start: ${error.message}`);
  } catch (cause) {
    if (cause instanceof AgentKernelError) throw cause;
    throw new AgentKernelError(`${program} daemon start: ${stderr.trim() || "it did not say where it listens"}`, {
      cause,
    });
  }
}

function outputOf(
  program: string,
  words: readonly string[],
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("error", (cause) => {
      reject(new AgentKernelError(`${program} cannot be started (${cause.message}): ${INSTALL_HINT}`, { cause }));
    });
    child.once("close", () => resolve({ stdout, stderr }));
  });
}
