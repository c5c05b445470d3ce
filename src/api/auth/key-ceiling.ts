/**
 * The most that a key may ask for, whatever a request says: the user sets it when the key is made, and it is small
 * unless the user says more. A key with the scope `admin` acts as the user and has none.
 */
import { type BackendName, backendNames } from "../../core/backend.js";
import type { EgressMode } from "../../core/policy.js";
import { egressModes } from "../../core/policy.js";
import { parseReference } from "../../images/reference.js";
import { whyInvalidDomain } from "../../policy/network-rules.js";
import { inRange, type Range, ranges } from "../../policy/resources.js";
import { type CeilingNumbers, type SettableNamed, settableNumbers } from "../../settings/index.js";
import { summaryOf } from "../../settings/numeric-setting.js";
import { mebibytes, milliseconds } from "../../settings/quantity.js";

export interface KeyCeiling extends CeilingNumbers {
  readonly network: EgressMode;
  /** With the network `allowlist`: nothing beyond these is reached. */
  readonly domains: readonly string[];
  /** `python:3.12-alpine`, `python` (any tag), `ghcr.io/acme/*`; null: those of public registries and the user's list. */
  readonly images: readonly string[] | null;
  /** Null: those that isolate as much as the user's own choice. */
  readonly backends: readonly BackendName[] | null;
  /** Directories of the host that it may show as a copy, with all below them. Absolute and free of links. */
  readonly dirs: readonly string[];
  /** Of servers inside its sandboxes: `3000`, `3000-3999`. */
  readonly ports: readonly string[];
}

/** One number of the ceiling for each numeric setting. */
export function ceilingNumbers<T>(make: (number: SettableNamed) => T): Readonly<Record<keyof CeilingNumbers, T>> {
  return Object.fromEntries(settableNumbers.map((one) => [one.name, make(one)])) as Record<keyof CeilingNumbers, T>;
}

/** One ordinary sandbox, without a network. */
export const smallCeiling: KeyCeiling = {
  ...ceilingNumbers(({ setting }) => setting.keyCeiling),
  network: "off",
  domains: [],
  images: null,
  backends: null,
  dirs: [],
  ports: [],
};

/** As answers, key files and tokens have it. */
export function ceilingJson(ceiling: KeyCeiling): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(jsonNames).map(([name, key]) => [key, ceiling[name as keyof KeyCeiling]]));
}

/** What is not stated is as small as in `smallCeiling`. Null where it is not a ceiling. */
export function readCeiling(value: unknown): KeyCeiling | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const stated = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(jsonNames) as readonly (keyof KeyCeiling)[];
  const known = new Set<string>(Object.values(jsonNames));
  if (Object.keys(stated).some((key) => !known.has(key))) return null;
  const given = names.filter((name) => stated[jsonNames[name]] !== undefined);
  if (!given.every((name) => isValid[name](stated[jsonNames[name]]))) return null;
  return { ...smallCeiling, ...Object.fromEntries(given.map((name) => [name, stated[jsonNames[name]]])) };
}

const jsonNames: Readonly<Record<keyof KeyCeiling, string>> = {
  ...ceilingNumbers(({ setting }) => setting.key),
  network: "network",
  domains: "allowed_domains",
  images: "images",
  backends: "backends",
  dirs: "dirs",
  ports: "ports",
};

const isValid: Readonly<Record<keyof KeyCeiling, (value: unknown) => boolean>> = {
  ...ceilingNumbers(({ path }) => isNumberIn(ranges[path])),
  network: (value) => isOneOf(egressModes, value),
  domains: isListOf((text) => whyInvalidDomain(text) === null),
  images: (value) => value === null || isListOf((text) => whyInvalidImagePattern(text) === null)(value),
  backends: (value) => value === null || isListOf((text) => isOneOf(backendNames, text))(value),
  dirs: isListOf((text) => text.startsWith("/") && !text.includes("\0")),
  ports: isListOf(isPortRange),
};

function isNumberIn(range: Range): (value: unknown) => boolean {
  return (value) => typeof value === "number" && inRange(value, range);
}

function isOneOf(names: readonly string[], value: unknown): boolean {
  return typeof value === "string" && names.includes(value);
}

function isListOf(isEntry: (text: string) => boolean): (value: unknown) => boolean {
  return (value) => Array.isArray(value) && value.every((one) => typeof one === "string" && isEntry(one));
}

const PORTS = /^([1-9]\d{0,4})(?:-([1-9]\d{0,4}))?$/;
const MAX_PORT = 65_535;

function boundsOf(range: string): readonly [number, number] | null {
  const [, first = "", last = first] = PORTS.exec(range) ?? [];
  const [from, to] = [Number(first), Number(last)];
  return first !== "" && from <= to && to <= MAX_PORT ? [from, to] : null;
}

export function isPortRange(text: string): boolean {
  return boundsOf(text) !== null;
}

export function isPortIn(port: number, range: string): boolean {
  const [from, to] = boundsOf(range) ?? [0, -1];
  return port >= from && port <= to;
}

const EVERYTHING_BELOW = "/*";

/** Why the text names no images, or null where it does. */
export function whyInvalidImagePattern(text: string): string | null {
  if (text === "host") return null;
  try {
    parseReference(text.endsWith(EVERYTHING_BELOW) ? `${text.slice(0, -1)}x/x` : text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Whether one of these patterns stands for the image. */
export function isImageWithin(image: string, patterns: readonly string[]): boolean {
  if (image === "host") return patterns.includes("host");
  const asked = parseReference(image);
  return patterns.some((pattern) => {
    if (pattern === "host") return false;
    if (pattern.endsWith(EVERYTHING_BELOW)) {
      // A name with two parts below it is never one of Docker's own, which have `library/` in front.
      const { registry, repository } = parseReference(`${pattern.slice(0, -1)}x/x`);
      return asked.registry === registry && asked.repository.startsWith(repository.slice(0, -"x/x".length));
    }
    const { registry, repository, tag, digest } = parseReference(pattern);
    if (asked.registry !== registry || asked.repository !== repository) return false;
    const isWholeRepository = !/[:@]/.test(pattern.slice(pattern.lastIndexOf("/") + 1));
    return isWholeRepository || (asked.tag === tag && asked.digest === digest);
  });
}

/** For people, in one line. */
export function ceilingText(ceiling: KeyCeiling): string {
  const { network, domains, images, backends, dirs, ports } = ceiling;
  const reached = { off: "no network", allowlist: `the network at ${domains.join(", ")}`, on: "the public network" };
  return [
    ...settableNumbers.map(({ name, setting }) => summaryOf(setting, ceiling[name])),
    reached[network],
    images === null ? "images of public registries" : `the images ${images.join(", ")}`,
    backends === null ? "backends as strong as yours" : `the backends ${backends.join(", ")}`,
    dirs.length === 0 ? "no directory of this machine" : `copies of ${dirs.join(", ")}`,
    ...(ports.length === 0 ? [] : [`the ports ${ports.join(", ")} of its sandboxes`]),
  ].join(", ");
}

/** The same for a column of a table. */
export function ceilingColumn({ vcpus, memoryMiB, timeoutMs, network, dirs }: KeyCeiling): string {
  const reached = { off: "no network", allowlist: "some domains", on: "network" };
  const shown = dirs.length === 0 ? [] : [`${dirs.length} ${dirs.length === 1 ? "directory" : "directories"}`];
  const figures = [`${vcpus} cores`, mebibytes.format(memoryMiB), milliseconds.format(timeoutMs)];
  return [...figures, reached[network], ...shown].join(", ");
}
