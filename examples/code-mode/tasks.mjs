// Three tasks over real MCP servers, each as a model would do it with direct calls and with code mode. A task makes its
// data in a folder, knows the right answer, and has one checker for both ways.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const people = ["ada", "ben", "cleo", "dan", "eva"];
const issue = (number) => ({
  number,
  title: `Something about part ${number % 17} does not work as it should`,
  state: number % 4 === 0 ? "closed" : "open",
  labels: number % 3 === 0 ? ["bug"] : ["feature", "later"],
  assignee: people[(number * 7) % people.length],
  body: `Steps to reproduce, number ${number}: open the page, press the button, and look at the list. `.repeat(6),
});
const issues = Array.from({ length: 120 }, (_, index) => issue(index + 1));

const rows = Array.from({ length: 600 }, (_, index) => ({
  day: `2026-${String((index % 12) + 1).padStart(2, "0")}-${String((index % 28) + 1).padStart(2, "0")}`,
  region: ["north", "south", "east", "west"][index % 4],
  amount: ((index * 37) % 500) + 1,
}));

const services = Array.from({ length: 300 }, (_, index) => ({
  name: `service-${index}`,
  tier: (index % 3) + 1,
  language: ["go", "rust", "python", "java"][index % 4],
  description: `It does the work of part ${index}, and is called by others that need it. `.repeat(3),
}));
const teams = ["search", "billing", "identity", "storage"];

const sums = (list, key, value) => {
  const all = {};
  for (const one of list) all[one[key]] = (all[one[key]] ?? 0) + value(one);
  return Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
};
const isSame = (answer, right) => JSON.stringify(JSON.parse(answer)) === JSON.stringify(right);
const textOf = (result) => result.content.map(({ text }) => text).join("\n");

/** The list of issues is one file a page, twenty issues each. */
const aggregate = {
  name: "aggregate a large issue list",
  prompt: "How many open bugs does each assignee have? The issues are in issues/*.json. Answer with a JSON object.",
  prepare: (folder) => {
    mkdirSync(join(folder, "issues"));
    for (let page = 0; page < 6; page++) {
      writeFileSync(join(folder, `issues/page-${page}.json`), JSON.stringify(issues.slice(page * 20, page * 20 + 20)));
    }
  },
  direct: async (call, folder) => {
    const [listed] = await call(["files", "list_directory", { path: join(folder, "issues") }]);
    const names = [...textOf(listed).matchAll(/page-\d+\.json/g)].map(([name]) => name);
    const read = (name) => ["files", "read_text_file", { path: join(folder, "issues", name) }];
    const pages = (await call(...names.map(read))).map((page) => JSON.parse(textOf(page)));
    const bugs = pages.flat().filter(({ state, labels }) => state === "open" && labels.includes("bug"));
    return JSON.stringify(sums(bugs, "assignee", () => 1));
  },
  search: "list directory and read text file",
  code: (folder) => `import * as files from "tools/files";
const dir = ${JSON.stringify(join(folder, "issues"))};
const counts: Record<string, number> = {};
const { content } = await files.listDirectory({ path: dir });
for (const [name] of content.matchAll(/page-\\d+\\.json/g)) {
  const page = await files.readTextFile({ path: \`\${dir}/\${name}\` });
  for (const { state, labels, assignee } of JSON.parse(page.content)) {
    if (state === "open" && labels.includes("bug")) counts[assignee] = (counts[assignee] ?? 0) + 1;
  }
}
console.log(JSON.stringify(Object.fromEntries(Object.entries(counts).sort())));`,
  isRight: (answer) => {
    const bugs = issues.filter(({ state, labels }) => state === "open" && labels.includes("bug"));
    return isSame(
      answer,
      sums(bugs, "assignee", () => 1),
    );
  },
};

const transform = {
  name: "transform a data set",
  prompt:
    "Turn sales.csv into sales.json, a list of objects sorted by day, and answer with the sums by region as JSON.",
  prepare: (folder) => {
    const lines = rows.map(({ day, region, amount }) => `${day},${region},${amount}`);
    writeFileSync(join(folder, "sales.csv"), `day,region,amount\n${lines.join("\n")}\n`);
  },
  direct: async (call, folder) => {
    const [read] = await call(["files", "read_text_file", { path: join(folder, "sales.csv") }]);
    const parsed = textOf(read)
      .trim()
      .split("\n")
      .slice(1)
      .map((line) => line.split(","));
    const list = parsed.map(([day, region, amount]) => ({ day, region, amount: Number(amount) }));
    list.sort((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));
    await call(["files", "write_file", { path: join(folder, "sales.json"), content: JSON.stringify(list) }]);
    return JSON.stringify(sums(list, "region", ({ amount }) => amount));
  },
  search: "read text file and write file",
  code: (folder) => `import * as files from "tools/files";
const { content } = await files.readTextFile({ path: ${JSON.stringify(join(folder, "sales.csv"))} });
const rows = content.trim().split("\\n").slice(1).map((line) => {
  const [day = "", region = "", amount] = line.split(",");
  return { day, region, amount: Number(amount) };
});
rows.sort((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));
await files.writeFile({ path: ${JSON.stringify(join(folder, "sales.json"))}, content: JSON.stringify(rows) });
const sums: Record<string, number> = {};
for (const { region, amount } of rows) sums[region] = (sums[region] ?? 0) + amount;
console.log(JSON.stringify(Object.fromEntries(Object.entries(sums).sort())));`,
  isRight: (answer) =>
    isSame(
      answer,
      sums(rows, "region", ({ amount }) => amount),
    ),
};

const joined = {
  name: "join two servers",
  prompt: "Which teams own how many services of tier 1? Services are in services.json, owners in the knowledge graph.",
  prepare: (folder) => {
    writeFileSync(join(folder, "services.json"), JSON.stringify(services));
    const entities = services.map(({ name }, index) => ({
      type: "entity",
      name,
      entityType: "service",
      observations: [`owned by ${teams[index % teams.length]}`, `on call since 2026-01-${String((index % 28) + 1)}`],
    }));
    writeFileSync(join(folder, "memory.jsonl"), entities.map((entity) => JSON.stringify(entity)).join("\n"));
  },
  direct: async (call, folder) => {
    const [file, graph] = await call(
      ["files", "read_text_file", { path: join(folder, "services.json") }],
      ["memory", "read_graph", {}],
    );
    const list = JSON.parse(textOf(file));
    const { entities } = JSON.parse(textOf(graph));
    const owners = new Map(entities.map(({ name, observations }) => [name, /owned by (\w+)/.exec(observations[0])[1]]));
    const first = list.filter(({ tier }) => tier === 1).map(({ name }) => ({ team: owners.get(name) }));
    return JSON.stringify(sums(first, "team", () => 1));
  },
  search: "read text file and read graph",
  code: (folder) => `import * as files from "tools/files";
import * as memory from "tools/memory";
const { content } = await files.readTextFile({ path: ${JSON.stringify(join(folder, "services.json"))} });
const { entities } = await memory.readGraph();
const tiers = new Map<string, number>(JSON.parse(content).map((one: any) => [one.name, one.tier]));
const counts: Record<string, number> = {};
for (const { name, observations } of entities) {
  const team = observations[0]?.replace("owned by ", "") ?? "";
  if (tiers.get(name) === 1) counts[team] = (counts[team] ?? 0) + 1;
}
console.log(JSON.stringify(Object.fromEntries(Object.entries(counts).sort())));`,
  isRight: (answer) => {
    const first = services.flatMap(({ tier }, index) => (tier === 1 ? [{ team: teams[index % teams.length] }] : []));
    return isSame(
      answer,
      sums(first, "team", () => 1),
    );
  },
};

export const tasks = [aggregate, transform, joined];
