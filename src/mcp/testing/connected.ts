/** A connection without streams or sandboxes, for tests of the protocol itself. */
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { localUser } from "../../api/auth/caller.js";
import { OutputBudget } from "../../api/limits/output-budget.js";
import { Places } from "../../api/limits/places.js";
import { redactor } from "../../core/redact.js";
import { McpConnection } from "../connection.js";
import type { McpHost } from "../host.js";
import { RequestsAtWork } from "../requests-at-work.js";
import type { Tool } from "../tool.js";

export function bareHost(more: Partial<McpHost> = {}): McpHost {
  return {
    caller: localUser,
    own: { env: {}, homeDir: "/nonexistent" },
    project: null,
    runtime: { env: {}, homeDir: "/nonexistent", resident: null },
    sandboxes: null,
    places: new Places({ places: 4, mostWaiting: 4, sandboxesOfCaller: 4 }),
    outputs: new OutputBudget({ outputBytes: 1 << 20, callerOutputBytes: 1 << 20 }),
    redact: redactor(),
    serve: () => () => {},
    settleLater: () => {},
    whileValid: () => () => {},
    noteRun: () => {},
    ...more,
  };
}

interface Pair {
  readonly connection: McpConnection;
  readonly faults: readonly unknown[];
  /** Sends a request and resolves to its answer. */
  ask(message: object): Promise<unknown>;
  send(message: object): Promise<void>;
  /** Requests and notifications of the server's. */
  readonly received: JSONRPCMessage[];
  close(): Promise<void>;
}

export async function connectedPair(tools?: readonly Tool[], host = bareHost()): Promise<Pair> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const faults: unknown[] = [];
  const received: JSONRPCMessage[] = [];
  const waiting = new Map<unknown, (answer: unknown) => void>();
  near.onmessage = (message) => {
    if (!("method" in message) && "id" in message) waiting.get(message.id)?.(message);
    else received.push(message);
  };
  await near.start();
  const onFault = (error: unknown) => void faults.push(error);
  const connection = await McpConnection.open(far, {
    host,
    onFault,
    atWork: new RequestsAtWork(),
    ...(tools === undefined ? {} : { tools }),
  });
  return {
    connection,
    faults,
    received,
    send: (message) => near.send(message as JSONRPCMessage),
    ask: (message) =>
      new Promise((resolve, reject) => {
        waiting.set((message as { readonly id: unknown }).id, resolve);
        near.send(message as JSONRPCMessage).catch(reject);
      }),
    close: () => connection.close(),
  };
}
