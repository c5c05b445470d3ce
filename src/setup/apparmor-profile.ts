/**
 * The profile by which AppArmor lets our programs make user namespaces where it forbids that to others, as on Ubuntu
 * 24.04. It names these programs by their paths and allows nothing else that was forbidden. A program that the jail
 * starts keeps the profile; what may not make user namespaces inside a sandbox is stopped by the sandbox's own filter.
 */
const FILE = "/etc/apparmor.d/agentkernel";

/** Lines for a shell of root's. @param programs paths of those that make user namespaces */
export function installProfile(programs: readonly string[]): string[] {
  const lines = ["abi <abi/4.0>,", ...programs.map(profileOf)];
  return [`printf '%s\\n' ${lines.map(shellQuoted).join(" ")} > ${FILE}`, `apparmor_parser --replace ${FILE}`];
}

function profileOf(program: string): string {
  const name = program.slice(program.lastIndexOf("/") + 1);
  return `profile agentkernel-${name} "${globQuoted(program)}" flags=(unconfined) { userns, }`;
}

/** A path is a pattern there. */
function globQuoted(path: string): string {
  return path.replace(/[\\"*?[\]{}^@]/g, "\\$&");
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
