/** A program as its users write one: a query with a sandbox. It prints what it heard. */
import { type AgentSdk, sandboxedQuery, type ToolRecord } from "../src/index.js";

const [sdkEntry = "", claude = "", cwd = ""] = process.argv.slice(2);
const sdk = (await import(sdkEntry)) as AgentSdk;
const records: ToolRecord[] = [];
const asked: string[] = [];
const ask = async (tool: string) => {
  asked.push(tool);
  return false;
};
let result: unknown = null;
for await (const message of sandboxedQuery<{ readonly type: string; readonly result?: string }>({
  prompt: "go",
  sdk,
  options: { cwd, pathToClaudeCodeExecutable: claude, permissionMode: "acceptEdits", settingSources: [] } as object,
  sandbox: {
    dir: cwd,
    resources: { memoryMb: 256, pids: 64 },
    network: false,
    policy: { allow: ["Read"], deny: ["Write"], askFor: ["Edit"], ask },
    onRecord: (record) => records.push(record),
  },
})) {
  if (message.type === "result") result = message.result;
}
console.log(JSON.stringify({ result, records, asked }));
