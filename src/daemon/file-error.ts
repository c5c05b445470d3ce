/** Whether an error is one of these of the file system. */
export function isFileError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
