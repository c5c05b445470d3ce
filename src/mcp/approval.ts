/** Destinations that no rule covers, put to the user through the client (elicitation), one after the other. */
import type { Answer, Ask, Question } from "../egress/index.js";

/** Sends a request to the client, as a part of the call that it is about. */
export type Elicit = (params: ElicitParams, signal: AbortSignal) => Promise<ElicitAnswer>;

export interface ElicitAnswer {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Readonly<Record<string, unknown>> | undefined;
}

const choices: readonly { readonly const: Answer; readonly title: string }[] = [
  { const: "once", title: "Allow once" },
  { const: "sandbox", title: "Allow for this sandbox" },
  { const: "never", title: "Never allow in this sandbox" },
];

export interface ElicitParams {
  readonly mode: "form";
  readonly message: string;
  readonly requestedSchema: object;
}

/** Of one client: two questions at once could not be told apart by many. */
export class Questions {
  #last: Promise<unknown> = Promise.resolve();

  through(elicit: Elicit): Ask {
    return (question) => {
      const answer = this.#last.then(() => put(elicit, question));
      this.#last = answer.catch(() => {});
      return answer;
    };
  }
}

async function put(elicit: Elicit, { sandbox, host, port, signal }: Question): Promise<Answer> {
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
