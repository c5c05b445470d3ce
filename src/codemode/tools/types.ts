/** `code_types`: how tools are called from code, and what they give. */
import { answerObject, field, optional } from "../../api/schema/object-shape.js";
import { choice, list, text } from "../../api/schema/shapes.js";
import { AgentKernelError } from "../../core/errors.js";
import { defineTool, type Tool } from "../../mcp/tool.js";
import { fits } from "../calls/policy.js";
import { type Language, languages } from "../modules/index.js";
import type { Catalog, ToolSchema } from "../servers/index.js";
import { type CodeMode, declarationsOf, lackingNotes, MOST_TEXT_CHARS, prepareAhead } from "./catalog.js";

export function codeTypes(mode: CodeMode): Tool {
  return defineTool({
    name: "code_types",
    title: "Declarations of tools",
    description:
      "Shows how tools are called in a program for code_run: declarations with types and documentation, and what to import. Ask for the few that are needed.",
    effects: { readOnly: true },
    scope: ["run"],
    input: {
      tools: field(
        list(text({ minLength: 1, maxLength: 300 }), { minItems: 1, maxItems: 50 }),
        "As code_search names them; * stands for any text.",
        ["github/list_issues"],
      ),
      language: optional(choice(languages), "In which language (typescript)."),
    },
    output: answerObject({
      declarations: field(text(), "Source text, cut where it is too long."),
      notes: field(list(text()), "What is missing."),
    }),
    call: async ({ tools, language = "typescript" }, call) => {
      prepareAhead(mode, call);
      const wanted = mode.servers.names.filter((server) => tools.some((pattern) => isOf(pattern, server)));
      const { catalogs, lacking } = await mode.servers.catalogs(wanted);
      const parts = catalogs.map((catalog) => declared(mode, catalog, tools, language)).filter((part) => part !== "");
      const notes = lackingNotes(lacking);
      if (parts.length === 0) {
        const why = notes.length > 0 ? notes.join("; ") : `no tool is called ${tools.join(", ").slice(0, 300)}`;
        throw new AgentKernelError("not_found", why, { hint: "find names with code_search" });
      }
      const whole = parts.join("\n");
      const isCut = whole.length > MOST_TEXT_CHARS;
      const declarations = isCut ? whole.slice(0, whole.lastIndexOf("\n", MOST_TEXT_CHARS) + 1) : whole;
      const said = isCut ? [...notes, "this is not all of it: ask for fewer tools at once"] : notes;
      return {
        text: [declarations, ...said.map((note) => `[${note}]`)].join("\n"),
        data: { declarations, notes: said },
      };
    },
  });
}

function isOf(pattern: string, server: string): boolean {
  const [first = ""] = pattern.split("/");
  return fits(first, server);
}

function declared(mode: CodeMode, catalog: Catalog, patterns: readonly string[], language: Language): string {
  const isWanted = ({ name }: ToolSchema) =>
    patterns.some((pattern) => fits(pattern.includes("/") ? pattern : `${pattern}/*`, `${catalog.server}/${name}`));
  return declarationsOf(mode, catalog, isWanted, language);
}
