/** Signed addresses of files: who has one may read or write that one file, as that user, until it runs out. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { E2bContext, Found } from "../context.js";
import { isSameText } from "../tokens.js";

/** The one of these sandboxes whose token the address was signed with. */
export function sandboxOfSignature(
  { method, url = "" }: IncomingMessage,
  sandboxes: readonly Found[],
  { tokens }: E2bContext,
): Found | undefined {
  const { searchParams: query } = new URL(url, "http://localhost");
  const given = query.get("signature");
  const operation = method === "GET" ? "read" : method === "POST" ? "write" : null;
  if (given === null || operation === null) return undefined;
  const expiration = query.get("signature_expiration");
  if (expiration !== null && !(/^\d{1,12}$/.test(expiration) && Number(expiration) * 1000 > Date.now()))
    return undefined;
  const before = `${query.get("path") ?? ""}:${operation}:${query.get("username") ?? ""}:`;
  const after = expiration === null ? "" : `:${expiration}`;
  return sandboxes.find(({ sandbox }) => {
    const signed = `${before}${tokens.of("envd", sandbox.id)}${after}`;
    const right = `v1_${createHash("sha256").update(signed).digest("base64").replace(/=+$/, "")}`;
    return isSameText(right, given);
  });
}
