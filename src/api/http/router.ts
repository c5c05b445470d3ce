/** From a method and a path to the operation that they name. */
import { AgentKernelError } from "../../core/errors.js";
import { execId, sandboxName } from "../operations/fields.js";
import { allOperations, type OperationName, operations } from "../operations/index.js";
import type { Method, Operation } from "../operations/operation.js";

export interface Match {
  readonly name: OperationName;
  readonly operation: Operation<never, never>;
  readonly params: PathParams;
}

export interface PathParams {
  /** Of the sandbox; "" where the path has none. */
  readonly name: string;
  /** Absolute, inside the sandbox; "" where the path has none. */
  readonly path: string;
  /** Of a command; "" where the path has none. */
  readonly exec: string;
  /** Inside a sandbox; 0 where the path has none. */
  readonly port: number;
}

interface Route {
  readonly name: OperationName;
  readonly operation: Operation<never, never>;
  readonly segments: readonly string[];
}

const routes: readonly Route[] = (Object.keys(operations) as OperationName[]).map((name, index) => {
  const operation = allOperations[index];
  if (operation === undefined) throw new RangeError(name);
  return { name, operation, segments: operation.path.split("/").slice(1) };
});

const MAX_TARGET_CHARS = 8192;

export function matchRoute(method: string, target: string): Match {
  const [rawPath = ""] = target.split("?", 1);
  if (!rawPath.startsWith("/") || target.length > MAX_TARGET_CHARS) {
    throw new AgentKernelError("invalid_argument", "the request's target is not a path", {
      details: { field: "path" },
    });
  }
  const segments = segmentsOf(rawPath);
  const route = routes.find(({ operation, segments: wanted }) => operation.method === method && fits(wanted, segments));
  if (route !== undefined) {
    return { name: route.name, operation: route.operation, params: paramsOf(route.segments, segments) };
  }
  const allowed = allowedMethods(target);
  if (allowed.length === 0) {
    throw new AgentKernelError("not_found", "there is nothing at this path", { hint: "GET /openapi.json lists all" });
  }
  throw new AgentKernelError("method_not_allowed", `this path takes ${allowed.join(", ")}`, {
    hint: `ask with ${allowed.join(" or ")}; GET /openapi.json lists all`,
    details: { allowed },
  });
}

function allowedMethods(target: string): readonly Method[] {
  const [rawPath = ""] = target.split("?", 1);
  const segments = segmentsOf(rawPath);
  return routes.filter((route) => fits(route.segments, segments)).map(({ operation }) => operation.method);
}

/** A browser that is given the address alone sees the description. */
function segmentsOf(rawPath: string): readonly string[] {
  return rawPath === "/" ? ["docs"] : rawPath.split("/").slice(1).map(decoded);
}

function fits(wanted: readonly string[], given: readonly string[]): boolean {
  const isOpen = wanted.at(-1) === "{path}";
  if (isOpen ? given.length < wanted.length - 1 : given.length !== wanted.length) return false;
  return wanted.every((segment, index) => segment.startsWith("{") || segment === given[index]);
}

function paramsOf(wanted: readonly string[], given: readonly string[]): PathParams {
  const at = wanted.indexOf("{name}");
  const name = at < 0 ? "" : sandboxName.read(given[at] ?? "", "name");
  const from = wanted.indexOf("{path}");
  const port = given[wanted.indexOf("{port}")];
  const exec = given[wanted.indexOf("{exec}")];
  return {
    name,
    path: from < 0 ? "" : insidePathOf(given.slice(from)),
    port: port === undefined ? 0 : portOf(port),
    exec: exec === undefined ? "" : execId.read(exec, "exec"),
  };
}

function portOf(text: string): number {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new AgentKernelError("invalid_argument", "port is not a number from 1 to 65535", {
    details: { field: "port" },
  });
}

/** What follows is resolved inside the sandbox; here it only has to be a plain path. */
function insidePathOf(segments: readonly string[]): string {
  const parts = segments.flatMap((segment) => segment.split("/")).filter((part) => part !== "" && part !== ".");
  const refuse = (why: string): never => {
    throw new AgentKernelError("invalid_argument", `path ${why}`, {
      hint: "write it out from the sandbox's root, for example …/files/workspace/a.txt",
      details: { field: "path" },
    });
  };
  if (parts.includes("..")) refuse("has .. in it");
  if (parts.some((part) => part.includes("\0"))) refuse("has a NUL in it");
  if (parts.some((part) => Buffer.byteLength(part) > 255)) refuse("has a part that is longer than 255 bytes");
  const path = `/${parts.join("/")}`;
  if (Buffer.byteLength(path) > 4095) refuse("is longer than 4095 bytes");
  return path;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new AgentKernelError("invalid_argument", "path has a percent sign that encodes no character", {
      details: { field: "path" },
      cause,
    });
  }
}
