/** Reads the lines of `ak-probe`: one JSON object each, checked field by field. */
import { AgentKernelError } from "../core/errors.js";
import { type Check, type LayerName, layerNames } from "./report.js";

export function parseProbeLines(text: string): ReadonlyMap<LayerName, Check> {
  const checks = new Map<LayerName, Check>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [layer, check] = parseProbeLine(line);
    if (checks.has(layer)) throw invalid(line, `the layer ${layer} is there twice`);
    checks.set(layer, check);
  }
  return checks;
}

function parseProbeLine(line: string): readonly [LayerName, Check] {
  const { layer, ok, detail, hint, ms } = parseObject(line);
  if (!isLayerName(layer)) throw invalid(line, "its layer is not one we know");
  if (typeof ok !== "boolean") throw invalid(line, "`ok` is not a boolean");
  if (typeof detail !== "string") throw invalid(line, "`detail` is not a text");
  if (hint !== undefined && typeof hint !== "string") throw invalid(line, "`hint` is not a text");
  if (typeof ms !== "number" || !(ms >= 0)) throw invalid(line, "`ms` is not a duration");
  // A layer that does not work and has nothing to repair is one that is not needed here.
  const state = ok ? "works" : hint === undefined ? "not-needed" : "fails";
  return [layer, { name: layer, state, detail, nextStep: ok ? null : (hint ?? null), ms }];
}

function parseObject(line: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw invalid(line, "it is not JSON", cause);
  }
  if (typeof value !== "object" || value === null) throw invalid(line, "it is not an object");
  return { ...value };
}

function isLayerName(value: unknown): value is LayerName {
  return layerNames.some((name) => name === value);
}

function invalid(line: string, why: string, cause?: unknown): AgentKernelError {
  return new AgentKernelError("internal", `ak-probe printed a line that cannot be used: ${why}.`, {
    hint: "The probe and this program are probably of different versions: build again with `npm run build`.",
    details: { line: line.slice(0, 200) },
    cause,
  });
}
