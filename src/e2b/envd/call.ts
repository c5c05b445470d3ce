/** A request to the services of one sandbox whose token was right. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "../../api/auth/caller.js";
import type { BodySource } from "../../api/http/body.js";
import type { E2bContext, Found } from "../context.js";
import { USER } from "../sandboxes/home.js";

export interface EnvdCall extends E2bContext, Found {
  /** The sandbox's owner. */
  readonly caller: Caller;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly source: BodySource;
  /** Nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** Whom a client names in its `Authorization` header. Null: the sandbox's own user, which their default user stands for. */
export function userOf({ request }: Pick<EnvdCall, "request">): string | null {
  const encoded = /^Basic +([A-Za-z0-9+/=]+)$/.exec(request.headers.authorization ?? "")?.[1];
  if (encoded === undefined) return null;
  const [name = ""] = Buffer.from(encoded, "base64").toString("utf8").split(":", 1);
  return name === "" || name === USER ? null : name;
}

/** A path as clients name it: absolute, or from their home. */
export function pathInside({ record }: Found, path: string): string {
  if (path.startsWith("/")) return path;
  const rest = path.replace(/^~\/?/, "").replace(/^\.\//, "");
  return rest === "" || rest === "." ? record.home : `${record.home}/${rest}`;
}
