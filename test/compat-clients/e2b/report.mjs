// What a scenario has tried, one line of JSON at its end.
export class Report {
  #results = {};

  /** Tries the methods that are named, and notes whether what they did is right. */
  async check(methods, work) {
    // Where it hangs is the last line on stderr.
    process.stderr.write(`${new Date().toISOString()} ${methods}\n`);
    let result = "ok";
    try {
      await work();
    } catch (error) {
      result = `${error?.name}: ${error?.message}`.slice(0, 500);
    }
    for (const method of methods.split(" ")) this.#results[method] = result;
  }

  print(methods) {
    process.stdout.write(`\n${JSON.stringify({ methods, results: this.#results })}\n`);
  }
}

export function equal(actual, expected) {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${one} is not ${other}`);
}

export async function fails(work, words) {
  try {
    await work();
  } catch (error) {
    if (words.test(`${error.name}: ${error.message}`)) return;
    throw error;
  }
  throw new Error(`nothing failed with ${words}`);
}

export async function until(look) {
  for (let round = 0; round < 200; round++) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("it did not come to that");
}
