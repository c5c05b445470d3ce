/** A tool: how clients and models see it, how its arguments are read, and what it does. */
import type { OutputRoom } from "../api/limits/output-budget.js";
import type { Scope } from "../api/operations/operation.js";
import { object } from "../api/schema/object-shape.js";
import type { Shape } from "../api/schema/shapes.js";
import type { Ask } from "../egress/index.js";
import type { ArgumentName } from "./argument-rules.js";
import type { McpHost } from "./host.js";
import type { KeptOutputs } from "./output/kept-outputs.js";
import { readArguments, standalone } from "./schema.js";
import type { SessionSandboxes } from "./session-sandboxes.js";

/** The context of one call. */
export interface Call {
  readonly host: McpHost;
  readonly sessions: SessionSandboxes;
  readonly outputs: KeptOutputs;
  /** Memory for what the answer holds; it is given back when the answer was written. */
  readonly room: OutputRoom;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Puts a destination to the user of this machine; null where the client has no way to, or is somebody else's. */
  readonly ask: Ask | null;
  /** Resolves to whether that user agrees; null where nobody can be asked. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
  /** Tells the client what came so far; null where it did not ask to be told. */
  readonly progress: ((progress: number, message: string) => Promise<void>) | null;
}

export interface ToolOutput {
  /** For the model. */
  readonly text: string;
  /** The same, as its output schema says. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Effects of the tool on its surroundings. */
interface Effects {
  readonly readOnly: boolean;
  /**
   * It may remove or overwrite what was there before: files of the user's where the configuration or the user's word
   * lets a sandbox write them, or what a sandbox that stays has.
   */
  readonly destructive?: boolean;
  readonly idempotent?: boolean;
  /** It may reach beyond this machine. */
  readonly openWorld?: boolean;
}

interface ToolDescription {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: ReturnType<typeof standalone>;
  readonly outputSchema: ReturnType<typeof standalone>;
  readonly annotations: Readonly<Record<string, unknown>>;
}

export interface Tool {
  readonly description: ToolDescription;
  /** Any of these is enough, of a caller who has scopes. */
  readonly scope: readonly Scope[];
  call(args: unknown, call: Call): Promise<ToolOutput>;
}

interface ToolParts<Fields extends Parameters<typeof object>[0]> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly effects: Effects;
  readonly scope: readonly Scope[];
  /** An argument without a rule does not compile. */
  readonly input: Fields & Readonly<Record<Exclude<keyof Fields, ArgumentName>, never>>;
  readonly output: Shape<unknown>;
  readonly call: (args: ReturnType<ReturnType<typeof object<Fields>>["read"]>, call: Call) => Promise<ToolOutput>;
}

export function defineTool<Fields extends Parameters<typeof object>[0]>(parts: ToolParts<Fields>): Tool {
  const { name, title, effects } = parts;
  const input = object<Fields>(parts.input);
  return {
    description: {
      name,
      title,
      description: parts.description,
      inputSchema: standalone(input),
      outputSchema: standalone(parts.output),
      annotations: {
        title,
        readOnlyHint: effects.readOnly,
        destructiveHint: effects.destructive ?? false,
        idempotentHint: effects.idempotent ?? effects.readOnly,
        openWorldHint: effects.openWorld ?? false,
      },
    },
    scope: parts.scope,
    call: async (args, call) => await parts.call(readArguments(input, args), call),
  };
}
