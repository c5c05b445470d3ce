/** Records the user's answer to a question about a destination, or that there was none. */
import type { SandboxAudit } from "../audit/index.js";
import type { ApprovalChoice, Ask } from "../egress/index.js";
import type { Asker } from "./asker.js";

export function recordedAsk({ ask, by }: Pick<Asker, "ask" | "by">, records: Pick<SandboxAudit, "approval">): Ask {
  return async (question) => {
    const { host, port, signal } = question;
    let isRecorded = false;
    const record = (answer: ApprovalChoice | "none") => {
      if (isRecorded) return;
      isRecorded = true;
      const verdict = answer === "once" || answer === "sandbox" ? "allowed" : "denied";
      records.approval({ asked: host, port, verdict, answer, by });
    };
    // Whoever asked has gone on without an answer: one that comes now changes nothing.
    signal.addEventListener("abort", () => record("none"), { once: true });
    try {
      const answer = await ask(question);
      record(answer);
      return answer;
    } catch (error) {
      record("none");
      throw error;
    }
  };
}
