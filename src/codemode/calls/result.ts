/** What a tool answered, as the value that the program gets. It is data: nothing in it is followed or run. */
type Fields = Readonly<Record<string, unknown>>;

type ToolResult = { readonly value: unknown } | { readonly failed: string };

const MOST_ERROR_CHARS = 2000;

export function resultOf(answer: unknown): ToolResult {
  const { structuredContent, content, isError } = answer as Fields;
  const blocks = Array.isArray(content) ? (content as readonly Fields[]) : [];
  const isText = blocks.length > 0 && blocks.every((block) => block.type === "text" && typeof block.text === "string");
  const text = isText ? blocks.map((block) => block.text).join("\n") : "";
  if (isError === true) return { failed: (text === "" ? "it gave no reason" : text).slice(0, MOST_ERROR_CHARS) };
  if (structuredContent !== undefined) return { value: structuredContent };
  return { value: isText ? textValue(text) : blocks };
}

/** Objects and lists as such: most servers that have no schema for their results write them so. */
function textValue(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
