/** One answer to one message; an answer in many; an answer to many. */
import type { Json } from "../../api/schema/json-text.js";
import type { EnvdCall } from "./call.js";
import type { MessageStream } from "./connect-protocol.js";

export type Method =
  | { readonly kind: "single"; readonly serve: (call: EnvdCall, message: Json) => Promise<object> }
  | { readonly kind: "stream"; readonly serve: (call: EnvdCall, message: Json, stream: MessageStream) => Promise<void> }
  | { readonly kind: "input"; readonly serve: (call: EnvdCall) => Promise<object> };
