/** Names of tools and servers as names that a language takes. The same input always gives the same names. */

/** Words that no function can be called by in JavaScript or Python. */
const RESERVED = new Set(
  "and arguments as assert async await break case catch class const continue debugger def default del delete do elif else enum eval except export extends false False finally for from function global if implements import in instanceof interface is lambda let new None nonlocal not null or package pass private protected public raise return static super switch this throw true True try type typeof undefined var void while with yield".split(
    " ",
  ),
);

/** Each word's name. Where two would be the same, the later ones by order are told apart by a number. */
export function uniqueNames(words: readonly string[], make: (word: string) => string): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  const names = new Map<string, string>();
  for (const word of [...new Set(words)].sort()) {
    const wanted = make(word);
    let name = wanted;
    for (let count = 2; taken.has(name); count++) name = `${wanted}_${count}`;
    taken.add(name);
    names.set(word, name);
  }
  return names;
}

export function camelName(tool: string): string {
  const [first = "", ...rest] = partsOf(tool);
  return usable(first.charAt(0).toLowerCase() + first.slice(1) + rest.map(capital).join(""));
}

export function snakeName(tool: string): string {
  const words = partsOf(tool.replace(/([a-z0-9])([A-Z])/g, "$1_$2"));
  return usable(words.join("_").toLowerCase());
}

export function isIdentifier(name: string): boolean {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name);
}

function partsOf(tool: string): readonly string[] {
  return tool.split(/[^A-Za-z0-9]+/).filter((part) => part !== "");
}

function capital(part: string): string {
  return part.charAt(0).toUpperCase() + part.slice(1);
}

function usable(name: string): string {
  if (name === "" || /^[0-9]/.test(name)) return `tool_${name}`;
  return RESERVED.has(name) ? `${name}_` : name;
}

/** A text as it stands in a source of either language, whatever is in it. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16)}`);
}
