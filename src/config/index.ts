/**
 * src/config turns the texts of configuration and policy files into layers, choices and limits of a policy, with the
 * line that said each. It is pure: text in, values or faults out. It reads no file, decides nothing about a sandbox,
 * and never takes a part of a file that has a fault in it. Its parsers are large: load it only where a file exists.
 */
export { combine, type Files } from "./combine.js";
export { type ConfigFile, readConfigFile } from "./config-file.js";
export { type FileFault, faultSentence, throwFaults } from "./faults.js";
export { type McpServers, mcpConfigFiles, mcpServerHosts } from "./mcp-servers.js";
export { readPolicyFile } from "./policy-file.js";
export type { ReadFile, SourceFile } from "./source-text.js";
