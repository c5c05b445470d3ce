/**
 * Server-Sent Events, written as they happen. An event counts as written when the kernel has it, so that a slow reader
 * holds back whatever the events are about; one that takes nothing at all for too long is cut off.
 */
import type { ServerResponse } from "node:http";

const HEARTBEAT_MS = 15_000;
const STALL_MS = 60_000;

export const eventHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  // Proxies that collect answers would hold the first event back until the last.
  "x-accel-buffering": "no",
} as const;

/** An event in the words of another dialect. */
export type RenameEvent = (event: string, data: object) => readonly [string, object];

export class EventStream {
  readonly #response: ServerResponse;
  readonly #rename: RenameEvent;
  readonly #heartbeat: NodeJS.Timeout;
  #stall: NodeJS.Timeout | undefined;
  #unwritten = 0;

  constructor(response: ServerResponse, rename: RenameEvent = (event, data) => [event, data]) {
    this.#response = response;
    this.#rename = rename;
    this.#write(": agentkernel\n\n", () => {});
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#heartbeat.unref();
    response.once("close", () => this.#stop());
  }

  /** `written` is called once it left this process, or never will. */
  send(name: string, about: object, written: () => void = () => {}, id?: string): void {
    const [event, data] = this.#rename(name, about);
    // JSON has no line breaks of its own, so one line holds it.
    const text = `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    this.#heartbeat.refresh();
    this.#write(text, written);
  }

  /** Resolves when all is written, or the reader has gone. */
  end(): Promise<void> {
    this.#stop();
    return new Promise((resolve) => {
      if (this.#response.closed) resolve();
      this.#response.once("close", resolve);
      this.#response.end(resolve);
    });
  }

  #beat(): void {
    if (this.#unwritten === 0) this.#write(":\n\n", () => {});
  }

  #write(text: string, written: () => void): void {
    if (this.#response.destroyed) {
      written();
      return;
    }
    this.#unwritten++;
    this.#stall ??= setTimeout(() => this.#response.destroy(), STALL_MS).unref();
    this.#response.write(text, () => {
      this.#unwritten--;
      if (this.#unwritten === 0) {
        clearTimeout(this.#stall);
        this.#stall = undefined;
      } else {
        this.#stall?.refresh();
      }
      written();
    });
  }

  #stop(): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#stall);
  }
}
