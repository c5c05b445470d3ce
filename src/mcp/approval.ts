/** What only the user can decide, put to them through the client (elicitation), one question after the other. */
import type { ApprovalChoice, Ask, Question } from "../egress/index.js";

/** Sends a request to the client, as a part of the call that it is about. */
export type Elicit = (params: ElicitParams, signal: AbortSignal) => Promise<ElicitAnswer>;

interface ElicitAnswer {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Readonly<Record<string, unknown>> | undefined;
}

const choices: readonly { readonly const: ApprovalChoice; readonly title: string }[] = [
  { const: "once", title: "Allow once" },
  { const: "sandbox", title: "Allow for this sandbox" },
  { const: "never", title: "Never allow in this sandbox" },
];

interface ElicitParams {
  readonly mode: "form";
  readonly message: string;
  readonly requestedSchema: object;
}

/** Of one client: two questions at once could not be told apart by many. */
export class Questions {
  #last: Promise<unknown> = Promise.resolve();

  /** About destinations that no rule covers. */
  through(elicit: Elicit): Ask {
    return (question) => this.#inTurn(() => put(elicit, question));
  }

  /** Whether they agree to one thing, this once. */
  confirmed(elicit: Elicit, question: string, signal: AbortSignal): Promise<boolean> {
    return this.#inTurn(() => confirmed(elicit, question, signal));
  }

  #inTurn<T>(ask: () => Promise<T>): Promise<T> {
    const answer = this.#last.then(ask);
    this.#last = answer.catch(() => {});
    return answer;
  }
}

async function confirmed(elicit: Elicit, message: string, signal: AbortSignal): Promise<boolean> {
  signal.throwIfAborted();
  const decision = {
    type: "string",
    title: "Decision",
    oneOf: [
      { const: "once", title: "Allow for this call" },
      { const: "never", title: "Do not allow" },
    ],
    default: "never",
  };
  const requestedSchema = { type: "object", properties: { decision }, required: ["decision"] };
  const { action, content } = await elicit({ mode: "form", message, requestedSchema }, signal);
  return action === "accept" && content?.decision === "once";
}

async function put(elicit: Elicit, { sandbox, host, port, signal }: Question): Promise<ApprovalChoice> {
  signal.throwIfAborted();
  const { action, content } = await elicit(
    {
      mode: "form",
      message: `A command in the sandbox ${sandbox} wants to reach ${host}:${port}, which its policy does not allow. Allow it?`,
      requestedSchema: {
        type: "object",
        properties: {
          decision: { type: "string", title: "Decision", oneOf: choices, default: "never" },
        },
        required: ["decision"],
      },
    },
    signal,
  );
  if (action === "decline") return "never";
  if (action === "cancel") throw new Error("the question was dismissed");
  const found = choices.find((choice) => choice.const === content?.decision);
  if (found === undefined) throw new Error("the answer is none of once, sandbox and never");
  return found.const;
}
