/** An error as a caller gets it: the one form, with nothing in it that is not theirs to know. */
import { type AgentKernelError, errorTable, isAgentKernelError } from "../../core/errors.js";
import type { Redactor } from "../../core/redact.js";
import { settableNumbers } from "../../settings/index.js";

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: {
    readonly code: AgentKernelError["code"];
    readonly message: string;
    readonly hint: string | null;
    readonly details?: Readonly<Record<string, unknown>>;
  };
}

/** Details that are about the request, and not about this machine. */
const TOLD = ["field", "max_bytes", "retry_after_s", "allowed", "code"];

export function errorAnswer(error: unknown, redact: Redactor): ErrorAnswer {
  if (!isAgentKernelError(error)) {
    const message = "a fault of the server's own; its log has the request's id";
    return { status: 500, headers: {}, error: { code: "internal", message, hint: "report it, with what was asked" } };
  }
  const { code, hint } = error;
  const told = Object.entries(error.details)
    .filter(([key]) => TOLD.includes(key))
    .map(([key, value]) => [key, key === "field" ? (bodyFields.get(String(value)) ?? value) : value]);
  return {
    status: errorTable[code].http,
    headers: headersOf(error),
    error: {
      code,
      message: redact.text(inFields(error.message)),
      hint: hint === undefined ? null : redact.text(inFields(hint)),
      ...(told.length === 0 ? {} : { details: Object.fromEntries(told) }),
    },
  };
}

function headersOf({ code, details }: AgentKernelError): Readonly<Record<string, string>> {
  if (code === "unauthorized") return { "www-authenticate": 'Bearer realm="agentkernel"' };
  if (code === "method_not_allowed") return { allow: (details.allowed as readonly string[]).join(", ") };
  if (errorTable[code].http === 429 || code === "stopping")
    return { "retry-after": String(details.retry_after_s ?? 1) };
  return {};
}

/** Maps names of options to names of fields. */
const fieldNames: Readonly<Record<string, string>> = {
  "allow-domain": "network.allowed_domains",
  "no-network": "network",
  workdir: "cwd",
  ...Object.fromEntries(settableNumbers.map(({ setting, jsonPath }) => [setting.flag, jsonPath])),
  "compatibility-mode": "compatibility_mode",
  "idle-timeout": "idle_timeout",
};

/** Options that are called the same as their fields. */
const sameNames = ["network", "image", "profile", "env", "user", "workspace", "ttl"];

/** Fields of a policy, as bodies have them. A map: a field that was sent may be called `constructor`. */
const bodyFields: ReadonlyMap<string, string> = new Map([
  ["fs.workspace.mode", "workspace"],
  ["net.egress", "network"],
  ["net.allow", "network.allowed_domains"],
  ["proc.user", "user"],
  ["proc.env", "env"],
  ...settableNumbers.map(({ path, jsonPath }) => [path, jsonPath] as const),
]);

/** Matches options, except in a command line that is shown as one. */
const OPTION = new RegExp(
  `(?<!\\b(?:mcp server|keys create)\\b[^;\\n]*)(?<![\\w-])--(${[...Object.keys(fieldNames), ...sameNames].join("|")})\\b`,
  "g",
);

/** What the command line would say next, as this interface has it. */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/\buse remove --force\b/g, "DELETE it with ?force=true"],
  [/\bagentkernel list shows\b/g, "GET /sandboxes shows"],
  [/\bagentkernel info shows its commands\b/g, "its id is in the answer that it was started with"],
  [/\bagentkernel remove ([a-z0-9._-]+)/g, "DELETE /sandboxes/$1"],
];

export function inFields(text: string): string {
  const asked = phrases.reduce((said, [phrase, instead]) => said.replace(phrase, instead), text);
  return asked.replace(OPTION, (_, option: string) => fieldNames[option] ?? option);
}
