/** `keys token`: what stands for the user on a loopback port of the HTTP interface, for `curl` and the like. */
import { AgentKernelError } from "../../core/errors.js";
import { apiTokenFile } from "../../core/state-folders.js";
import { textIfThere } from "../../core/text-if-there.js";
import { askDaemon } from "../../daemon/ask.js";
import { daemonPlace } from "../../daemon/socket-place.js";
import type { DaemonStatus } from "../../daemon/status.js";
import { toE2bKey } from "../../e2b/key-form.js";
import type { Invocation } from "../../invocation/index.js";
import { parseCount } from "../../policy/resources.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeOut } from "../output.js";

const portRange = { min: 1, max: 65_535, whole: true, text: "1 to 65535", example: "8080" };

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { env, homeDir } = invocation;
  const named = parsed.values.get("port")?.[0];
  const port = named === undefined ? await servedPort(invocation) : parseCount("--port", named, portRange);
  const token = port === null ? null : textIfThere(apiTokenFile(env, homeDir, port));
  if (token !== null) {
    return await writeOut(invocation, parsed.flags.has("e2b") ? `${toE2bKey(token.trim())}\n` : token);
  }
  const where = port === null ? "on TCP" : `on port ${port}`;
  throw new AgentKernelError("not_found", `no HTTP server of this state directory listens ${where}`, {
    hint: "start one: agentkernel serve",
  });
}

/** Null where the user's daemon does not listen on TCP. */
async function servedPort({ env, homeDir }: Invocation): Promise<number | null> {
  const status = (await askDaemon(daemonPlace(env, homeDir), "GET", "/daemon")) as DaemonStatus | null;
  if (status?.url === undefined || status.url === null) return null;
  const { port, protocol } = new URL(status.url);
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}
