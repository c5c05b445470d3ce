/** Which of our tools Claude Code calls by itself, by their risk. */
import { askedTools, calmTools, SERVER_NAME } from "../mcp-entry.js";

const rule = (tool: string): string => `mcp__${SERVER_NAME}__${tool}`;

export const permissions = { allow: calmTools.map(rule), ask: askedTools.map(rule) } as const;
