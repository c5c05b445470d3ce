/** Turns exec options into the request for the guest: checked, with the sandbox's defaults filled in. */
import { AgentKernelError } from "../../../core/errors.js";
import type { ExecRequest } from "../../../core/exec.js";
import { insidePath } from "../../../core/inside-path.js";
import { refuseUnlessAllowed } from "../../../policy/commands.js";
import { isEnvName } from "../../../policy/fields.js";
import { isValidUser } from "../../../policy/users.js";
import { startOf } from "../../command-start.js";
import type { SandboxRecord } from "../record.js";
import type { ExecOptions } from "../types.js";

/** As much of a sandbox as its commands depend on. */
type ExecContext = Pick<SandboxRecord, "policy" | "origins" | "projectDir" | "homeDir" | "workdir"> & {
  readonly image: Pick<SandboxRecord["image"], "name" | "defaults" | "programs">;
  /** Of the sandbox; null where it has none that a user knows. */
  readonly name: string | null;
};

export function execRequest(options: ExecOptions, record: ExecContext, placeholders: ExecRequest["env"]): ExecRequest {
  const { policy, origins, projectDir, homeDir, image, name } = record;
  const [program] = options.argv;
  if (program === undefined || program === "") throw invalid("command", "it needs at least one word");
  refuseUnlessAllowed(program, policy.proc.commands, origins);
  const { command } = startOf(
    {
      argv: options.argv,
      policy: { ...policy, proc: { ...policy.proc, user: userOf(options, record) } },
      origins,
      projectDir,
      homeDir,
      workdir: folderOf(options) ?? record.workdir,
      hostEnv: options.hostEnv,
      tty: options.tty !== undefined && options.tty !== null,
    },
    image,
    name,
  );
  return {
    ...command,
    env: { ...command.env, ...checkedEnv(options.env ?? {}), ...placeholders },
    stdin: options.stdin,
    ...(options.tty === undefined || options.tty === null ? {} : { tty: options.tty }),
  };
}

function userOf({ user }: ExecOptions, { policy }: ExecContext): string | null {
  if (user === undefined || user === null) return policy.proc.user;
  if (!isValidUser(user)) throw invalid("user", `"${user}" is not a user`, "write name, uid, name:group or uid:gid");
  if (policy.proc.noRoot && user !== policy.proc.user) {
    throw new AgentKernelError("policy_denied", "user: everything in this sandbox runs as one user", {
      hint: "the sandbox was made without root; leave the user out",
    });
  }
  return user;
}

function folderOf({ cwd }: ExecOptions): string | null {
  if (cwd === undefined || cwd === null) return null;
  const path = insidePath(cwd);
  if (path !== null) return path;
  throw invalid(
    "cwd",
    `"${cwd}" is no path in the sandbox`,
    "name a directory of the project, such as src, or an absolute path",
  );
}

/** The value never appears in an error: it may be a secret. */
function checkedEnv(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(env)) {
    if (!isEnvName(name)) throw invalid("env", `"${name}" is not a name of a variable`);
    if (value.includes("\0")) throw invalid("env", `the value of ${name} has a NUL`);
  }
  return env;
}

function invalid(field: string, why: string, hint?: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", `${field}: ${why}`, {
    ...(hint === undefined ? {} : { hint }),
    details: { field },
  });
}
