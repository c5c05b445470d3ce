/**
 * The environment of a command: a small base, what may be passed on from the host, and what the policy sets. A
 * pure function of the host's variables that the caller hands in.
 */
import type { EgressMode, ProcessPolicy } from "../core/policy.js";
import { proxyAddress } from "../core/proxy-address.js";
import { isEnvName } from "./fields.js";

export type Environment = Readonly<Record<string, string>>;

/** The home folder of a sandbox that does not show the user's own. */
export const sandboxHome = "/home/sandbox";

const SANDBOX_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Names that speak of a secret. `AUTH` is one, `AUTHOR` is not. */
const SECRET_NAME =
  /TOKEN|SECRET|PASS|PWD|KEY|CREDENTIAL|AUTH(?!OR)|COOKIE|SESSION|PRIVATE|SIGNATURE|CERT|DSN|CONNECTION_STRING|WEBHOOK|(^|_)PAT$/;

/** Variables of services whose every setting is better not told, and of our own. */
const SECRET_FAMILY =
  /^(AWS|AZURE|ARM|GCP|GOOGLE|CLOUDSDK|KUBE|DOCKER|VAULT|OP|BW|GH|GITHUB|GITLAB|CI|AGENTKERNEL)(_|$)/;

/** Ways to the user's session, or to code that a program loads before its own. */
const HOST_HOOK =
  /^(LD_|DYLD_|SSH_|GPG_|DBUS_|XDG_|TMUX|STY$|VSCODE_|NODE_OPTIONS$|NODE_EXTRA|NODE_REPL|BASH_ENV$|ENV$|PYTHONSTARTUP$|PYTHONHOME$|PERL5OPT$|PERL5DB$|RUBYOPT$|JAVA_TOOL_OPTIONS$|_JAVA_OPTIONS$|JDK_JAVA_OPTIONS$|GIT_|PROMPT_COMMAND$|KUBECONFIG$|DISPLAY$|WAYLAND_|XAUTHORITY$|ICEAUTHORITY$)|_SOCK(ET)?$|ASKPASS/;

/** True of the host's place, machine and terminal, and not of the sandbox's. */
const HOST_FACT =
  /^(HOME|USER|LOGNAME|USERNAME|HOSTNAME|HOST|HOSTTYPE|MAIL|PWD|OLDPWD|SHLVL|_|SHELL|TMPDIR|TEMP|TMP|TERM|COLUMNS|LINES|SUDO_.*|UID|EUID|IFS)$/;

/** What a secret looks like under any name: a login in an address, a key block, a well-known token form, a JWT. */
const SECRET_VALUE =
  /:\/\/[^/\s@]+@|-----BEGIN |\b(ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs]|sk|pk|rk|hf|npm|pypi)[-_][A-Za-z0-9_-]{16,}|\b(AKIA|ASIA)[A-Z0-9]{16}\b|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\./;

/** The host's variables without those that hold secrets or lead back to the host. */
export function passableEnvironment(hostEnv: Readonly<Record<string, string | undefined>>): Environment {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(hostEnv)) {
    if (value !== undefined && isPassable(name, value)) passed[name] = value;
  }
  return passed;
}

function isPassable(name: string, value: string): boolean {
  const upper = name.toUpperCase();
  const isRefused = [SECRET_NAME, SECRET_FAMILY, HOST_HOOK, HOST_FACT].some((pattern) => pattern.test(upper));
  return isEnvName(name) && !isRefused && !SECRET_VALUE.test(value);
}

interface EnvironmentInputs {
  readonly proc: ProcessPolicy;
  readonly egress: EgressMode;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  /** The user's home folder where the sandbox shows it, else null. */
  readonly shownHome: string | null;
  readonly tty: boolean;
  /** What the prompt of a shell shows on a terminal; null: the shell's own prompt. */
  readonly sandbox?: string | null;
  /** What the image says; null for the host's own programs. */
  readonly image: ImageDefaults | null;
  /** Of the host's own programs: where they are searched, and what tells them where their own files are. */
  readonly programs?: { readonly path: string; readonly env: Environment } | undefined;
}

export interface ImageDefaults {
  /** `NAME=value`, in order. */
  readonly env: readonly string[];
  /** `name`, `uid`, `name:group` or `uid:gid`. */
  readonly user: string | null;
}

/** The whole environment of a command: nothing else is inherited, but the guest adds HOME where an image has its own. */
export function commandEnvironment(inputs: EnvironmentInputs): Environment {
  const { proc, egress, hostEnv, shownHome, tty, sandbox = null, image, programs } = inputs;
  const user = userName(proc, image);
  const home = shownHome ?? (image === null ? sandboxHome : null);
  return {
    PATH: SANDBOX_PATH,
    LANG: "C.UTF-8",
    ...(tty && sandbox !== null ? { PS1: promptOf(sandbox) } : {}),
    ...(proc.passHostEnv ? passableEnvironment(hostEnv) : {}),
    ...imageEnvironment(image),
    ...(programs === undefined ? {} : { ...programs.env, PATH: programs.path }),
    ...(egress === "off" ? {} : proxyEnvironment),
    ...(home === null ? {} : { HOME: home }),
    ...(user === null ? {} : { USER: user, LOGNAME: user }),
    ...(tty ? { TERM: safeTerm(hostEnv.TERM) } : {}),
    ...proc.env,
  };
}

/**
 * For programs that look for a proxy; all others are captured. The host's own proxy is out of a sandbox's reach, so
 * these replace what was passed on. ALL_PROXY is not the SOCKS address, which the same port serves: programs whose
 * HTTP library lacks SOCKS (httpx of Python, for one) refuse to start with it.
 */
const proxyUrl = `http://${proxyAddress.host}:${proxyAddress.port}`;
const proxyEnvironment: Environment = Object.fromEntries(
  Object.entries({
    HTTP_PROXY: proxyUrl,
    HTTPS_PROXY: proxyUrl,
    ALL_PROXY: proxyUrl,
    NO_PROXY: "localhost,127.0.0.1,::1",
  }).flatMap(([name, value]) => [
    [name, value],
    [name.toLowerCase(), value],
  ]),
);

function imageEnvironment(image: ImageDefaults | null): Record<string, string> {
  const entries = (image?.env ?? []).map((entry) => [
    entry.slice(0, entry.indexOf("=")),
    entry.slice(entry.indexOf("=") + 1),
  ]);
  return Object.fromEntries(entries.filter(([name = "", value = ""]) => isEnvName(name) && !value.includes("\0")));
}

/** Whom a command runs as: what the policy says, else what the image says, as far as the policy lets it. */
export function commandUser({ user, noRoot }: ProcessPolicy, image: ImageDefaults | null): string | null {
  return user ?? (noRoot ? null : (image?.user ?? null));
}

/** An id alone has no name that could be known here. */
function userName(proc: ProcessPolicy, image: ImageDefaults | null): string | null {
  const user = commandUser(proc, image);
  if (user === null) return proc.noRoot ? "sandbox" : "root";
  const [name = ""] = user.split(":");
  return /^\d+$/.test(name) ? null : name;
}

/** bash, dash and BusyBox expand this alike; a shell's own start-up file still has the last word. */
function promptOf(sandbox: string): string {
  return `${sandbox}:$PWD\\$ `;
}

function safeTerm(term: string | undefined): string {
  return term !== undefined && /^[A-Za-z0-9][A-Za-z0-9+._-]{0,63}$/.test(term) ? term : "xterm-256color";
}
