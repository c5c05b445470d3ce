/**
 * Moves the bytes of one connection both ways until both ends are done: with back-pressure, half-closes passed on as
 * such, and the client's bytes shown to the inspector for as long as it wants to see them. Owns both streams.
 */
import { Buffer } from "node:buffer";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type ReadPool, readPooled } from "../core/pooled-reads.js";
import type { PeekRefusal } from "./peek/expectation.js";
import { isPeekRefusal, type Passed, type Watcher } from "./peek/inspector.js";
import { refusalAnswer } from "./refusal-answer.js";

interface Carried {
  readonly sent: number;
  readonly received: number;
  /** Why the connection was ended by us. */
  readonly refused: string | null;
}

interface CarryOptions {
  readonly client: Duplex;
  readonly server: Socket;
  /** What a server's plain socket is read into; TLS has its own memory. */
  readonly pool?: ReadPool;
  readonly inspector: Watcher;
  /** False: it sees the client's first bytes, for the log, and stops nothing. */
  readonly enforce: boolean;
  /** What the client gets in place of the server's bytes; those themselves where absent. */
  readonly answers?: Answers;
  /** Told of the bytes that go to the server. */
  readonly onSent?: (chunk: Buffer) => void;
  /** Bytes that the client has already sent. */
  readonly first?: Buffer;
  readonly handshakeMs: number;
  readonly idleMs: number;
  onEnd(carried: Carried): void;
}

export interface Answers {
  /** What may go on of all that came so far; some of it may wait for the bytes that follow. */
  pass(chunk: Buffer): Passed;
  /** All that waits, when nothing follows. */
  flush(): readonly Buffer[];
}

/** How long a client has to take our refusal. */
const LINGER_MS = 2_000;

export function carry(options: CarryOptions): void {
  new Carrying(options).start();
}

class Carrying {
  readonly #options: CarryOptions;
  readonly #client: Duplex;
  readonly #server: Socket;
  /** Null: nothing is looked at any more. */
  #inspector: Watcher | null;
  #handshake: NodeJS.Timeout | undefined;
  #linger: NodeJS.Timeout | undefined;
  #sent = 0;
  #received = 0;
  #refused: string | null = null;
  #clientDone = false;
  #open = 2;

  constructor(options: CarryOptions) {
    this.#options = options;
    this.#client = options.client;
    const { pool } = options;
    const take = (chunk: Buffer, release?: () => void): boolean => this.#fromServer(chunk, release);
    const pooled = pool === undefined ? null : readPooled(options.server, pool, take);
    this.#server = pooled ?? options.server;
    if (pooled === null) {
      const { server } = options;
      server.on("data", (chunk: Buffer) => {
        if (!this.#fromServer(chunk)) server.pause();
      });
    }
    this.#inspector = options.inspector;
  }

  start(): void {
    const client = this.#client;
    const server = this.#server;
    server.setTimeout(this.#options.idleMs, () => server.destroy(new Error("nothing moved for too long")));
    server.on("end", () => {
      this.#flushAnswers();
      if (!client.writableEnded && !client.destroyed) client.end();
    });
    server.on("drain", () => this.#resumeClient());
    server.on("error", (error) => breakOff(client, error));
    server.on("close", () => this.#closed(client, server.readableEnded && server.writableFinished));
    client.on("data", (chunk: Buffer) => this.#fromClient(chunk));
    client.on("end", () => this.#clientEnded());
    client.on("drain", () => server.resume());
    client.on("error", (error) => breakOff(server, error));
    client.on("close", () => this.#closed(server, client.readableEnded && client.writableFinished));
    // What happened before we listened.
    if (client.closed) this.#closed(server, false);
    if (server.closed) this.#closed(client, false);
    if (client.destroyed || server.destroyed) return;
    if (this.#options.first !== undefined && this.#options.first.length > 0) this.#fromClient(this.#options.first);
    if (client.readableEnded) this.#clientEnded();
  }

  /** False: the client takes no more for now. */
  #fromServer(chunk: Buffer, release?: () => void): boolean {
    if (this.#refused !== null) {
      release?.();
      return true;
    }
    this.#received += chunk.length;
    const takesMore = this.#toClient(chunk, release);
    if (this.#refused !== null) return true;
    const inspector = this.#inspector;
    if (inspector === null || !this.#options.enforce) return takesMore;
    const waited = inspector.waiting;
    this.#pass(inspector.observe(chunk));
    if (waited && !inspector.waiting) this.#resumeClient();
    return takesMore;
  }

  /** False: the client takes no more for now. `release` gives the chunk's memory back, which is used again then. */
  #toClient(chunk: Buffer, release?: () => void): boolean {
    const { answers } = this.#options;
    if (answers === undefined) {
      if (!this.#client.writableEnded && !this.#client.destroyed) return this.#client.write(chunk, release);
      release?.();
      return true;
    }
    // What is held back outlives the chunk.
    const passed = answers.pass(release === undefined ? chunk : Buffer.from(chunk));
    release?.();
    if (isPeekRefusal(passed)) {
      this.#refuse(passed);
      return true;
    }
    return this.#writeToClient(passed);
  }

  #flushAnswers(): void {
    if (this.#refused === null && !this.#writeToClient(this.#options.answers?.flush() ?? [])) this.#server.pause();
  }

  /** False: it takes no more for now. */
  #writeToClient(chunks: readonly Buffer[]): boolean {
    if (this.#client.writableEnded || this.#client.destroyed) return true;
    let takesMore = true;
    for (const chunk of chunks) takesMore = this.#client.write(chunk);
    return takesMore;
  }

  #fromClient(chunk: Buffer): void {
    if (this.#refused !== null) return;
    const inspector = this.#inspector;
    const passed = inspector === null ? [chunk] : inspector.push(chunk);
    if (this.#options.enforce) {
      this.#pass(passed);
      return;
    }
    inspector?.release();
    this.#inspector = null;
    this.#write(chunk);
  }

  #pass(passed: Passed): void {
    if (isPeekRefusal(passed)) {
      this.#refuse(passed);
      return;
    }
    for (const chunk of passed) this.#write(chunk);
    const inspector = this.#inspector;
    if (inspector === null) return;
    this.#watchTime(inspector);
    if (inspector.settled) {
      inspector.release();
      this.#inspector = null;
    } else if (inspector.waiting) this.#client.pause();
    if (this.#clientDone && !inspector.waiting) this.#endServer();
  }

  #write(chunk: Buffer): void {
    this.#sent += chunk.length;
    this.#options.onSent?.(chunk);
    if (!this.#server.write(chunk)) this.#client.pause();
  }

  #resumeClient(): void {
    if (this.#inspector?.waiting || this.#server.writableNeedDrain) return;
    this.#client.resume();
  }

  /** Runs from the first held byte; further bytes do not prolong it. */
  #watchTime(inspector: Watcher): void {
    if (!inspector.holding) {
      clearTimeout(this.#handshake);
      this.#handshake = undefined;
    } else if (this.#handshake === undefined) {
      this.#handshake = setTimeout(() => {
        this.#refuse({ protocol: inspector.protocol, reason: "a request or handshake that took too long" });
      }, this.#options.handshakeMs);
    }
  }

  #clientEnded(): void {
    this.#clientDone = true;
    if (this.#refused !== null) return;
    if (this.#inspector === null) this.#endServer();
    else this.#pass(this.#inspector.end());
  }

  #endServer(): void {
    if (!this.#server.writableEnded && !this.#server.destroyed) this.#server.end();
  }

  #refuse(refusal: PeekRefusal): void {
    if (this.#refused !== null) return;
    this.#refused = refusal.reason;
    clearTimeout(this.#handshake);
    const answer = refusalAnswer(refusal, this.#inspector?.answerable ?? false);
    this.#inspector?.release();
    this.#inspector = null;
    this.#server.destroy();
    const client = this.#client;
    if (answer === null || client.destroyed || client.writableEnded) {
      client.destroy();
      return;
    }
    // Unread bytes would turn our answer into a reset.
    client.resume();
    client.end(answer);
    this.#linger = setTimeout(() => client.destroy(), LINGER_MS);
  }

  #closed(other: Duplex, complete: boolean): void {
    this.#open--;
    const lingering = this.#refused !== null && other === this.#client && other.writableEnded;
    if (!complete && !lingering) other.destroy();
    if (this.#open > 0) return;
    clearTimeout(this.#handshake);
    clearTimeout(this.#linger);
    this.#inspector?.release();
    this.#options.onEnd({ sent: this.#sent, received: this.#received, refused: this.#refused });
  }
}

/** An end that came by force must not look like one that was meant. */
function breakOff(stream: Duplex, error: Error): void {
  if (stream.destroyed) return;
  // A socket of TLS cannot be reset; going without its farewell says the same.
  if (stream instanceof Socket && !("encrypted" in stream)) stream.resetAndDestroy();
  else stream.destroy(error);
}
