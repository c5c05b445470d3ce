/** One typed request behind every interface: what a caller states of a sandbox, and of the command in it. */
import type { Buffer } from "node:buffer";
import type { BackendRequest } from "../core/backend-request.js";
import type {
  CompatibilityMode,
  EgressMode,
  Mount,
  NetworkRule,
  ProfileName,
  SecretBinding,
  WorkspaceMode,
} from "../core/policy.js";
import type { PublishedPort } from "../runtime/published-ports.js";
import type { PullChoice } from "../runtime/root-image.js";
import type { NumericValues, SettablePath } from "../settings/index.js";
import type { NameOf, SettingName } from "../settings/wording.js";

/** Each setting by its name in src/settings. The interface has parsed its own notation; numbers are in the table's unit. */
interface SandboxValues extends Pick<NumericValues, SettablePath> {
  readonly image: string;
  readonly pull: PullChoice;
  readonly backend: BackendRequest["name"];
  readonly profile: ProfileName;
  readonly mode: CompatibilityMode;
  /** Without `net.allow`, which means an allowlist. */
  readonly "net.egress": EgressMode;
  readonly "net.allow": readonly NetworkRule[];
  readonly "net.secrets": readonly SecretBinding[];
  readonly "proc.user": string;
  readonly "proc.env": Readonly<Record<string, string>>;
  readonly "fs.workspace.mode": WorkspaceMode;
  /** Names of rules that need no review. */
  readonly "fs.review": readonly string[];
  /** Sources are absolute paths; they may be symlinks until the request is prepared. */
  readonly "fs.mounts": readonly Mount[];
  readonly "fs.show": readonly string[];
  readonly publish: readonly PublishedPort[];
}

export type SandboxSpec = Partial<SandboxValues>;

interface ExecSpec {
  /** The command's words, untouched. */
  readonly argv: readonly string[];
  readonly workdir?: string;
  /** A program's text is the first word; only with the backend wasm. */
  readonly lang?: string;
  /** The bytes of a WebAssembly module, where a caller sends one along. */
  readonly module?: Buffer;
  /** Who asks, where that is not the user of this machine. */
  readonly caller?: string;
  readonly tty?: boolean;
  readonly json?: boolean;
  readonly ask?: boolean;
}

/** Files that the user named, as they were written. */
export interface NamedFiles {
  readonly config?: string;
  readonly policy?: string;
}

export interface RunSpec {
  readonly sandbox: SandboxSpec;
  readonly exec: ExecSpec;
  readonly files: NamedFiles;
  /** How the interface spells a setting, for messages and for `policy explain`. */
  readonly nameOf: NameOf;
}

/** What the user stated once for every later request: the options of `mcp server`. */
export type StandingSpec = Omit<RunSpec, "exec">;

/** Settings that say something about programs, which a WebAssembly module has none of. */
export const ofPrograms = ["image", "proc.user", "net.allow", "net.secrets", "publish"] as const;

/** A request that states one of these replaces all of them. */
const ofNetwork = ["net.egress", "net.allow"] as const;

/**
 * A request's own settings replace the standing ones; variables of both are set. A WebAssembly module has no use for
 * standing settings about programs.
 */
export function withStanding(standing: StandingSpec | undefined, spec: RunSpec): RunSpec {
  if (standing === undefined) return spec;
  const own = spec.sandbox;
  const isModule = own.backend === "wasm";
  const isNetworkStated = ofNetwork.some((name) => own[name] !== undefined);
  const left = new Set<string>([...(isModule || isNetworkStated ? ofNetwork : []), ...(isModule ? ofPrograms : [])]);
  const kept: SandboxSpec = Object.fromEntries(Object.entries(standing.sandbox).filter(([name]) => !left.has(name)));
  const env = { ...kept["proc.env"], ...own["proc.env"] };
  const isOwn = (name: SettingName) => !(name in kept) || name in own;
  return {
    ...spec,
    sandbox: { ...kept, ...own, ...(Object.keys(env).length === 0 ? {} : { "proc.env": env }) },
    files: { ...standing.files, ...spec.files },
    nameOf: (name) => (isOwn(name) ? spec.nameOf(name) : standing.nameOf(name)),
  };
}
