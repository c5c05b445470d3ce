/**
 * The decision of the PreToolUse hook: a shell command of Claude Code becomes the same command in a sandbox. Pure. It
 * fails closed: what it does not understand is not run, and leaving the sandbox is never granted here.
 */
import { isAbsolute, relative } from "node:path";
import type { Launch } from "../agent.js";
import { fieldsOf } from "../mcp-entry.js";
import { isWithin } from "../real-path.js";
import { type BashRules, isAllowed, judge } from "./bash-rules.js";
import { onlyReads } from "./reading-commands.js";
import { shellQuote } from "./shell-quote.js";
import { isShellTool, whyNotRouted } from "./shell-tools.js";

export interface HookSetting {
  /** Places on the disk. */
  readonly launch: Launch;
  /** What PATH has to be for it, where that of Claude Code has folders of the project; null: as it is. */
  readonly searchPath: string | null;
  /** The project's folder, as Claude Code tells its hooks; null where it does not. */
  readonly projectDir: string | null;
  /** A folder without links on the way to it. */
  readonly realPath: (path: string) => string;
  /** What happens to a request to run outside the sandbox. */
  readonly leaving: Leaving;
  /** The user's own, for single commands; or why they are not known. */
  readonly rules: BashRules | { readonly unreadable: string };
}

const leavings = ["ask", "refuse"] as const;
export type Leaving = (typeof leavings)[number];

type HookAnswer =
  /** Not a tool call of ours to judge. */
  | { readonly kind: "pass" }
  | { readonly kind: "route"; readonly input: Readonly<Record<string, unknown>> }
  /** With an input: if the answer is yes, that is what runs. */
  | { readonly kind: "ask"; readonly reason: string; readonly input?: Readonly<Record<string, unknown>> }
  | { readonly kind: "deny"; readonly reason: string };

/** The kernel takes no longer word than 128 KiB, and quoting adds to it. */
const MAX_COMMAND_BYTES = 64 << 10;

/** Modes in which somebody is there to answer. In all others a question would be answered by nobody, or by "yes". */
const askingModes = new Set<unknown>(["default", "manual", "acceptEdits", "plan"]);

export function decide(text: string, setting: HookSetting): HookAnswer {
  const input = parse(text);
  if (typeof input === "string") return deny(input);
  const { hook_event_name: event, tool_name: tool, tool_input: toolInput, cwd, permission_mode: mode } = input;
  if (event !== "PreToolUse") return deny(`it was called for ${JSON.stringify(event)} and serves only PreToolUse`);
  if (typeof tool !== "string") return deny("tool_name is missing");
  if (!isShellTool(tool)) return { kind: "pass" };
  if (typeof toolInput !== "object" || toolInput === null || Array.isArray(toolInput))
    return deny("tool_input is missing");
  const fields = fieldsOf(toolInput);
  const { command } = fields;
  const why = whyNotRouted(tool, fields) ?? whyBadCommand(String(command));
  if (typeof command !== "string" || why !== null) return deny(why ?? "the call has no command");
  const { rules } = setting;
  if ("unreadable" in rules) return deny(`your rules are not known: ${rules.unreadable}`);
  const judged = judge(rules, command);
  if (judged.verdict === "deny") return deny(judged.reason);
  if (typeof cwd !== "string" || !isAbsolute(cwd)) return deny("cwd is missing");
  if (fields.dangerouslyDisableSandbox !== undefined && fields.dangerouslyDisableSandbox !== false) {
    return leave(setting.leaving, mode);
  }
  const folder = setting.projectDir !== null && isAbsolute(setting.projectDir) ? setting.projectDir : cwd;
  if (`${folder}${cwd}`.includes("\0")) return deny("a folder's name has a NUL");
  const root = setting.realPath(folder);
  const below = relative(root, setting.realPath(cwd));
  if (!isWithin(setting.realPath(cwd), root)) {
    return deny(`the current folder ${cwd} lies outside the project ${folder}, which is all that the sandbox has`);
  }
  const exposed = setting.launch.find((word) => isWithin(setting.realPath(word), root));
  if (exposed !== undefined) {
    return deny(
      `agentkernel itself lies in the project (${exposed}), where sandboxes can change it: install it elsewhere`,
    );
  }
  const own = ownQuestion(mode, command, rules);
  const place = { folder, cwd, below, isDropped: mode === "plan" || own === "drop" };
  const rewritten = { ...fields, command: routed(command, place, setting) };
  if (judged.verdict === "unclear" && !isAsking(mode)) return deny(`${judged.reason}; nobody is asked in this mode`);
  if (judged.verdict !== "none") return { kind: "ask", reason: judged.reason, input: rewritten };
  if (own === "deny") return deny(`${MAY_WRITE}, and this mode allows only what a rule of yours allows`);
  if (own === "ask") return { kind: "ask", reason: `${MAY_WRITE}; it runs in a sandbox`, input: rewritten };
  return { kind: "route", input: rewritten };
}

const MAY_WRITE = "what this command changes in the project is carried over to your files";

/** Modes in which Claude Code itself asks before a command that may change something. */
const modesWithQuestion = new Set<unknown>([undefined, "default", "manual"]);

/**
 * What becomes of Claude Code's own question, which a routed command would skip. A command that only reads needs none,
 * and runs on a copy. Where somebody has said that edits are fine, or that nothing is asked, there is no question.
 */
function ownQuestion(mode: unknown, command: string, rules: BashRules): "none" | "drop" | "ask" | "deny" {
  const isStrict = mode === "dontAsk";
  if (!isStrict && !modesWithQuestion.has(mode)) return "none";
  if (isAllowed(rules, command)) return "none";
  if (onlyReads(command)) return "drop";
  return isStrict ? "deny" : "ask";
}

/** What Claude Code reads from the hook's stdout. */
export function answerText(answer: HookAnswer): string {
  if (answer.kind === "pass") return "{}\n";
  const decision =
    answer.kind === "route"
      ? {
          permissionDecision: "allow",
          permissionDecisionReason: "it runs in a sandbox of agentkernel",
          updatedInput: answer.input,
        }
      : {
          permissionDecision: answer.kind,
          permissionDecisionReason: `agentkernel: ${answer.reason}`,
          ...("input" in answer ? { updatedInput: answer.input } : {}),
        };
  return `${JSON.stringify({ hookSpecificOutput: { hookEventName: "PreToolUse", ...decision } })}\n`;
}

function parse(text: string): Readonly<Record<string, unknown>> | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "what the hook was given is not JSON";
  }
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? fieldsOf(value)
    : "what the hook was given is not a JSON object";
}

function whyBadCommand(command: string): string | null {
  if (command.includes("\0")) return "the command has a NUL";
  if (/\p{Surrogate}/u.test(command)) return "the command has half a character and could not be passed on unchanged";
  if (Buffer.byteLength(command) > MAX_COMMAND_BYTES)
    return `the command is longer than ${MAX_COMMAND_BYTES >> 10} KiB: write it to a file and run that`;
  return null;
}

function leave(leaving: Leaving, mode: unknown): HookAnswer {
  if (leaving === "refuse")
    return deny("commands outside the sandbox are refused here; leave dangerouslyDisableSandbox out");
  if (!isAsking(mode)) return deny("nobody is asked in this mode, so a command outside the sandbox is refused");
  return { kind: "ask", reason: "this command asks to run OUTSIDE the sandbox, on your machine itself" };
}

function isAsking(mode: unknown): boolean {
  return mode === undefined || askingModes.has(mode);
}

function deny(why: string): HookAnswer {
  return { kind: "deny", reason: `the command was not run: ${why}` };
}

interface CommandPlace {
  readonly folder: string;
  readonly cwd: string;
  /** From the one to the other. */
  readonly below: string;
  /** Nothing that it changes is carried over. */
  readonly isDropped: boolean;
}

/**
 * Inside, the project is also found under the path that it has outside, since that is how the model names files. Of two
 * shells the better one: models write for bash.
 */
const inside = [
  'cd "$2/$3" 2>/dev/null || cd "/workspace/$3" || exit 125',
  'if command -v bash >/dev/null; then exec bash -c "$1"; else exec sh -c "$1"; fi',
].join("; ");

function routed(command: string, { folder, cwd, below, isDropped }: CommandPlace, setting: HookSetting): string {
  const run = ["run", "--compatibility-mode", "claude", ...(isDropped ? ["--workspace", "copy"] : []), "--"];
  const words = [...setting.launch, ...run, "sh", "-c", inside, "sh", command, folder, below];
  const path = setting.searchPath === null ? "" : `PATH=${shellQuote(setting.searchPath)} `;
  const line = path + words.map((word) => (/^[A-Za-z0-9_./=:-]+$/.test(word) ? word : shellQuote(word))).join(" ");
  return cwd === folder ? line : `(cd ${shellQuote(folder)} && ${line})`;
}
