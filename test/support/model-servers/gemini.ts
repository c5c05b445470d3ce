/** The Generative Language protocol, as Gemini CLI speaks it. */
import { type Exchange, type Step, sendEvents, stepAfter, textIn } from "./index.js";

interface Part {
  readonly text?: string;
  readonly functionResponse?: { readonly response?: unknown };
}

interface Content {
  readonly parts?: readonly Part[];
}

interface ToolSet {
  readonly functionDeclarations?: readonly { readonly name: string }[];
}

export function answerGemini({ path, body, script, seen, response }: Exchange): boolean {
  if (path.includes(":countTokens")) {
    response.writeHead(200, { "content-type": "application/json" }).end('{"totalTokens":10}');
    return true;
  }
  const isStream = path.includes(":streamGenerateContent");
  if (!isStream && !path.includes(":generateContent")) return false;
  const contents = (body.contents ?? []) as readonly Content[];
  const parts = contents.flatMap(({ parts: some = [] }) => some);
  const results = parts.flatMap(({ functionResponse }) =>
    functionResponse ? [textIn(functionResponse.response)] : [],
  );
  const tools = ((body.tools ?? []) as readonly ToolSet[]).flatMap(({ functionDeclarations = [] }) =>
    functionDeclarations.map(({ name }) => name),
  );
  if (tools.length > 0) {
    seen.tools = tools;
    if (results.length >= seen.results.length) seen.results = results;
    seen.said = `${textIn(body.systemInstruction)}\n${parts.map(({ text = "" }) => text).join("\n")}`;
  }
  const answer = answerOf(tools.length > 0 ? stepAfter(script, results.length) : { text: plainAnswer(body) });
  if (isStream) sendEvents(response, [answer]);
  else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  return true;
}

/** Gemini CLI also asks which of two models should answer, and wants JSON. */
function plainAnswer(body: Readonly<Record<string, unknown>>): string {
  const { responseMimeType } = (body.generationConfig ?? {}) as Readonly<Record<string, unknown>>;
  return responseMimeType === "application/json"
    ? '{"reasoning":"scripted","model_choice":"flash","complexity_score":1,"complexity_reasoning":"scripted"}'
    : "a title";
}

function answerOf(step: Step): Readonly<Record<string, unknown>> {
  const part = "text" in step ? { text: step.text } : { functionCall: { name: step.tool, args: step.input } };
  return {
    candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    modelVersion: "scripted",
  };
}
