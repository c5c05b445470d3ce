/** Which names a short name may stand for, by this machine's resolv.conf. */

export interface SearchList {
  readonly domains: readonly string[];
  /** A name with so many dots is asked for as it is first. */
  readonly dots: number;
}

const MOST_DOMAINS = 6;

export function parseSearchList(text: string): SearchList {
  let domains: readonly string[] = [];
  let dots = 1;
  for (const line of text.split("\n")) {
    const [word = "", ...rest] = line
      .replace(/[#;].*/, "")
      .trim()
      .split(/\s+/);
    // The last one counts, whichever of the two it is.
    if (word === "search" || word === "domain") domains = rest.slice(0, word === "domain" ? 1 : MOST_DOMAINS);
    if (word !== "options") continue;
    const found = rest.flatMap((option) => /^ndots:(\d{1,2})$/.exec(option)?.[1] ?? []).at(-1);
    if (found !== undefined) dots = Math.min(Number(found), 15);
  }
  return { domains: domains.map((domain) => domain.replace(/\.$/, "")).filter((domain) => domain !== ""), dots };
}

/** In the order in which they are asked for. */
export function fullNames(name: string, { domains, dots }: SearchList): readonly string[] {
  const longer = domains.map((domain) => `${name}.${domain}`).filter((full) => full.length <= 253);
  return name.split(".").length - 1 >= dots ? [name, ...longer] : [...longer, name];
}
