/** Begins something in a running sandbox, a command or a terminal: it was allowed, and its start and end are on record. */
import type { ExecRequest } from "../../core/exec.js";
import type { GuestSession } from "../../guest/index.js";
import { blockedSince } from "../blocked-since.js";
import type { RunAudit } from "../run-audit.js";
import { execRequest } from "./execs/exec-request.js";
import type { SandboxRecord } from "./record.js";
import type { RunningSandbox } from "./running.js";
import type { ExecInfo, ExecOptions } from "./types.js";

interface BeginParts {
  readonly running: RunningSandbox;
  readonly record: SandboxRecord;
  readonly audit: RunAudit;
  /** Whether we have let go of the sandbox. */
  readonly isReleased: () => boolean;
}

export async function beginCommand<Begun extends { readonly over: Promise<ExecInfo> }>(
  { running, record, audit, isReleased }: BeginParts,
  options: ExecOptions,
  start: (session: GuestSession, request: ExecRequest) => Promise<Begun>,
): Promise<Begun> {
  const request = execRequest(options, record, running.egress?.env ?? {});
  const recordEnd = audit.records.execStarting(request, [options.hostEnv, options.env ?? {}]);
  try {
    await audit.insist();
    if (running.egress !== null) options.onNetwork?.(blockedSince(running.egress.port));
    const begun = await start(running.session, request);
    void begun.over.then(({ state, code, signal, timedOut, error }) => {
      // It goes on, and what we know of it ends here.
      if (options.detached && isReleased()) return;
      const exit = { code, signal, usage: { userUs: 0, systemUs: 0, maxRssKiB: 0 } };
      recordEnd(state === "ended" ? { exit, timedOut } : { error: error ?? state });
    });
    audit.writeSoon();
    return begun;
  } catch (error) {
    recordEnd({ error });
    throw error;
  }
}
