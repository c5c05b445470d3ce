/** `code_search`: which tools there are for something. However many there are, an answer is short. */
import { answerObject, field, optional } from "../../api/schema/object-shape.js";
import { choice, flag, list, text, whole } from "../../api/schema/shapes.js";
import { defineTool, type Tool } from "../../mcp/tool.js";
import { mayBeCalled } from "../calls/policy.js";
import { oneLine } from "../modules/documentation.js";
import { type Language, languages } from "../modules/index.js";
import { isFields } from "../modules/schema-type.js";
import type { Catalog, ToolSchema } from "../servers/index.js";
import { type CodeMode, declarationsOf, lackingNotes, prepareAhead } from "./catalog.js";

const USUAL = 8;
const MOST = 50;
const LINE_CHARS = 120;
/** Of the best ones it is shown how they are called, so that a program can follow at once. */
const MOST_DECLARED = 4;
const MOST_DECLARED_CHARS = 6000;
/** Words that fit every description. */
const FILLERS = new Set("a all an and by for from in is it of on or that the this to with".split(" "));

interface Found {
  readonly catalog: Catalog;
  readonly tool: ToolSchema;
  readonly score: number;
}

export function codeSearch(mode: CodeMode): Tool {
  return defineTool({
    name: "code_search",
    title: "Find tools for code",
    description:
      "Finds tools of the connected MCP servers by words, for programs that code_run runs, and shows how the best are called. code_types shows others. Without words it lists the servers.",
    effects: { readOnly: true },
    scope: ["run"],
    input: {
      query: optional(text({ maxLength: 400 }), "Words that tell what is wanted.", "list issues of a repository"),
      limit: optional(whole({ min: 1, max: MOST }), `At most so many (${USUAL}).`),
      language: optional(choice(languages), "Of what is shown (typescript)."),
    },
    output: answerObject({
      tools: field(
        list(
          answerObject({
            tool: field(text(), "server/tool, as code_types takes it."),
            module: field(text(), "What a program imports."),
            about: field(text(), "What the server says of it."),
            callable: field(flag(), "Whether the policy lets code call it at all."),
          }),
        ),
        "The best first.",
      ),
      declarations: field(text(), "How the best are called."),
      servers: field(list(text()), "Without words: every server, and how many tools it has."),
      more: field(whole({ min: 0 }), "How many others fit as well."),
      notes: field(list(text()), "Servers that cannot be reached."),
    }),
    call: async ({ query = "", limit = USUAL, language = "typescript" }, call) => {
      prepareAhead(mode, call);
      const { catalogs, lacking } = await mode.servers.catalogs();
      const words = query
        .toLowerCase()
        .split(/[^a-z0-9]+/)
        .filter((word) => word !== "" && !FILLERS.has(word));
      const found = words.length === 0 ? [] : ranked(catalogs, words);
      const shown = found.slice(0, limit);
      const tools = shown.map(({ catalog, tool }) => ({
        tool: nameOf(catalog, tool),
        module: `tools/${catalog.module}`,
        about: oneLine(tool.description, LINE_CHARS),
        callable: mayBeCalled(mode.policy, nameOf(catalog, tool)),
      }));
      const best = new Set(
        tools
          .filter(({ callable }) => callable)
          .slice(0, MOST_DECLARED)
          .map(({ tool }) => tool),
      );
      const { declarations, declared } = declaredWithin(mode, shown, best, language);
      const servers =
        words.length > 0 ? [] : catalogs.map(({ server, tools: all }) => `${server}: ${all.length} tools`);
      const notes = lackingNotes(lacking);
      const more = found.length - tools.length;
      const lines = [
        ...servers,
        ...(declarations === "" ? [] : [declarations]),
        ...tools
          .filter(({ tool }) => !declared.has(tool))
          .map(({ tool, about, callable }) => `${tool}${callable ? "" : " (not allowed)"}: ${about}`),
        ...(words.length > 0 && tools.length === 0 ? ["no tool fits; try other words, or none for all servers"] : []),
        ...(more > 0 ? [`[${more} more fit; use more words]`] : []),
        ...notes.map((note) => `[${note}]`),
      ];
      return { text: lines.join("\n"), data: { tools, declarations, servers, more, notes } };
    },
  });
}

function nameOf({ server }: Catalog, { name }: ToolSchema): string {
  return `${server}/${name}`;
}

/** Server by server, the best one's first, and only as many as there is room for. */
function declaredWithin(mode: CodeMode, found: readonly Found[], best: ReadonlySet<string>, language: Language) {
  const catalogs = new Set(
    found.filter(({ catalog, tool }) => best.has(nameOf(catalog, tool))).map(({ catalog }) => catalog),
  );
  const declared = new Set<string>();
  let declarations = "";
  for (const catalog of catalogs) {
    const wanted = catalog.tools.filter((tool) => best.has(nameOf(catalog, tool)));
    const part = declarationsOf(mode, catalog, ({ name }) => wanted.some((tool) => tool.name === name), language);
    if (declarations.length + part.length > MOST_DECLARED_CHARS) continue;
    declarations += `${declarations === "" ? "" : "\n"}${part}`;
    for (const tool of wanted) declared.add(nameOf(catalog, tool));
  }
  return { declarations, declared };
}

/** By how many of the words are in a tool's name, its server's, its description or its arguments, in this order of weight. */
function ranked(catalogs: readonly Catalog[], words: readonly string[]): readonly Found[] {
  const all = catalogs.flatMap((catalog) =>
    catalog.tools.map((tool) => ({ catalog, tool, score: scoreOf(catalog.server, tool, words) })),
  );
  const name = ({ catalog, tool }: Found) => nameOf(catalog, tool);
  return all.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score || (name(a) < name(b) ? -1 : 1));
}

function scoreOf(server: string, { name, description, inputSchema }: ToolSchema, words: readonly string[]): number {
  const properties = isFields(inputSchema) && isFields(inputSchema.properties) ? inputSchema.properties : {};
  const weights: readonly (readonly [string, number])[] = [
    [name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase(), 6],
    [server.toLowerCase(), 4],
    [description.toLowerCase(), 2],
    [Object.keys(properties).join(" ").toLowerCase(), 1],
  ];
  const one = (word: string) => weights.reduce((sum, [place, weight]) => sum + weight * fitOf(word, place), 0);
  return words.reduce((sum, word) => sum + one(word), 0);
}

/** A whole word counts twice as much as a part of one; of numbers and letters a part means nothing. */
function fitOf(word: string, place: string): number {
  const stem = word.length > 3 ? word.replace(/s$/, "") : word;
  const isWhole = place.split(/[^a-z0-9]+/).some((one) => one === word || one === stem);
  if (isWhole) return 2;
  return stem.length > 2 && place.includes(stem) ? 1 : 0;
}
