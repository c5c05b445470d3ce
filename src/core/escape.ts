/**
 * Text from outside (paths, names, arguments, what a sandbox printed into a message) must not steer the user's
 * terminal. Everything of ours that may carry such text passes through here.
 */
/** Control characters of both sets, line separators, marks that reorder or hide text, and halves of characters. */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** One line that is safe to print, with what was unsafe in it made visible. */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\r") return "\\r";
    if (character === "\t") return "\\t";
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** JSON whose strings cannot steer a terminal either; it means the same to whoever parses it. */
export function escapeJson(json: string): string {
  return json.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
