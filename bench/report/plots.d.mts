import type { Plot } from "./markdown.mjs";
import type { Report } from "./specification.mjs";

export function plotsOf(figures: Report["figures"]): readonly Plot[];
