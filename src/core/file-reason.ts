/** Why a file could not be used, in words that follow "it cannot be read:" and the like. */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  ENOTDIR: "a part of its path is no folder",
  EISDIR: "it is a folder",
  EACCES: "its rights do not allow that",
  EPERM: "the system does not allow that",
  EEXIST: "something is there already",
  ENOTEMPTY: "the folder there is not empty",
  ENAMETOOLONG: "its name is too long",
  ELOOP: "its links lead in a circle",
  ENOSPC: "no space is left",
  EDQUOT: "no space is left to this user",
  EROFS: "it lies in a read-only place",
};

export function fileReason(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return reasons[code] ?? (error instanceof Error ? error.message : String(error));
}
