/** The Messages protocol, as Claude Code and OpenCode speak it. */
import { type Exchange, type ServerEvent, type Step, sendEvents, stepAfter, textIn } from "./index.js";

interface Message {
  readonly role: string;
  readonly content: unknown;
}

interface Tool {
  readonly name: string;
  readonly input_schema?: { readonly properties?: Readonly<Record<string, unknown>> };
}

interface Part {
  readonly type: string;
  readonly content?: unknown;
  readonly text?: unknown;
}

export function answerAnthropic({ path, body, script, seen, response }: Exchange): boolean {
  if (path.includes("/messages/count_tokens")) {
    response.writeHead(200, { "content-type": "application/json" }).end('{"input_tokens":10}');
    return true;
  }
  if (!path.includes("/messages")) return false;
  const messages = (body.messages ?? []) as readonly Message[];
  const offered = (body.tools ?? []) as readonly Tool[];
  const tools = offered.map(({ name }) => name);
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as readonly Part[]) : []));
  const results = parts.filter(({ type }) => type === "tool_result").map(({ content }) => textIn(content));
  // Agents also ask for titles and the like, without any tool.
  const isMain = tools.length > 0;
  if (isMain) {
    seen.tools = tools;
    seen.fields = Object.fromEntries(
      offered.map(({ name, input_schema: schema }) => [name, Object.keys(schema?.properties ?? {})]),
    );
    if (results.length >= seen.results.length) seen.results = results;
    seen.said = `${textIn(body.system)}\n${messages.map(({ content }) => textIn(content)).join("\n")}`;
  }
  const step = isMain ? stepAfter(script, results.length) : { text: "a title" };
  if (body.stream === true) sendEvents(response, eventsOf(step, String(body.model), results.length));
  else
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify(whole(step, String(body.model))));
  return true;
}

const usage = { input_tokens: 10, output_tokens: 5 };

function whole(step: Step, model: string): object {
  const content =
    "text" in step
      ? { type: "text", text: step.text }
      : { type: "tool_use", id: "toolu_0", name: step.tool, input: step.input };
  return {
    id: "msg_0",
    type: "message",
    role: "assistant",
    model,
    content: [content],
    stop_reason: stopOf(step),
    usage,
  };
}

function eventsOf(step: Step, model: string, count: number): readonly ServerEvent[] {
  const message = {
    id: `msg_${count}`,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    usage,
  };
  const [block, delta] =
    "text" in step
      ? [
          { type: "text", text: "" },
          { type: "text_delta", text: step.text },
        ]
      : [
          { type: "tool_use", id: `toolu_${count}`, name: step.tool, input: {} },
          { type: "input_json_delta", partial_json: JSON.stringify(step.input) },
        ];
  return [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: stopOf(step), stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
}

function stopOf(step: Step): string {
  return "text" in step ? "end_turn" : "tool_use";
}
