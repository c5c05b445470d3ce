// An MCP server for tests of code mode, on stdin and stdout. Its first word says how it behaves.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [kind = "usual", ...more] = process.argv.slice(2);

const object = (properties, required = []) => ({ type: "object", properties, required });
const text = (value) => ({ content: [{ type: "text", text: value }] });

const issues = Array.from({ length: 400 }, (_, index) => ({
  number: index + 1,
  title: `Issue ${index + 1}`,
  state: index % 4 === 0 ? "closed" : "open",
  labels: index % 3 === 0 ? ["bug"] : ["feature"],
  body: `Long words about issue ${index + 1}. `.repeat(20),
}));

const usual = {
  list_issues: {
    description: "Lists issues, a page at a time.",
    inputSchema: object(
      { page: { type: "integer", description: "From 1 on." }, state: { enum: ["open", "closed", "all"] } },
      ["page"],
    ),
    outputSchema: object(
      {
        issues: {
          type: "array",
          items: object(
            {
              number: { type: "integer" },
              title: { type: "string" },
              state: { enum: ["open", "closed"] },
              labels: { type: "array", items: { type: "string" } },
              body: { type: "string" },
            },
            ["number", "title", "state", "labels", "body"],
          ),
        },
        next: { type: ["integer", "null"] },
      },
      ["issues", "next"],
    ),
    call: ({ page, state = "all" }) => {
      const all = issues.filter((issue) => state === "all" || issue.state === state);
      const some = all.slice((page - 1) * 50, page * 50);
      const result = { issues: some, next: page * 50 < all.length ? page + 1 : null };
      return { ...text(JSON.stringify(result)), structuredContent: result };
    },
  },
  echo: {
    description: "Gives back what it is given. */ export const evil = 1; /*",
    inputSchema: object({ text: { type: "string" }, "odd-name": { type: "number" } }, ["text"]),
    call: ({ text: value }) => text(value),
  },
  delete_all: { description: "Deletes everything.", inputSchema: object({}), call: () => text("deleted") },
  whoami: {
    description: "Says whether it was given its secret.",
    inputSchema: object({}),
    call: () => text(process.env.SECRET_TOKEN === undefined ? "nobody" : `${process.env.SECRET_TOKEN.length} letters`),
  },
  environment: {
    description: "Shows all that it was given.",
    inputSchema: object({}),
    call: () => ({ ...text("see the structure"), structuredContent: { env: process.env } }),
  },
  fail: {
    description: "Fails, and blurts out.",
    inputSchema: object({}),
    call: () => ({ ...text(`no, not with ${process.env.SECRET_TOKEN}`), isError: true }),
  },
  crash: { description: "Ends the server.", inputSchema: object({}), call: () => process.exit(7) },
  hang: { description: "Never answers.", inputSchema: object({}), call: () => new Promise(() => {}) },
  garbage: {
    description: "Writes what is no message, and never answers.",
    inputSchema: object({}),
    call: () => new Promise(() => process.stdout.write("this is no JSON\n")),
  },
  large: {
    description: "Gives a text of so many bytes.",
    inputSchema: object({ bytes: { type: "integer" } }, ["bytes"]),
    call: ({ bytes }) => text("x".repeat(bytes)),
  },
};

const changing = {
  change: {
    description: "Changes the tools.",
    inputSchema: object({}),
    call: async () => {
      delete tools.change;
      tools.changed = { description: "New.", inputSchema: object({}), call: () => text("new") };
      await server.sendToolListChanged();
      return text("done");
    },
  },
};

const many = () =>
  Object.fromEntries(
    Array.from({ length: 25 }, (_, index) => [
      `${more[0]}_action_${index}`,
      {
        description: `Action ${index} of ${more[0]}. ${"It is described at length. ".repeat(10)}`,
        inputSchema: object({ id: { type: "string" } }, ["id"]),
        call: ({ id }) => text(`${more[0]} ${index} ${id}`),
      },
    ]),
  );

const tools = kind === "many" ? many() : { usual, changing }[kind];

if (kind === "dead") {
  console.error(`it cannot start with ${process.env.SECRET_TOKEN}`);
  process.exit(3);
}
if (kind === "silent") process.stdin.resume();

const { server } = new McpServer({ name: kind, version: "1" }, { capabilities: { tools: { listChanged: true } } });
if (tools !== undefined) {
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.entries(tools).map(([name, { call: _, ...tool }]) => ({ name, ...tool })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = tools[params.name];
    return tool === undefined ? { ...text("no such tool"), isError: true } : await tool.call(params.arguments ?? {});
  });
  await server.connect(new StdioServerTransport());
}
