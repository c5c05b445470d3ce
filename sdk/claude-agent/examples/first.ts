/** A query whose commands run in a sandbox: three lines, and the loop. */
import { sandboxedQuery } from "agentkernel-claude-agent";

const sandbox = { network: false, resources: { memoryMb: 512 }, policy: { allow: ["Read", "Glob", "Grep"] } };
for await (const message of sandboxedQuery({ prompt: "Run the tests", options: { cwd: process.cwd() }, sandbox })) {
  console.log(message);
}
