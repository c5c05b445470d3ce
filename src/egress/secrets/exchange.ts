/**
 * The HTTP/1 of one connection whose TLS is ended here, in both directions: each request is checked and gets the
 * secret, each answer loses it. It moves no bytes itself: it is given them and gives back those that may pass.
 */
import type { Buffer } from "node:buffer";
import type { Answers } from "../carry.js";
import type { SecretUse } from "../decision.js";
import type { Allowance } from "../limits.js";
import type { PeekRefusal } from "../peek/expectation.js";
import { type AfterHead, HttpFraming, type Part } from "../peek/http-framing.js";
import { parseResponseHead } from "../peek/http-head.js";
import type { Passed, Watcher } from "../peek/inspector.js";
import { EchoMask } from "./echo-mask.js";
import { PlaceholderWatch } from "./placeholder-watch.js";
import { type BoundHost, rewriteRequestHead } from "./request-head.js";

interface ExchangeOptions extends BoundHost {
  readonly allowance: Allowance;
  used(use: SecretUse): void;
}

interface Pending {
  readonly method: string;
  readonly upgrade: boolean;
}

const MAX_UNANSWERED = 256;
const none: readonly Buffer[] = [];

export class SecretExchange implements Watcher {
  readonly protocol = "http";
  /** Also after a change of protocols there are placeholders to be told of. */
  readonly settled = false;
  readonly answers: Answers;
  readonly #options: ExchangeOptions;
  readonly #requests: HttpFraming;
  readonly #answers: HttpFraming;
  readonly #mask: EchoMask;
  readonly #body: PlaceholderWatch;
  readonly #unanswered: Pending[] = [];
  #rewritten: Buffer | null = null;
  #upgrade: "granted" | "refused" | null = null;
  #upgraded = false;

  constructor(options: ExchangeOptions) {
    const { headBytes, allowance } = options;
    this.#options = options;
    const mask = new EchoMask(options.secrets);
    this.#mask = mask;
    this.#body = new PlaceholderWatch(options.all, (name) => options.used({ name, use: "left", where: "the body" }));
    this.#requests = new HttpFraming({
      headBytes,
      allowance,
      lines: "bare",
      head: (head) => this.#request(head),
      pass: (part, bytes) => this.#sent(part, bytes),
    });
    this.#answers = new HttpFraming({
      headBytes,
      allowance,
      lines: "any",
      head: (head) => this.#answer(head),
      pass: (part, bytes) => this.#received(part, bytes),
    });
    this.answers = {
      pass: (chunk) => this.#pass(chunk),
      flush: () => mask.flush(),
    };
  }

  get waiting(): boolean {
    return this.#requests.paused;
  }

  get holding(): boolean {
    return this.#requests.holding;
  }

  get answerable(): boolean {
    return this.#unanswered.length === 0 && this.#answers.between;
  }

  push(chunk: Buffer): Passed {
    const passed = this.#requests.push(chunk);
    return typeof passed === "string" ? refused(passed) : passed;
  }

  end(): Passed {
    return this.#requests.holding ? refused("an unfinished request") : none;
  }

  /** After `answers` has taken the server's bytes. */
  observe(): Passed {
    const upgrade = this.#upgrade;
    if (upgrade === null || !this.#requests.paused) return none;
    this.#upgrade = null;
    const rest = this.#requests.go(upgrade === "granted" ? "raw" : "head");
    return rest.length === 0 ? none : this.push(rest);
  }

  release(): void {
    this.#requests.release();
    this.#answers.release();
  }

  #pass(chunk: Buffer): Passed {
    const passed = this.#answers.push(chunk);
    const fault = this.#mask.overfull ? "too much between small chunks" : passed;
    if (typeof fault === "string") return { protocol: "other", reason: `the server's answer: ${fault}` };
    return this.#answers.between ? [...fault, ...this.#mask.flush()] : fault;
  }

  #request(bytes: Buffer): AfterHead | string {
    const head = rewriteRequestHead(bytes, this.#options);
    if (typeof head === "string") return head;
    const { request, replaced, left } = head;
    for (const { name, header } of replaced) this.#options.used({ name, use: "replaced", where: `header ${header}` });
    for (const { name, where } of left) this.#options.used({ name, use: "left", where });
    if (this.#unanswered.length >= MAX_UNANSWERED) return "too many requests without an answer";
    const upgrade = request.upgrade.length > 0;
    if (request.upgrade.some((token) => token !== "websocket")) return "a change of protocols to other than WebSocket";
    if (upgrade && request.body.kind !== "none") return "a change of protocols with a body";
    this.#unanswered.push({ method: request.method, upgrade });
    this.#rewritten = head.bytes;
    return upgrade ? { kind: "pause" } : request.body;
  }

  #sent(part: Part, bytes: Buffer): readonly Buffer[] {
    if (part === "head") return [this.#rewritten ?? bytes];
    this.#body.push(bytes);
    return [bytes];
  }

  #answer(bytes: Buffer): AfterHead | string {
    // Servers say that they waited too long before anybody asked.
    const pending = this.#unanswered[0] ?? { method: "GET", upgrade: false };
    const head = parseResponseHead(bytes, pending.method);
    if (typeof head === "string") return head;
    if (head.status < 200 && head.status !== 101) return { kind: "none" };
    this.#unanswered.shift();
    if (head.status === 101) {
      if (!pending.upgrade) return "a change of protocols that nobody asked for";
      this.#upgrade = "granted";
      this.#upgraded = true;
      return { kind: "raw" };
    }
    if (pending.upgrade) this.#upgrade = "refused";
    return head.body.kind === "rest" ? { kind: "raw" } : head.body;
  }

  #received(part: Part, bytes: Buffer): readonly Buffer[] {
    // Two who talk by turns would wait at every turn.
    if (part === "data") return this.#upgraded ? [this.#mask.whole(bytes)] : this.#mask.data(bytes);
    return part === "line" ? this.#mask.between(bytes) : [...this.#mask.flush(), this.#mask.line(bytes)];
  }
}

const refused = (reason: string): PeekRefusal => ({ protocol: "http", reason });
