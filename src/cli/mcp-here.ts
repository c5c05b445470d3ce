/** A connection of the Model Context Protocol that this process serves itself. */
import { realpathSync } from "node:fs";
import { localUser } from "../api/auth/caller.js";
import { OutputBudget } from "../api/limits/output-budget.js";
import { Places } from "../api/limits/places.js";
import { redactor } from "../core/redact.js";
import { secretValues } from "../core/secret-names.js";
import type { Invocation } from "../invocation/index.js";
import { McpConnection, type McpHost } from "../mcp/index.js";
import { RequestsAtWork } from "../mcp/requests-at-work.js";
import { type LineOutput, LineTransport } from "../mcp/stdio/line-transport.js";
import type { Opening } from "../mcp/stdio/opening.js";
import { tools } from "../mcp/tools/index.js";
import type { CodeModeRequest } from "./code-mode.js";
import type { ServerDefaults } from "./mcp-server-defaults.js";

/** Of one client: commands at once, and such as wait for their turn. */
const PLACES = 32;
const MOST_WAITING = 1000;
const MOST_SANDBOXES = 100;
const OUTPUT_BYTES = 128 << 20;

interface ServedHere {
  readonly invocation: Invocation;
  readonly said: ServerDefaults;
  readonly code: CodeModeRequest | null;
  readonly instructions: string;
}

/** Resolves when the client is gone, and nothing is left of what it had running. */
export async function serveHere(
  opening: Opening,
  output: LineOutput,
  gone: AbortSignal,
  { invocation, said, code, instructions }: ServedHere,
  onFault: (error: unknown) => void,
): Promise<void> {
  const mode = code === null ? null : (await import("../codemode/index.js")).openCodeMode(code.options);
  const later = new Set<Promise<unknown>>();
  const settleLater: McpHost["settleLater"] = (work) => {
    const done = work.catch(onFault).finally(() => later.delete(done));
    later.add(done);
  };
  const atWork = new RequestsAtWork();
  const transport = new LineTransport({ ...opening, output, atWork });
  const connection = await McpConnection.open(transport, {
    host: hostOf(invocation, said, settleLater),
    onFault,
    atWork,
    instructions,
    ...(mode === null ? {} : { tools: code?.isAlone === true ? mode.tools : [...tools, ...mode.tools] }),
  });
  const leave = () => void connection.close();
  if (gone.aborted) leave();
  gone.addEventListener("abort", leave, { once: true });
  await connection.over;
  await mode?.close();
  await Promise.all(later);
}

function hostOf(invocation: Invocation, { said }: ServerDefaults, settleLater: McpHost["settleLater"]): McpHost {
  const { env, homeDir, resident } = invocation;
  return {
    caller: localUser,
    own: { env, homeDir },
    said,
    project: projectOf(invocation),
    runtime: { env, homeDir, resident },
    sandboxes: resident?.sandboxes ?? null,
    places: new Places({ places: PLACES, mostWaiting: MOST_WAITING, sandboxesOfCaller: MOST_SANDBOXES }),
    outputs: new OutputBudget({ outputBytes: OUTPUT_BYTES, callerOutputBytes: OUTPUT_BYTES }),
    redact: redactor(secretValues(env)),
    serve: () => resident?.pool.serve() ?? (() => {}),
    settleLater,
    // The user of this machine has no key that could end.
    whileValid: () => () => {},
    noteRun: () => {},
  };
}

/** Clients that have no project start their servers at the root, which no sandbox is ever shown. */
function projectOf({ cwd }: Invocation): string | null {
  return cwd === "/" ? null : realPath(cwd);
}

/** As records of sandboxes have it. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // Each call says so then.
    return path;
  }
}
