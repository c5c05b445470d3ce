// Coverage for the search over TypeScript: a counter at every place where the control flow of a bundle divides, and the
// words and numbers that it compares with. The parser is Vite's, which comes with vitest.
import { parseAst } from "vitest/node";

/** How counters are called in the text. */
export const COUNTERS = "__fuzzCounters";

const LONGEST_WORD = 40;
const loops = new Set([
  "ForStatement",
  "ForInStatement",
  "ForOfStatement",
  "WhileStatement",
  "DoWhileStatement",
  "LabeledStatement",
]);

/** `text` is a module in ASCII. Returns it with counters, how many there are, and a dictionary of what it knows. */
export function withCounters(text) {
  const openings = [];
  const closings = [];
  const words = new Set();
  let count = 0;
  const next = () => `${COUNTERS}[${count++}]++`;
  const open = (at, insert) => openings.push({ at, insert });
  const close = (at, insert) => closings.push({ at, insert });
  const expression = (node) => {
    open(node.start, `(${next()},(`);
    close(node.end, "))");
  };
  const statement = (node) => {
    if (node.type === "BlockStatement") return;
    open(node.start, `{${next()};`);
    close(node.end, "}");
  };
  const enter = (node) => {
    switch (node.type) {
      case "BlockStatement":
      case "StaticBlock":
        open(text.indexOf("{", node.start) + 1, `${next()};`);
        break;
      case "IfStatement":
        statement(node.consequent);
        if (node.alternate) statement(node.alternate);
        break;
      case "SwitchCase":
        if (node.consequent[0]) open(node.consequent[0].start, `${next()};`);
        break;
      case "ConditionalExpression":
        expression(node.consequent);
        expression(node.alternate);
        break;
      case "LogicalExpression":
        expression(node.right);
        break;
      case "ArrowFunctionExpression":
        if (node.body.type !== "BlockStatement") expression(node.body);
        break;
      case "Literal":
        note(node, words);
        break;
      default:
        if (loops.has(node.type) && node.type !== "LabeledStatement") statement(node.body);
    }
  };
  walk(parseAst(text), enter);
  return { text: spliced(text, openings, closings), counters: count, words: [...words] };
}

function walk(node, enter) {
  enter(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (child !== null && typeof child === "object" && typeof child.type === "string") walk(child, enter);
    }
  }
}

function note({ value, regex }, words) {
  const add = (word) => {
    if (word.length > 0 && word.length <= LONGEST_WORD) words.add(word);
  };
  if (regex !== undefined) for (const [part] of regex.pattern.matchAll(/[\w/:-]{2,}/g)) add(part);
  else if (typeof value === "string") add(value);
  else if (typeof value === "number" && Number.isInteger(value) && value > 0 && value <= 0xffff_ffff) {
    const bytes = value < 256 ? 1 : value < 65_536 ? 2 : 4;
    const little = Array.from({ length: bytes }, (_, at) => String.fromCharCode((value / 256 ** at) & 0xff));
    add(little.join(""));
    add(little.reverse().join(""));
  }
}

/** What is entered later lies further inside: it opens later and closes sooner. */
function spliced(text, openings, closings) {
  const inserts = [
    ...closings.reverse().map((one, order) => ({ ...one, order, kind: 0 })),
    ...openings.map((one, order) => ({ ...one, order, kind: 1 })),
  ].sort((one, other) => one.at - other.at || one.kind - other.kind || one.order - other.order);
  let out = "";
  let from = 0;
  for (const { at, insert } of inserts) {
    out += text.slice(from, at) + insert;
    from = at;
  }
  return out + text.slice(from);
}
