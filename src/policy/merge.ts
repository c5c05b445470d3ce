/** Joins layers into one value for each field, with the authorities that set it and what limits did not let through. */
import { AgentKernelError, type ErrorCode } from "../core/errors.js";
import type { Authority } from "./authority.js";
import { type FieldPath, type FieldValues, fieldPaths, fieldRules, isFieldPath } from "./fields.js";
import type { AuthorizedLayer } from "./layers.js";
import type { Limit } from "./limits.js";
import { nearest } from "./nearest.js";

/** A value that an input asked for and a limit did not let through. */
export interface Narrowing {
  readonly field: FieldPath | "profile";
  readonly askedBy: string;
  readonly asked: unknown;
  readonly heldBy: string;
  readonly held: unknown;
  /** What to do about it, if that is not in the user-wide file. */
  readonly remedy?: string;
}

export type Authorities = Readonly<Record<FieldPath, readonly Authority[]>>;

interface Merged {
  readonly values: FieldValues;
  /** Who set each field, the one that counts least first. */
  readonly authorities: Authorities;
  readonly narrowed: readonly Narrowing[];
}

export function originText(authorities: readonly Authority[]): string {
  return authorities.map(({ name }) => name).join(", ");
}

const built: readonly Authority[] = [{ origin: "default", name: "default" }];

export function mergeLayers(layers: readonly AuthorizedLayer[], limits: readonly Limit[]): Merged {
  const values: Partial<Record<FieldPath, unknown>> = {};
  const authorities: Partial<Record<FieldPath, readonly Authority[]>> = {};
  const narrowed: Narrowing[] = [];
  for (const layer of layers) {
    for (const [key, asked] of Object.entries(layer.fields)) {
      if (asked === undefined) continue;
      const field = checkedField(layer, key, asked);
      const own = held(field, asked, layer.origin, layer.limits ?? []);
      narrowed.push(...own.narrowed);
      if (isOutright(layer.authority)) refuseBeyond(field, asked, layer.origin, limits);
      // What a limit leaves of a layer's value is the limit's word, not the layer's.
      const heldBy = own.narrowed.at(-1)?.heldBy;
      const authority: Authority = heldBy === undefined ? layer.authority : { origin: "flag", name: heldBy };
      const { value } = own;
      const lower = values[field];
      const rule = fieldRules[field];
      const join = rule.join as ((lower: unknown, higher: unknown) => unknown) | undefined;
      if (!join || lower === undefined || layer.replaces?.includes(field)) {
        values[field] = value;
        authorities[field] = [authority];
      } else if (rule.isEmptyMeant || !isEmpty(value)) {
        values[field] = join(lower, value);
        authorities[field] =
          isEmpty(lower) || lower === null ? [authority] : [...(authorities[field] ?? []), authority];
      }
    }
  }
  const missing = fieldPaths.find((path) => values[path] === undefined);
  if (missing !== undefined) throw new AgentKernelError("internal", `no layer of the policy sets ${missing}`);
  for (const field of fieldPaths) {
    const setBy = authorities[field] ?? built;
    const result = held(field, values[field], originText(setBy), limits);
    if (result.narrowed.length === 0) continue;
    values[field] = result.value;
    const by = result.narrowed.map(({ heldBy }): Authority => ({ origin: "user-file", name: heldBy }));
    authorities[field] = isListOfRules(field) && !isEmpty(values[field]) ? [...setBy, ...by] : by;
    narrowed.push(...result.narrowed);
  }
  if (values["net.egress"] === "off") {
    values["net.allow"] = [];
    authorities["net.allow"] = authorities["net.egress"] ?? built;
  }
  return { values: values as unknown as FieldValues, authorities: authorities as Authorities, narrowed };
}

function isListOfRules(field: FieldPath): boolean {
  return field === "net.allow" || field === "net.deny";
}

function held(field: FieldPath, asked: unknown, askedBy: string, limits: readonly Limit[]) {
  const narrowed: Narrowing[] = [];
  let value = asked;
  for (const limit of limits) {
    if (limit.field !== field) continue;
    const next = limit.narrow(value);
    if (next !== value) {
      const { origin: heldBy, remedy } = limit;
      const news = { field, askedBy, asked: value, heldBy, held: next };
      narrowed.push(remedy === undefined ? news : { ...news, remedy });
    }
    value = next;
  }
  return { value, narrowed };
}

/** What a flag says outright is done or refused, and never quietly made less. Denying more needs no leave. */
function refuseBeyond(field: FieldPath, asked: unknown, origin: string, limits: readonly Limit[]): void {
  if (field === "net.deny") return;
  const [first] = held(field, asked, origin, limits).narrowed;
  if (first !== undefined) throw beyondLimit(first);
}

export function beyondLimit({ field, askedBy, asked, heldBy, held: most, remedy }: Narrowing): AgentKernelError {
  const message = `${askedBy}: ${field} ${shortJson(asked)} is more than ${heldBy} allows (${shortJson(most)})`;
  return new AgentKernelError("policy_denied", message, {
    hint: remedy ?? "ask for less, or raise the limit in your user-wide configuration file",
    details: { field },
  });
}

function checkedField({ origin, authority }: AuthorizedLayer, key: string, value: unknown): FieldPath {
  if (!isFieldPath(key)) {
    const near = nearest(key, fieldPaths);
    const hint = near === null ? `fields are ${fieldPaths.join(", ")}` : `did you mean ${near}?`;
    throw new AgentKernelError(codeFor(authority), `${origin}: there is no field "${key}"`, { hint, details: { key } });
  }
  const why = fieldRules[key].why(value);
  if (why !== null) {
    throw new AgentKernelError(codeFor(authority), `${origin}: ${key} cannot be ${shortJson(value)}: ${why}`, {
      details: { field: key },
    });
  }
  return key;
}

/** The caller states the field itself, and not by a profile or mode. */
function isOutright(authority: Authority | undefined): boolean {
  return authority?.origin === "flag" && authority.namedIn === undefined;
}

/** A request is the caller's own words; everything else comes out of a file or a table. */
export function codeFor(authority: Authority | undefined): ErrorCode {
  return isOutright(authority) ? "invalid_argument" : "invalid_policy";
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}
