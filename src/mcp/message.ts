/** One message of a client's, from its text, or what is wrong with it. The same on every transport. */
import type { RequestId } from "./requests-at-work.js";

interface Fault {
  readonly jsonrpc: "2.0";
  readonly id: RequestId | null;
  readonly error: { readonly code: number; readonly message: string };
}

export type Message = Readonly<Record<string, unknown>>;

export type Parsed = { readonly message: Message } | { readonly fault: Fault };

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INVALID_PARAMS = -32_602;

export function parseMessage(text: string): Parsed {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return faultWith(PARSE_ERROR, `this is not JSON: ${error instanceof Error ? error.message.slice(0, 200) : ""}`);
  }
  if (Array.isArray(value)) return faultWith(INVALID_REQUEST, "batches are not taken: send one message at a time");
  if (!isObject(value)) return faultWith(INVALID_REQUEST, "a message is an object");
  const why = faultOf(value);
  if (why !== null) return faultWith(INVALID_REQUEST, why, value.id);
  // What reads messages after this leaves the key out, and its sender would think that it was read.
  if (mayHoldProto(text) && holdsProto(value)) {
    return faultWith(INVALID_PARAMS, "__proto__ is not known, wherever it stands in a message: leave it out", value.id);
  }
  return { message: value };
}

export function tooLong(bytes: number): Parsed {
  return faultWith(INVALID_REQUEST, `a message of ${bytes} bytes is too long`);
}

export function stillAtWork(id: RequestId): Fault {
  const message = `a request with the id ${JSON.stringify(id).slice(0, 100)} is still at work: choose another id`;
  return { jsonrpc: "2.0", id, error: { code: INVALID_REQUEST, message } };
}

/** Null of what is no request: it wants no answer. */
export function requestIdOf({ id, method }: Message): RequestId | null {
  return method !== undefined && isId(id) ? id : null;
}

function faultOf({ jsonrpc, id, method, params, result, error }: Message): string | null {
  if (jsonrpc !== "2.0") return 'jsonrpc is not "2.0"';
  if (id !== undefined && !isId(id)) return "id is neither a text nor a whole number";
  if (method === undefined) return result === undefined && error === undefined ? "method is missing" : null;
  if (typeof method !== "string") return "method is not a text";
  return params === undefined || isObject(params) ? null : "params is not an object";
}

/** Also where its letters are escaped. Most messages need not be looked through. */
function mayHoldProto(text: string): boolean {
  return text.includes("__proto__") || /\\u00(?:5f|[67])/i.test(text);
}

/** Without recursion: a message may be nested deeper than the stack is. */
function holdsProto(value: object): boolean {
  const left: object[] = [value];
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    if (Object.hasOwn(one, "__proto__")) return true;
    for (const inner of Object.values(one)) {
      if (typeof inner === "object" && inner !== null) left.push(inner);
    }
  }
  return false;
}

function faultWith(code: number, message: string, id?: unknown): { readonly fault: Fault } {
  return { fault: { jsonrpc: "2.0", id: isId(id) ? id : null, error: { code, message } } };
}

function isId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isInteger(value);
}

function isObject(value: unknown): value is Message {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
