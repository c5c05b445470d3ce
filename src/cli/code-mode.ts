/**
 * What the options of `mcp server` say of code mode. Servers are started only from files and flags that whoever starts
 * agentkernel names: a project that is merely there starts nothing.
 */
import { isAbsolute, join } from "node:path";
import type { CodeModeOptions } from "../codemode/index.js";
import { AgentKernelError } from "../core/errors.js";
import { readRegularFile } from "../core/regular-file.js";
import { toolModulesFolder } from "../core/state-folders.js";
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "./option-spec.js";

export interface CodeModeRequest {
  readonly options: CodeModeOptions;
  /** The tools for sandboxes are not offered beside it. */
  readonly isAlone: boolean;
  /** The same, as words of a command line. */
  readonly words: readonly string[];
}

const OPTIONS = ["mcp-config", "mcp-server", "tool-policy", "allow-tool", "tools"] as const;
const MOST_BYTES = 1 << 20;
/** As src/codemode names it; there it is said why. */
const NESTED = "AGENTKERNEL_CODE_MODE";

/** Null where code mode is not asked for, or this process is itself a server of one. */
export async function codeModeOf({ values }: ParsedOptions, invocation: Invocation): Promise<CodeModeRequest | null> {
  const given = (name: (typeof OPTIONS)[number]) => values.get(name) ?? [];
  const named = OPTIONS.filter((name) => given(name).some((value) => name !== "tools" || value !== "all"));
  if (named.length === 0 || invocation.env[NESTED] !== undefined) return null;
  if (given("mcp-config").length + given("mcp-server").length === 0) {
    throw new AgentKernelError("invalid_argument", `--${named[0]} is about code mode, and there is no server for it`, {
      hint: "name servers with --mcp-config or --mcp-server",
    });
  }
  const { cwd, env, homeDir } = invocation;
  const [{ entriesOf, entryOfFlag }, { toolPolicyOf, together }, { nothingAllowed }] = await Promise.all([
    import("../codemode/servers/entries.js"),
    import("../codemode/calls/policy-file.js"),
    import("../codemode/calls/policy.js"),
  ]);
  const textOf = (file: string) => readText(isAbsolute(file) ? file : join(cwd, file), file);
  const files = given("mcp-config").flatMap((file) => entriesOf(textOf(file), file, env));
  const flags = given("mcp-server").map((flag) => entryOfFlag(flag, env));
  const [policyFile] = given("tool-policy");
  const written = policyFile === undefined ? nothingAllowed : toolPolicyOf(textOf(policyFile), policyFile);
  return {
    options: {
      entries: [...files, ...flags],
      policy: together(written, { ...nothingAllowed, allow: given("allow-tool"), limits: written.limits }),
      around: { cwd, env },
      modulesFolder: toolModulesFolder(env, homeDir),
    },
    isAlone: given("tools").includes("code"),
    words: named.flatMap((name) => given(name).flatMap((value) => [`--${name}`, value])),
  };
}

function readText(path: string, file: string): string {
  try {
    return readRegularFile(path, MOST_BYTES).toString("utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AgentKernelError("invalid_argument", `${file} cannot be read: ${why}`, { hint: "name a file", cause });
  }
}
