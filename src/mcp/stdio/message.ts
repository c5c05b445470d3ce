/** The text of one message, into a message or into what is wrong with it. */
import type { MessageLine } from "./message-lines.js";

export interface Fault {
  readonly jsonrpc: "2.0";
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

export type Parsed =
  | { readonly message: Readonly<Record<string, unknown>> }
  | { readonly fault: Fault }
  /** There was nothing on the line. */
  | null;

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

export function parseMessage(line: MessageLine): Parsed {
  if ("tooLongBytes" in line) return fault(INVALID_REQUEST, `a message of ${line.tooLongBytes} bytes is too long`);
  const text = line.bytes.toString("utf8").trim();
  if (text === "") return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return fault(PARSE_ERROR, `this line is not JSON: ${error instanceof Error ? error.message.slice(0, 200) : ""}`);
  }
  if (Array.isArray(value)) return fault(INVALID_REQUEST, "batches are not taken: send one message a line");
  if (!isObject(value)) return fault(INVALID_REQUEST, "a message is an object");
  const why = faultOf(value);
  return why === null ? { message: value } : fault(INVALID_REQUEST, why, value.id);
}

function faultOf({ jsonrpc, id, method, params, result, error }: Readonly<Record<string, unknown>>): string | null {
  if (jsonrpc !== "2.0") return 'jsonrpc is not "2.0"';
  if (id !== undefined && !isId(id)) return "id is neither a text nor a whole number";
  if (method === undefined) return result === undefined && error === undefined ? "method is missing" : null;
  if (typeof method !== "string") return "method is not a text";
  return params === undefined || isObject(params) ? null : "params is not an object";
}

function fault(code: number, message: string, id?: unknown): Parsed {
  return { fault: { jsonrpc: "2.0", id: isId(id) ? id : null, error: { code, message } } };
}

function isId(value: unknown): value is string | number {
  return typeof value === "string" || Number.isInteger(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
