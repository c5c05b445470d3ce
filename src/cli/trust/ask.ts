/** Puts what a project's own files ask for to the user, once for each content, where there is a terminal to ask on. */
import { escapeText } from "../../core/escape.js";
import type { Surroundings } from "../../core/surroundings.js";
import type { Invocation } from "../../invocation/index.js";
import { type Configuration, preparePolicy, type RunSpec, readConfiguration } from "../../request/index.js";
import { changedLines, type TrustPart } from "../../request/trust/index.js";
import { writeErr } from "../output.js";
import { decided } from "./decided.js";
import { readLine } from "./read-line.js";

/** The configuration after the user was asked, where a question was due. */
export async function withTrust(
  spec: RunSpec,
  surroundings: Surroundings,
  invocation: Invocation,
): Promise<Configuration> {
  const configuration = await readConfiguration(spec.files, surroundings);
  const { trust } = configuration;
  const { stdin, stderr } = invocation;
  if (trust === null || !stdin.isTerminal || !stderr.isTerminal || spec.exec.json === true) return configuration;
  const parts = undecidedParts(spec, surroundings, configuration);
  const input = parts.length === 0 ? null : stdin.open();
  if (input === null) return configuration;
  await writeErr(invocation, question(trust.dir, parts));
  const line = await readLine(input);
  // Without an answer the question is still open.
  if (line === null) return configuration;
  const verdict = /^y(es)?$/i.test(line.trim()) ? "allowed" : "refused";
  await decided(trust, parts, verdict, configuration.audit, invocation);
  return await readConfiguration(spec.files, surroundings);
}

/** Those that something was refused to now, and that the user has not answered yet. */
function undecidedParts(spec: RunSpec, surroundings: Surroundings, configuration: Configuration): readonly TrustPart[] {
  const { trust, weakerBackend } = configuration;
  const { refused } = preparePolicy(spec, surroundings, configuration);
  if (trust === null || (refused.length === 0 && !weakerBackend)) return [];
  const isOpen = (part: TrustPart | null): part is TrustPart =>
    part !== null && part.lines.length > 0 && (part.state === "undecided" || part.state === "changed");
  const isAboutServers = refused.some(({ by }) =>
    by.some(({ origin, namedIn }) => origin === "project-file" && namedIn === "mcp-servers"),
  );
  return [trust.config, isAboutServers ? trust.servers() : null].filter(isOpen);
}

function question(dir: string, parts: readonly TrustPart[]): string {
  const changed = parts.some(({ state }) => state === "changed");
  const head = changed
    ? "agentkernel: this project's settings have changed since you were asked. They ask for:"
    : "agentkernel: this project's settings ask for more than you allow:";
  const lines = parts.flatMap(changedLines).map((line) => `  ${escapeText(line)}`);
  return `${[head, ...lines].join("\n")}\nAllow this in ${escapeText(dir)}, until the settings change? [y/N] `;
}
