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
  const { policy, hostEnv, homeDir, tty, workdir } = request;
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
  const git = gitVariables(policy, hostEnv, request.projectDir);
  const usualEnv = commandEnvironment({
    proc: policy.proc,
    egress: policy.net.egress,
    hostEnv,
    shownHome: homeDir,
    tty,
    sandbox,
    image: defaults,
    programs,
  });
  const env: Readonly<Record<string, string>> = { ...git, ...usualEnv };
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
