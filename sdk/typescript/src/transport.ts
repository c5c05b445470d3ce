/** How a request gets to the server. Node has a way of its own, which knows Unix sockets; all others have `fetch`. */
export interface WireRequest {
  readonly method: string;
  /** From the root of the API, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
  readonly signal: AbortSignal;
}

export interface WireAnswer {
  readonly status: number;
  header(name: string): string | null;
  /** Leaving a loop over it hangs up. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** A WebSocket. Messages are text or bytes. */
export interface MessageSocket {
  send(message: string | Uint8Array): void;
  /** Ends when the other side has closed it. Leaving the loop hangs up. */
  messages(): AsyncGenerator<string | Uint8Array>;
  close(): void;
}

export interface Transport {
  /** Rejects with a `TransportError`, or with whatever the signal says. */
  send(request: WireRequest): Promise<WireAnswer>;
  /** Answers with an answer of HTTP where the server did not agree. */
  openSocket(request: WireRequest): Promise<MessageSocket | WireAnswer>;
  close(): void;
}
