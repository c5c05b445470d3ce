/** `keys create`: an API key, shown once. */
import { ceilingText } from "../../api/auth/key-ceiling.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { toE2bKey } from "../../e2b/key-form.js";
import type { Invocation } from "../../invocation/index.js";
import { parseCount, parseLifeMs } from "../../policy/resources.js";
import { checkSandboxName } from "../../runtime/sandboxes/name.js";
import { keyScopes } from "../api-options.js";
import { keyAnswer, keyStore } from "../key-answers.js";
import { ceilingFrom } from "../key-ceiling-options.js";
import { recordKey } from "../key-records.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
/** Of a key that acts as somebody else than the user and whose maker says nothing of it. */
const USUAL_SANDBOXES = 10;
const range = { min: 1, max: 1_000_000_000, whole: true, text: "1 to 1000000000", example: "60" };

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const [name = "", ...more] = parsed.rest;
  if (!NAME.test(name) || more.length > 0) {
    throw new AgentKernelError("invalid_argument", "a key needs one name of letters, digits, dots, dashes and _", {
      hint: "for example: agentkernel keys create ci",
    });
  }
  const value = (option: string): string | undefined => parsed.values.get(option)?.[0];
  const count = (option: string): number | null => {
    const text = value(option);
    return text === undefined ? null : parseCount(`--${option}`, text, range);
  };
  const isForE2b = parsed.flags.has("e2b");
  const chosen = parsed.values.get("scope") ?? (isForE2b ? ["sandboxes"] : ["run"]);
  const sandboxes = parsed.values.get("sandbox")?.map(checkSandboxName) ?? null;
  const expires = value("expires");
  const isAdmin = chosen.includes("admin");
  const ceiling = ceilingFrom(parsed, invocation.cwd);
  if (isAdmin && ceiling.named.length > 0) {
    throw new AgentKernelError("invalid_argument", `--${ceiling.named[0]}: a key with the scope admin acts as you`, {
      hint: "leave it out, or give the key only the scopes that it needs",
    });
  }
  const wanted = {
    name,
    scopes: keyScopes.filter((scope) => chosen.includes(scope)),
    sandboxes,
    ceiling: isAdmin ? null : ceiling.value,
    quotas: {
      concurrency: count("concurrency"),
      requestsPerMinute: count("rate"),
      cpuSecondsPerHour: count("cpu-seconds"),
      sandboxes: count("max-sandboxes") ?? (isAdmin ? null : USUAL_SANDBOXES),
    },
    expiresAtMs: expires === undefined ? null : Date.now() + parseLifeMs("--expires", expires),
  };
  // First: where the log is required and cannot be written, there is no key.
  await recordKey("key.create", wanted, parsed, invocation);
  const { key: made, record } = keyStore(invocation).create(wanted);
  const key = isForE2b ? toE2bKey(made) : made;
  if (parsed.flags.has("json")) {
    return await writeJson(invocation, { success: true, data: { ...keyAnswer(record), key } });
  }
  const may = `it may ${record.scopes.join(", ")} (--scope says what)`;
  await writeErr(invocation, `agentkernel: keep it now: only its hash is stored, and it is not shown again; ${may}\n`);
  const most =
    record.ceiling === null ? "it acts as you: no ceiling holds for it" : `at most: ${ceilingText(record.ceiling)}`;
  await writeErr(invocation, `agentkernel: ${escapeText(most)}\n`);
  return await writeOut(invocation, `${key}\n`);
}
