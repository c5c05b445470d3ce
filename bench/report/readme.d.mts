/** What README.md is checked with. */
import type { Report } from "./specification.mjs";

export function withTable(page: string, report: Report): string;
