/** Decides the command, directory, user and variables: the user's words first, then the image's, then our defaults. */
import { AgentKernelError } from "../core/errors.js";
import { escapeText } from "../core/escape.js";
import { refuseUnlessAllowed } from "../policy/commands.js";
import { commandEnvironment, commandUser } from "../policy/environment.js";
import { gitVariables } from "./git-files.js";
import { whyNotFound } from "./host-programs/not-found.js";
import type { ResolvedRoot } from "./root-image.js";
import type { RunRequest } from "./run-request.js";

export interface CommandStart {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user?: string;
  /** For whoever asked, where the sandbox has no such command. Looks at the host, so only then. */
  readonly whyNotFound?: () => string | null;
}

/** A command, and whether its working folder is the image's, which an image need not have made. */
export interface PlannedStart {
  readonly command: CommandStart;
  readonly makesFolder: boolean;
}

const PROJECT = "/workspace";

/** As much of a request as its command's start depends on. */
type StartRequest = Pick<
  RunRequest,
  "argv" | "policy" | "origins" | "projectDir" | "homeDir" | "workdir" | "hostEnv" | "tty"
>;

export function startOf(
  request: StartRequest,
  { defaults, name, programs }: Pick<ResolvedRoot, "defaults" | "name" | "programs">,
  sandbox: string | null,
): PlannedStart {
  const { policy, workdir } = request;
  const isOwnCommand = request.argv.length > 0;
  const argv = isOwnCommand ? request.argv : [...(defaults?.entrypoint ?? []), ...(defaults?.cmd ?? [])];
  if (argv.length === 0) {
    throw new AgentKernelError("invalid_argument", `the image ${escapeText(name)} does not say what to run`, {
      hint: "add a command, for example: agentkernel run --image NAME sh",
    });
  }
  if (!isOwnCommand) refuseUnlessAllowed(argv[0] ?? "", policy.proc.commands, request.origins);
  const user = policy.proc.noRoot ? null : commandUser(policy.proc, defaults);
  // A command is about the project; what an image runs by itself is about the image.
  const usual = isOwnCommand && policy.fs.workspace.mode !== "none" ? PROJECT : (defaults?.workdir ?? PROJECT);
  const cwd = workdir ?? usual;
  const env = variables(request, { defaults, programs }, sandbox);
  const { projectDir } = request;
  const command = {
    argv,
    cwd,
    env,
    ...(user === null ? {} : { user }),
    whyNotFound: () => whyNotFound({ command: argv[0] ?? "", cwd, path: env.PATH, image: name, programs, projectDir }),
  };
  return { command, makesFolder: workdir === null && usual !== PROJECT };
}

type Programs = ResolvedRoot["programs"] | undefined;
type Variables = Readonly<Record<string, string>>;

interface KnownVariables extends Pick<StartRequest, "hostEnv" | "homeDir"> {
  readonly programs: Programs;
  readonly git: Variables;
  readonly env: Variables;
}

/** By policy: those who call again get the same variables. */
const knownVariables = new WeakMap<StartRequest["policy"], KnownVariables>();

function variables(
  { policy, hostEnv, projectDir, homeDir, tty }: StartRequest,
  { defaults, programs }: { readonly defaults: ResolvedRoot["defaults"]; readonly programs: Programs },
  sandbox: string | null,
): Variables {
  const git = gitVariables(policy, hostEnv, projectDir);
  const known = tty || defaults !== null ? undefined : knownVariables.get(policy);
  const isSame = known?.hostEnv === hostEnv && known.homeDir === homeDir;
  if (isSame && known.programs === programs && known.git === git) return known.env;
  const { proc, net } = policy;
  const inputs = { proc, egress: net.egress, hostEnv, shownHome: homeDir, tty, sandbox, image: defaults, programs };
  const env: Variables = { ...git, ...commandEnvironment(inputs) };
  // Only what cannot change any more is what it was. A terminal's prompt names the sandbox.
  if (!tty && defaults === null && Object.isFrozen(policy) && Object.isFrozen(hostEnv)) {
    knownVariables.set(policy, { hostEnv, homeDir, programs, git, env: Object.freeze(env) });
  }
  return env;
}
