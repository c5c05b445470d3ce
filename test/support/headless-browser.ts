/**
 * A Chromium without a screen, driven over two pipes by the DevTools protocol. It resolves no name and reaches nothing but
 * loopback. Its profile lies in a folder of the test's.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { findProgram } from "../../src/core/find-program.js";
import { testFolder } from "./test-folder.js";

type Parameters = Readonly<Record<string, unknown>>;
interface Message {
  readonly id?: number;
  readonly method?: string;
  /** Of the one event that is listened to. */
  readonly params?: { readonly request?: { readonly url: string } };
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

export function chromium(): string | null {
  return findProgram("chromium", process.env.PATH) ?? findProgram("chromium-browser", process.env.PATH);
}

/** Beside these there is nothing in its world: no updates, no reports, no names. */
const alone = [
  "--headless=new",
  "--remote-debugging-pipe",
  "--no-first-run",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

export class HeadlessBrowser {
  readonly #process: ChildProcess;
  readonly #profile = mkdtempSync(join(testFolder(), "browser-"));
  readonly #answers = new Map<number, (message: Message) => void>();
  readonly #ended: Promise<never>;
  readonly #requested: string[] = [];
  #session: string | undefined;
  #lastId = 0;

  constructor(program: string) {
    // Chromium refuses its own sandbox to root; it sees nothing here but our own pages.
    const asRoot = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
    this.#process = spawn(program, [...alone, ...asRoot, `--user-data-dir=${this.#profile}`, "about:blank"], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
      env: { ...process.env, HOME: this.#profile },
    });
    this.#ended = new Promise((_, reject) => {
      this.#process.once("error", reject);
      this.#process.once("close", () => reject(new Error("the browser ended")));
    });
    // It ends at last, also when there is no question left that would hear of it.
    this.#ended.catch(() => {});
    let rest = "";
    (this.#process.stdio[4] as Readable).setEncoding("utf8").on("data", (chunk: string) => {
      const parts = (rest + chunk).split("\0");
      rest = parts.pop() ?? "";
      for (const part of parts) this.#take(JSON.parse(part));
    });
  }

  /** Addresses that pages have asked for since the start. */
  get requested(): readonly string[] {
    return this.#requested;
  }

  async open(address: string): Promise<void> {
    if (this.#session === undefined) {
      const { targetId } = await this.#send("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await this.#send("Target.attachToTarget", { targetId, flatten: true });
      this.#session = String(sessionId);
      await this.#send("Network.enable", {});
    }
    await this.#send("Page.navigate", { url: address });
  }

  /** The value of an expression, as soon as it is neither null nor undefined nor false, whatever the page does until then. */
  async value<T>(expression: string): Promise<T> {
    const script = `new Promise((done) => {
      const look = () => {
        const found = (() => (${expression}))();
        if (found === null || found === undefined || found === false) requestAnimationFrame(look);
        else done(found);
      };
      look();
    })`;
    for (;;) {
      try {
        const answer = await this.#send("Runtime.evaluate", {
          expression: script,
          awaitPromise: true,
          returnByValue: true,
        });
        const thrown = answer.exceptionDetails as { readonly text: string } | undefined;
        if (thrown !== undefined) throw new Error(`${expression}: ${thrown.text}`);
        return (answer.result as { readonly value: T }).value;
      } catch (error) {
        // A page that makes room for the next one takes its promises along; the next one is asked.
        if (!/navigat|destroyed|context/i.test(String(error))) throw error;
      }
    }
  }

  async type(text: string): Promise<void> {
    await this.#send("Input.insertText", { text });
  }

  async press(key: "Enter"): Promise<void> {
    const event = { key, code: key, windowsVirtualKeyCode: 13, text: "\r" };
    await this.#send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
    await this.#send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once("close", resolve));
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      this.#process.kill("SIGKILL");
      await ended;
    }
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #send(method: string, params: Parameters): Promise<Record<string, unknown>> {
    const id = ++this.#lastId;
    const session = this.#session === undefined ? {} : { sessionId: this.#session };
    const answer = new Promise<Record<string, unknown>>((resolve, reject) => {
      this.#answers.set(id, ({ result, error }) => {
        if (error === undefined) resolve(result ?? {});
        else reject(new Error(`${method}: ${error.message}`));
      });
      (this.#process.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    });
    return Promise.race([answer, this.#ended]);
  }

  #take(message: Message): void {
    if (message.method === "Network.requestWillBeSent" && message.params?.request !== undefined) {
      this.#requested.push(message.params.request.url);
    }
    if (message.id === undefined) return;
    this.#answers.get(message.id)?.(message);
    this.#answers.delete(message.id);
  }
}
