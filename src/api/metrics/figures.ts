/** Counters and histograms in Prometheus' text format. */

type Labels = Readonly<Record<string, string>>;

interface Figure {
  readonly name: string;
  text(): string;
}

function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(([key, value]) => `${key}="${value.replace(/[\\"\n]/g, "_")}"`);
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}

function head(name: string, help: string, type: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

export class Counter implements Figure {
  readonly name: string;
  readonly #help: string;
  readonly #values = new Map<string, number>();

  constructor(name: string, help: string) {
    this.name = name;
    this.#help = help;
  }

  /** Labels must come from small sets of ours, never from callers. */
  add(labels: Labels = {}, by = 1): void {
    const key = labelText(labels);
    this.#values.set(key, (this.#values.get(key) ?? 0) + by);
  }

  text(): string {
    const values = this.#values.size === 0 ? [["", 0] as const] : [...this.#values];
    return `${head(this.name, this.#help, "counter")}${values.map(([key, value]) => `${this.name}${key} ${value}\n`).join("")}`;
  }
}

export class Gauge implements Figure {
  readonly name: string;
  readonly #help: string;
  readonly #read: () => number | null;

  /** Null: nothing to tell, and then it is left out. */
  constructor(name: string, help: string, read: () => number | null) {
    this.name = name;
    this.#help = help;
    this.#read = read;
  }

  text(): string {
    const value = this.#read();
    return value === null ? "" : `${head(this.name, this.#help, "gauge")}${this.name} ${value}\n`;
  }
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

interface Series {
  readonly labels: Labels;
  readonly buckets: number[];
  sum: number;
  count: number;
}

export class Histogram implements Figure {
  readonly name: string;
  readonly #help: string;
  readonly #series = new Map<string, Series>();

  constructor(name: string, help: string) {
    this.name = name;
    this.#help = help;
  }

  observeMs(ms: number, labels: Labels = {}): void {
    const key = labelText(labels);
    const series = this.#series.get(key) ?? { labels, buckets: SECONDS.map(() => 0), sum: 0, count: 0 };
    this.#series.set(key, series);
    const seconds = ms / 1000;
    SECONDS.forEach((limit, index) => {
      if (seconds <= limit) series.buckets[index] = (series.buckets[index] ?? 0) + 1;
    });
    series.sum += seconds;
    series.count++;
  }

  text(): string {
    const lines = [...this.#series.values()].flatMap(({ labels, buckets, sum, count }) => [
      ...SECONDS.map(
        (limit, index) => `${this.name}_bucket${labelText({ ...labels, le: String(limit) })} ${buckets[index]}`,
      ),
      `${this.name}_bucket${labelText({ ...labels, le: "+Inf" })} ${count}`,
      `${this.name}_sum${labelText(labels)} ${sum}`,
      `${this.name}_count${labelText(labels)} ${count}`,
    ]);
    return `${head(this.name, this.#help, "histogram")}${lines.map((line) => `${line}\n`).join("")}`;
  }
}
