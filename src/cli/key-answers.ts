/** API keys as the command line tells of them: never the key, and never its hash. */
import { ceilingColumn, ceilingJson } from "../api/auth/key-ceiling.js";
import { type KeyRecord, KeyStore } from "../api/auth/key-store.js";
import { apiKeysFolder } from "../core/state-folders.js";
import type { Surroundings } from "../core/surroundings.js";

export function keyStore({ env, homeDir }: Pick<Surroundings, "env" | "homeDir">): KeyStore {
  return new KeyStore(apiKeysFolder(env, homeDir));
}

export function keyAnswer({
  id,
  name,
  scopes,
  sandboxes,
  quotas,
  ceiling,
  createdAtMs,
  expiresAtMs,
}: KeyRecord): object {
  return {
    id,
    name,
    scopes,
    sandboxes,
    concurrency: quotas.concurrency,
    requests_per_minute: quotas.requestsPerMinute,
    cpu_seconds_per_hour: quotas.cpuSecondsPerHour,
    max_sandboxes: quotas.sandboxes ?? null,
    ceiling: ceiling === null ? null : ceilingJson(ceiling),
    created_at: new Date(createdAtMs).toISOString(),
    expires_at: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
  };
}

export function keyRow(
  { id, name, scopes, sandboxes, ceiling, expiresAtMs }: KeyRecord,
  nowMs: number,
): readonly string[] {
  const isOver = expiresAtMs !== null && expiresAtMs <= nowMs;
  const until = expiresAtMs === null ? "never" : `${isOver ? "expired " : ""}${new Date(expiresAtMs).toISOString()}`;
  const most = ceiling === null ? "acts as you" : ceilingColumn(ceiling);
  return [name, id, scopes.join(","), sandboxes === null ? "its own" : sandboxes.join(","), most, until];
}
