/** Options of well-known programs whose value is a secret although their name does not say so. */

interface SecretOption {
  readonly programs: readonly string[];
  readonly option: string;
  /** The value may stand in the same word: `-psecret`. */
  readonly attached: boolean;
  /** Only what follows this in the value is secret: the password of `user:password`. */
  readonly after?: string;
}

const options: readonly SecretOption[] = [
  { programs: ["curl"], option: "-u", attached: true, after: ":" },
  { programs: ["curl"], option: "--user", attached: false, after: ":" },
  { programs: ["curl"], option: "--proxy-user", attached: false, after: ":" },
  { programs: ["mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump"], option: "-p", attached: true },
  { programs: ["sshpass"], option: "-p", attached: true },
  { programs: ["redis-cli"], option: "-a", attached: true },
  { programs: ["docker", "podman", "helm"], option: "-p", attached: false },
];

/** Index of a word → where in it the secret starts. */
export function programSecrets(words: readonly string[]): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  const program = words[0]?.split("/").at(-1) ?? "";
  const isLogin = words.includes("login");
  for (const { programs, option, attached, after } of options) {
    if (!programs.includes(program)) continue;
    // `docker run -p 80:80` publishes a port.
    if (!attached && option === "-p" && !isLogin) continue;
    words.forEach((word, index) => {
      if (index === 0) return;
      const next = words[index + 1];
      if (word === option && next !== undefined) mark(index + 1, next, 0);
      else if (attached && word.startsWith(option) && !word.startsWith("--")) mark(index, word, option.length);
      else if (word.startsWith(`${option}=`)) mark(index, word, option.length + 1);
    });

    function mark(index: number, word: string, from: number): void {
      if (after === undefined) {
        if (from < word.length) found.set(index, from);
        return;
      }
      const at = word.indexOf(after, from);
      if (at >= 0) found.set(index, at + after.length);
    }
  }
  return found;
}
