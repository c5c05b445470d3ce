/** `keys create`: an API key, shown once. */
import { AgentKernelError } from "../../core/errors.js";
import { parseCount, parseLifeMs } from "../../policy/resources.js";
import { checkSandboxName } from "../../runtime/sandboxes/name.js";
import { keyScopes } from "../api-options.js";
import type { Invocation } from "../invocation/index.js";
import { keyAnswer, keyStore } from "../key-answers.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
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
  const chosen = parsed.values.get("scope") ?? ["run"];
  const sandboxes = parsed.values.get("sandbox")?.map(checkSandboxName) ?? null;
  const expires = value("expires");
  const { key, record } = keyStore(invocation).create({
    name,
    scopes: keyScopes.filter((scope) => chosen.includes(scope)),
    sandboxes,
    quotas: {
      concurrency: count("concurrency"),
      requestsPerMinute: count("rate"),
      cpuSecondsPerHour: count("cpu-seconds"),
      sandboxes: count("max-sandboxes"),
    },
    expiresAtMs: expires === undefined ? null : Date.now() + parseLifeMs("--expires", expires),
  });
  if (parsed.flags.has("json")) {
    return await writeJson(invocation, { success: true, data: { ...keyAnswer(record), key } });
  }
  const may = `it may ${record.scopes.join(", ")} (--scope says what)`;
  await writeErr(invocation, `agentkernel: keep it now: only its hash is stored, and it is not shown again; ${may}\n`);
  return await writeOut(invocation, `${key}\n`);
}
