/** What E2B's API knows of a sandbox beside what the sandbox itself says. */
export interface E2bRecord {
  /** Of the sandbox: one that was made anew under the same name has another. */
  readonly id: string;
  /** As the client named it. */
  readonly template: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** As the client asked; null where it did not. */
  readonly allowInternetAccess: boolean | null;
  readonly allowOut: readonly string[];
  readonly denyOut: readonly string[];
  /** Whether its ports are reached without a token by those who know its id. */
  readonly publicTraffic: boolean;
  readonly onTimeout: "kill" | "pause";
  /** False: what runs ends when the time is up, and files stay. */
  readonly pausesMemory: boolean;
  readonly autoResume: boolean;
  /** When the time is up. */
  readonly endAtMs: number;
  /** Where commands start and relative paths begin. */
  readonly home: string;
}

export const usualRecord: Omit<E2bRecord, "id" | "endAtMs"> = {
  template: "base",
  metadata: {},
  allowInternetAccess: null,
  allowOut: [],
  denyOut: [],
  publicTraffic: false,
  onTimeout: "kill",
  pausesMemory: true,
  autoResume: false,
  home: "/workspace",
};

/** Null where it is none of this version. */
export function readRecord(text: string): E2bRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const given = value as Readonly<Record<string, unknown>>;
  const checks = Object.entries(isValid);
  const isWhole = checks.every(([key, isRight]) => isRight(given[key]));
  return isWhole && Object.keys(given).length === checks.length ? (value as E2bRecord) : null;
}

const isText = (value: unknown) => typeof value === "string";
const isFlag = (value: unknown) => typeof value === "boolean";
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);

const isValid: Readonly<Record<keyof E2bRecord, (value: unknown) => boolean>> = {
  id: isText,
  template: isText,
  metadata: (value) => typeof value === "object" && value !== null && Object.values(value).every(isText),
  allowInternetAccess: (value) => value === null || isFlag(value),
  allowOut: isTexts,
  denyOut: isTexts,
  publicTraffic: isFlag,
  onTimeout: (value) => value === "kill" || value === "pause",
  pausesMemory: isFlag,
  autoResume: isFlag,
  endAtMs: (value) => typeof value === "number" && Number.isFinite(value),
  home: isText,
};
