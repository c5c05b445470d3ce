// What the SDKs say in every language alike: the table of errors, and the records of the API, read from spec/. A record
// is { name, about, fields }, a field { wire, about, type, isOptional, isNullable }, and a type one of
// { kind: "text" | "whole" | "number" | "flag" | "network" | "stdin" }, { kind: "choice", values }, { kind: "list" | "map", of },
// { kind: "record", name }.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Name in spec/openapi.json → name in the SDKs, and fields that are arguments of their own or are not passed on. */
const requests = {
  Resources: { name: "Resources", without: [] },
  SecretRequest: { name: "SecretOptions", without: [] },
  MountRequest: { name: "MountOptions", without: [] },
  PublishRequest: { name: "PublishOptions", without: [] },
  RunRequest: { name: "RunOptions", without: ["command", "stdin_encoding"] },
  ExecRequest: { name: "ExecOptions", without: ["command", "stdin_encoding", "detach"] },
  CreateSandboxRequest: { name: "CreateOptions", without: ["name"] },
  CopySandboxRequest: { name: "CopyOptions", without: ["name"] },
};
const answers = {
  ImageUsed: "ImageUsed",
  Layer: "Layer",
  Blocked: "Blocked",
  Usage: "Usage",
  Changes: "Changes",
  RunResult: "RunResult",
  ExecResult: "ExecResult",
  DetachedExec: "DetachedExec",
  ExecLog: "ExecLog",
  PublishedPort: "PublishedPort",
  Sandbox: "SandboxInfo",
  Snapshot: "Snapshot",
  Stats: "Stats",
  Change: "Change",
  Diff: "Diff",
  FileEntry: "FileEntry",
  FolderListing: "FolderListing",
  Written: "Written",
  Health: "Health",
  Version: "Version",
};

export function readErrors(root) {
  const table = JSON.parse(readFileSync(join(root, "spec", "errors.json"), "utf8"));
  return Object.entries(table).map(([code, { http, retryable, summary }]) => ({ code, http, retryable, summary }));
}

export function readRecords(root) {
  const { schemas } = JSON.parse(readFileSync(join(root, "spec", "openapi.json"), "utf8")).components;
  const options = [];
  const results = [];
  for (const [wire, { name, without }] of Object.entries(requests)) {
    options.push(...recordsOf(schemas[wire], name, without));
  }
  for (const [wire, name] of Object.entries(answers)) results.push(...recordsOf(schemas[wire], name, []));
  return { options, results };
}

/** The record, after those that lie within it. */
function recordsOf(schema, name, without) {
  const inner = [];
  const fields = Object.entries(schema.properties)
    .filter(([wire]) => !without.includes(wire))
    .map(([wire, property]) => {
      const { bare, isNullable } = withoutNull(property);
      const innerName = `${name}${pascal(wire)}`;
      if (bare.properties !== undefined) inner.push(...recordsOf(bare, innerName, []));
      return {
        wire,
        about: property.description ?? "",
        type: wire === "stdin" ? { kind: "stdin" } : typeOf(bare, innerName),
        isOptional: !(schema.required ?? []).includes(wire),
        isNullable,
      };
    });
  return [...inner, { name, about: schema.description ?? null, fields }];
}

function withoutNull(property) {
  if (Array.isArray(property.type)) {
    return { bare: { ...property, type: property.type.find((type) => type !== "null") }, isNullable: true };
  }
  const other = property.anyOf?.find(({ type }) => type !== "null");
  const isNullable = property.anyOf?.some(({ type }) => type === "null") ?? false;
  return { bare: isNullable ? other : property, isNullable };
}

function typeOf(schema, innerName) {
  if (schema.$ref !== undefined) return referred(schema.$ref.split("/").at(-1));
  if (schema.enum !== undefined) return { kind: "choice", values: schema.enum.filter((value) => value !== null) };
  if (schema.const !== undefined) return { kind: "choice", values: [schema.const] };
  if (schema.properties !== undefined) return { kind: "record", name: innerName };
  switch (schema.type) {
    case "string":
      return { kind: "text" };
    case "integer":
      return { kind: "whole" };
    case "number":
      return { kind: "number" };
    case "boolean":
      return { kind: "flag" };
    case "array":
      return { kind: "list", of: typeOf(schema.items, innerName) };
    case "object":
      return { kind: "map", of: typeOf(schema.additionalProperties, innerName) };
    default:
      throw new Error(`no type for ${JSON.stringify(schema)}`);
  }
}

function referred(name) {
  if (name === "Network") return { kind: "network" };
  const known = requests[name]?.name ?? answers[name];
  if (known === undefined) throw new Error(`${name} is referred to, and no SDK has it`);
  return { kind: "record", name: known };
}

export function pascal(wire) {
  return wire.replace(/(?:^|_)([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

export function camel(wire) {
  return wire.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

export const generated =
  "Written by `npm run sdk:sources` from spec/errors.json and spec/openapi.json; changes belong there.";

/** For languages in which a choice is a text like any other. */
export function withChoices(about, type) {
  return type.kind === "choice" ? `${about} One of ${type.values.join(", ")}.` : about;
}
