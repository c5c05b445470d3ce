/**
 * The calls of one run: each is decided, made, counted and recorded here. A refusal is an answer for the program. What
 * was counted is never given back, so a program cannot get more by failing.
 */
import { type AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { McpServers } from "../servers/index.js";
import { decide, isUntrusted, type ToolPolicy } from "./policy.js";
import { resultOf } from "./result.js";

export interface CallRecord {
  readonly server: string;
  readonly tool: string;
  readonly verdict: "allowed" | "denied";
  readonly rule: string;
  readonly outcome: "result" | "error" | null;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly durationMs: number;
  readonly untrusted: boolean;
  readonly error?: string;
}

export interface RunCallsParts {
  readonly servers: Pick<McpServers, "call" | "conceal">;
  readonly policy: ToolPolicy;
  readonly signal: AbortSignal;
  /** Whether the user agrees; null where nobody can be asked. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
  /** On record before the program hears of it. */
  readonly record: (call: CallRecord) => Promise<void>;
}

export interface Refusal {
  readonly code: "denied" | "limit" | "failed" | "not_found" | "invalid";
  readonly message: string;
}

export type CallOutcome = { readonly json: string } | { readonly error: Refusal };

const MAX_QUESTION_CHARS = 400;

export class RunCalls {
  readonly #parts: RunCallsParts;
  readonly #untrusted = new Set<string>();
  readonly #over = new AbortController();
  readonly #signal: AbortSignal;
  #made = 0;
  #refused = 0;
  #resultBytes = 0;

  constructor(parts: RunCallsParts) {
    this.#parts = parts;
    this.#signal = AbortSignal.any([parts.signal, this.#over.signal]);
  }

  get counts(): { readonly made: number; readonly refused: number; readonly resultBytes: number } {
    return { made: this.#made, refused: this.#refused, resultBytes: this.#resultBytes };
  }

  get limits(): ToolPolicy["limits"] {
    return this.#parts.policy.limits;
  }

  /** The program is over: calls that are still at work are given up. */
  end(): void {
    this.#over.abort();
  }

  /** Tools whose answers the program has, and that the policy does not trust. */
  get untrusted(): readonly string[] {
    return [...this.#untrusted].sort();
  }

  async call(server: string, tool: string, args: object, bytesOut: number): Promise<CallOutcome> {
    const { policy, record } = this.#parts;
    const startedAt = performance.now();
    const name = `${server}/${tool}`;
    const untrusted = isUntrusted(policy, name);
    const told = async (part: Pick<CallRecord, "verdict" | "rule" | "outcome" | "bytesIn"> & { error?: string }) =>
      record({ server, tool, bytesOut, untrusted, durationMs: since(startedAt), ...part });
    const refuse = async (code: Refusal["code"], rule: string, message: string): Promise<CallOutcome> => {
      this.#refused++;
      await told({ verdict: "denied", rule, outcome: null, bytesIn: 0 });
      return { error: { code, message: `${escapeText(name)}: ${message}` } };
    };
    const limit = this.#limitReached(bytesOut);
    if (limit !== null) return await refuse("limit", limit, limit);
    this.#made++;
    const decided = await this.#decided(server, name, args);
    if (decided.verdict === "denied") return await refuse("denied", decided.rule, `not allowed (${decided.rule})`);
    const { rule } = decided;
    try {
      const { servers } = this.#parts;
      const result = resultOf(await servers.call(server, tool, args, this.#signal));
      const failed = "failed" in result ? servers.conceal(result.failed) : null;
      const json = "failed" in result ? "" : servers.conceal(JSON.stringify(result.value) ?? "null");
      const bytesIn = Buffer.byteLength(failed ?? json);
      this.#resultBytes += bytesIn;
      if (untrusted) this.#untrusted.add(name);
      await told({ verdict: "allowed", rule, outcome: failed === null ? "result" : "error", bytesIn });
      if (failed !== null) return { error: { code: "failed", message: failed } };
      const tooMuch = this.#tooMuch(bytesIn);
      return tooMuch === null ? { json } : { error: { code: "limit", message: `${escapeText(name)}: ${tooMuch}` } };
    } catch (error) {
      if (!isAgentKernelError(error)) throw error;
      await told({ verdict: "allowed", rule, outcome: "error", bytesIn: 0, error: error.message });
      return { error: refusalOf(error) };
    }
  }

  #limitReached(bytesOut: number): string | null {
    const { limits } = this.#parts.policy;
    if (this.#made >= limits.calls) return `a run makes at most ${limits.calls} calls`;
    if (bytesOut > limits.argumentBytes) return `arguments of a call have at most ${limits.argumentBytes} bytes`;
    return this.#tooMuch(0);
  }

  #tooMuch(bytes: number): string | null {
    const { limits } = this.#parts.policy;
    if (bytes > limits.oneResultBytes)
      return `a result has at most ${limits.oneResultBytes} bytes: ask for less at once`;
    if (this.#resultBytes > limits.resultBytes) return `the results of a run have at most ${limits.resultBytes} bytes`;
    return null;
  }

  async #decided(
    server: string,
    name: string,
    args: object,
  ): Promise<{ readonly verdict: "allowed" | "denied"; readonly rule: string }> {
    // Patterns speak of server and tool in one text, so what is between them must not be in a server's name.
    if (server.includes("/")) return { verdict: "denied", rule: "no server has such a name" };
    const { verdict, rule } = decide(this.#parts.policy, name, args);
    if (verdict !== "ask") return { verdict, rule };
    const { confirm } = this.#parts;
    if (confirm === null) return { verdict: "denied", rule: `${rule}, and nobody can be asked` };
    const shown = escapeText(JSON.stringify(args));
    if (shown.length > MAX_QUESTION_CHARS) return { verdict: "denied", rule: `${rule}: too long to be asked about` };
    const agreed = await confirm(
      `Code in a sandbox asks to call the tool ${escapeText(name)} with ${shown}. Allow this call?`,
    );
    return agreed
      ? { verdict: "allowed", rule: `${rule}: the user agreed` }
      : { verdict: "denied", rule: `${rule}: the user refused` };
  }
}

function refusalOf({ code, message, hint }: AgentKernelError): Refusal {
  const words = hint === undefined ? message : `${message} (${hint})`;
  return { code: code === "not_found" ? "not_found" : "failed", message: words };
}

function since(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 1000) / 1000;
}
