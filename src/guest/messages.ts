/** Parses the guest's JSON payloads into domain types. Anything that is not as the spec has it is a violation. */
import type { ExecExit } from "../core/exec.js";
import {
  badMember,
  integerMember,
  integerOrNullMember,
  type JsonObject,
  member,
  objectMember,
  stringMember,
} from "./json.js";
import { GuestViolation } from "./violation.js";

const MAX_PID = 2 ** 31 - 1;
const MAX_SIGNAL = 64;
const MAX_ID = 2 ** 32 - 1;
const MAX_MODE = 0xffff;
const MAX_PATH_LENGTH = 4096;
const MAX_NAME_LENGTH = 255;
const MAX_MESSAGE_LENGTH = 1024;

export function readPid(body: JsonObject): number {
  return integerMember(body, "pid", 1, MAX_PID);
}

export function readExit(body: JsonObject): ExecExit {
  const code = integerOrNullMember(body, "code", 0, 255);
  const signal = integerOrNullMember(body, "signal", 1, MAX_SIGNAL);
  if ((code === null) === (signal === null)) {
    throw new GuestViolation("bad-member", "an EXIT where not exactly one of code and signal is a number");
  }
  const usage = objectMember(body, "usage");
  const amount = (name: string) => integerMember(usage, name, 0, Number.MAX_SAFE_INTEGER);
  return {
    code,
    signal,
    usage: { userUs: amount("user_us"), systemUs: amount("system_us"), maxRssKiB: amount("max_rss_kib") },
  };
}

/** Why the guest could not do something. `message` is fit for a terminal: no control characters, bounded. */
export interface GuestRefusal {
  readonly code: string;
  readonly message: string;
}

export function readRefusal(body: JsonObject): GuestRefusal {
  const code = stringMember(body, "code", 32);
  if (!/^[a-z][a-z_]*$/.test(code)) throw badMember("code");
  return { code, message: plainText(stringMember(body, "message", Number.POSITIVE_INFINITY)) };
}

/** A CLOSE says what went wrong, or nothing went wrong. */
export function readCloseRefusal(body: JsonObject): GuestRefusal | null {
  return member(body, "code") === undefined ? null : readRefusal(body);
}

export function plainText(text: string): string {
  const cut = text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH)}…` : text;
  return cut.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

export interface FileInfo {
  readonly sizeBytes: number;
  readonly mode: number;
  readonly mtimeMs: number;
}

type FileType = "file" | "dir" | "symlink" | "other";

export interface FileStat extends FileInfo {
  readonly type: FileType;
  readonly uid: number;
  readonly gid: number;
  /** Where a link points; null for all else. */
  readonly target: string | null;
}

export interface DirEntry extends FileInfo {
  readonly name: string;
  readonly type: FileType;
}

export function readFileInfo(body: JsonObject): FileInfo {
  return {
    sizeBytes: readSize(body),
    mode: integerMember(body, "mode", 0, MAX_MODE),
    mtimeMs: integerMember(body, "mtime_ms", Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  };
}

export function readSize(body: JsonObject): number {
  return integerMember(body, "size", 0, Number.MAX_SAFE_INTEGER);
}

function readFileType(body: JsonObject): FileType {
  const type = stringMember(body, "type", 16);
  if (type === "file" || type === "dir" || type === "symlink" || type === "other") return type;
  throw badMember("type");
}

export function readStat(body: JsonObject): FileStat {
  const type = readFileType(body);
  return {
    ...readFileInfo(body),
    type,
    uid: integerMember(body, "uid", 0, MAX_ID),
    gid: integerMember(body, "gid", 0, MAX_ID),
    target: type === "symlink" ? stringMember(body, "target", MAX_PATH_LENGTH) : null,
  };
}

/** A name is one path component: it can be joined to a path without leading anywhere else. */
export function readDirEntry(body: JsonObject): DirEntry {
  const name = stringMember(body, "name", MAX_NAME_LENGTH);
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes("\0")) {
    throw badMember("name");
  }
  return { ...readFileInfo(body), name, type: readFileType(body) };
}
