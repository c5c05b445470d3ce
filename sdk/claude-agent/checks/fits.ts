/** Compiled, never run: what this package gives is what the real SDK takes. */
import type { CanUseTool, Options, PermissionMode, query } from "@anthropic-ai/claude-agent-sdk";
import type { BashInput } from "@anthropic-ai/claude-agent-sdk/sdk-tools";
import {
  type AgentSdk,
  canUseToolBy,
  hooksFor,
  type PermissionMode as OwnMode,
  type SandboxBashInput,
  type SandboxRunner,
  sandboxedOptions,
} from "../src/index.js";

declare const runner: SandboxRunner;
declare const bash: BashInput;
declare const mode: OwnMode;
export const canUse: CanUseTool = canUseToolBy({ allow: ["Read"] });
export const hooks: Options["hooks"] = hooksFor(runner, {});
export const input: SandboxBashInput = bash;
export const modes: PermissionMode = mode;
export const options: Promise<Options> = sandboxedOptions<Options>(runner, { model: "some" });
export declare const sdk: { query: typeof query } extends Pick<AgentSdk, "query"> ? true : never;
