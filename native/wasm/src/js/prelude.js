// What a program finds beside the language: console, timers, process. Everything goes through the one function of the
// worker, which takes two texts and returns one.
((host) => {
  const show = (value, depth, seen) => {
    if (typeof value === "string") return depth === 0 ? value : JSON.stringify(value);
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value === "function") return value.name ? `[Function: ${value.name}]` : "[Function]";
    if (typeof value === "symbol") return String(value);
    if (typeof value !== "object" || value === null) return String(value);
    if (value instanceof Error) return told(value);
    if (seen.includes(value)) return "[Circular]";
    if (depth > 4) return Array.isArray(value) ? "[Array]" : "[Object]";
    const inner = (item) => show(item, depth + 1, [...seen, value]);
    if (value instanceof Date) return value.toISOString();
    if (value instanceof RegExp) return String(value);
    if (value instanceof Promise) return "Promise {}";
    if (value instanceof Map) {
      return `Map(${value.size}) {${[...value].map(([key, item]) => ` ${inner(key)} => ${inner(item)}`).join(",")} }`;
    }
    if (value instanceof Set) return `Set(${value.size}) {${[...value].map((item) => ` ${inner(item)}`).join(",")} }`;
    if (Array.isArray(value) || ArrayBuffer.isView(value)) {
      return `[${Array.from(value, (item) => ` ${inner(item)}`).join(",")}${value.length > 0 ? " " : ""}]`;
    }
    const members = Object.keys(value).map((key) => ` ${key}: ${inner(value[key])}`);
    return `{${members.join(",")}${members.length > 0 ? " " : ""}}`;
  };
  const told = (error) => {
    if (!(error instanceof Error)) return `Uncaught ${show(error, 1, [])}`;
    const trace = String(error.stack ?? "").trimEnd();
    return trace === "" ? `${error.name}: ${error.message}` : `${error.name}: ${error.message}\n${trace}`;
  };
  const line = (values) => `${values.map((value) => show(value, 0, [])).join(" ")}\n`;
  const to = (stream) => (...values) => void host(stream, line(values));
  const { argv, env } = JSON.parse(host("about", ""));

  let timers = [];
  let lastTimer = 0;
  const later = (work, delayMs, values, again) => {
    lastTimer += 1;
    const wait = Math.max(1, Number(delayMs) || 0);
    timers.push({ id: lastTimer, dueMs: Date.now() + wait, work, values, again: again ? wait : 0 });
    return lastTimer;
  };
  const cancel = (id) => {
    timers = timers.filter((timer) => timer.id !== id);
  };
  const define = (members) => {
    for (const [name, value] of Object.entries(members)) {
      Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
    }
  };
  define({
    console: { log: to("out"), info: to("out"), debug: to("out"), error: to("err"), warn: to("err") },
    print: to("out"),
    setTimeout: (work, delayMs, ...values) => later(work, delayMs, values, false),
    setInterval: (work, delayMs, ...values) => later(work, delayMs, values, true),
    clearTimeout: cancel,
    clearInterval: cancel,
    queueMicrotask: (work) => void Promise.resolve().then(work),
    process: {
      argv,
      env,
      exit: (code = 0) => host("exit", String(Math.trunc(Number(code)) || 0)),
      stdin: { read: () => host("read", "") },
      stdout: { write: (text) => host("out", String(text)) === "" },
      stderr: { write: (text) => host("err", String(text)) === "" },
    },
  });
  const fail = (error) => {
    host("err", `${told(error)}\n`);
    host("exit", "1");
  };
  return {
    /** The program's own promise; what it rejects with ends the run. */
    follow: (promise) => void Promise.resolve(promise).catch(fail),
    fail,
    /** Runs what is due. Returns for how long there is nothing to do; below zero: never again. */
    turn: () => {
      const now = Date.now();
      const due = timers.filter((timer) => timer.dueMs <= now);
      timers = timers.flatMap((timer) => {
        if (timer.dueMs > now) return [timer];
        return timer.again > 0 ? [{ ...timer, dueMs: now + timer.again }] : [];
      });
      for (const { work, values } of due) {
        try {
          work(...values);
        } catch (error) {
          fail(error);
        }
      }
      return timers.length === 0 ? -1 : Math.max(0, Math.min(...timers.map((timer) => timer.dueMs)) - Date.now());
    },
  };
})
