/** The Responses protocol, as Codex speaks it. A tool of a namespace is written `namespace/name` in a script. */
import { type Exchange, type ServerEvent, type Step, sendEvents, stepAfter, textIn } from "./index.js";

interface Item {
  readonly type?: string;
  readonly output?: unknown;
  readonly content?: unknown;
}

interface Tool {
  readonly type: string;
  readonly name?: string;
  readonly tools?: readonly Tool[];
}

export function answerResponses({ path, body, script, seen, response }: Exchange): boolean {
  if (path.endsWith("/models")) {
    response.writeHead(200, { "content-type": "application/json" }).end('{"object":"list","data":[],"models":[]}');
    return true;
  }
  if (!path.endsWith("/responses")) return false;
  const input = (body.input ?? []) as readonly Item[];
  const results = input.filter(({ type }) => type === "function_call_output").map(({ output }) => textIn(output));
  seen.tools = ((body.tools ?? []) as readonly Tool[]).flatMap((tool) => namesOf(tool));
  if (results.length >= seen.results.length) seen.results = results;
  seen.said = `${textIn(body.instructions)}\n${input.map(({ content }) => textIn(content)).join("\n")}`;
  sendEvents(response, eventsOf(stepAfter(script, results.length), results.length));
  return true;
}

function namesOf({ type, name, tools = [] }: Tool): readonly string[] {
  return tools.length > 0 ? tools.flatMap(namesOf).map((inner) => `${name}/${inner}`) : [name ?? type];
}

function eventsOf(step: Step, count: number): readonly ServerEvent[] {
  const id = `resp_${count}`;
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
  return [
    { type: "response.created", response: { id } },
    { type: "response.output_item.done", output_index: 0, item: itemOf(step, count) },
    { type: "response.completed", response: { id, usage } },
  ];
}

function itemOf(step: Step, count: number): object {
  if ("text" in step) {
    return {
      type: "message",
      id: `msg_${count}`,
      role: "assistant",
      content: [{ type: "output_text", text: step.text }],
    };
  }
  const slash = step.tool.indexOf("/");
  const space = slash < 0 ? {} : { namespace: step.tool.slice(0, slash) };
  return {
    type: "function_call",
    id: `fc_${count}`,
    call_id: `call_${count}`,
    name: step.tool.slice(slash + 1),
    ...space,
    arguments: JSON.stringify(step.input),
  };
}
