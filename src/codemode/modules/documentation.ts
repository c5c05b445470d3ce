/** What servers say of their tools, as comments. It comes from others: it is bounded, and cannot end the comment. */
export const MOST_TOOL_CHARS = 600;
export const MOST_FIELD_CHARS = 200;

export function oneLine(text: unknown, mostChars: number): string {
  if (typeof text !== "string") return "";
  const plain = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return plain.length > mostChars ? `${plain.slice(0, mostChars).trimEnd()}…` : plain;
}

export function blockComment(text: unknown, indent: string, mostChars: number): string {
  const line = oneLine(text, mostChars).replaceAll("*/", "*\\/");
  return line === "" ? "" : `${indent}/** ${line} */\n`;
}
