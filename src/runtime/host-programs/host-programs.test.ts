import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Looks } from "../looks.js";
import { hostPrograms, SYSTEM_PATH } from "./index.js";
import { leftOutRemark, whyNotFound } from "./not-found.js";
import type { HostProgramOptions } from "./options.js";
import { whyUntrusted } from "./places.js";

let root = "";
let home = "";
let project = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "agentkernel-programs-")));
  home = join(root, "home");
  project = join(root, "project");
  mkdirSync(project);
  mkdirSync(home);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Files below the home, all of them programs. */
function install(...names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), "#!/bin/sh\n");
    chmodSync(join(home, name), 0o755);
  }
}

function options(path: readonly string[], more: Partial<HostProgramOptions> = {}): HostProgramOptions {
  const env = { PATH: path.join(":"), ...more.env };
  return { homeDir: home, projectDir: project, views: [project], mounted: [], deny: [], ...more, env };
}

const shownBy = (...path: readonly string[]) => hostPrograms(options(path)).shown.map((shown) => shown.path);
const inHome = (...names: readonly string[]) => names.map((name) => join(home, name)).sort();

/** What PATH inside has before the directories that every sandbox searches. */
function ownPath(programs: { readonly path: string }): readonly string[] {
  return programs.path.slice(0, -SYSTEM_PATH.length - 1).split(":");
}

describe("toolchains of a home", () => {
  it.each<[string, string, readonly string[], readonly string[]]>([
    [
      "Cargo's programs and rustup's toolchains, and no credentials",
      ".cargo/bin",
      [
        ".cargo/bin/cargo",
        ".cargo/credentials.toml",
        ".cargo/config.toml",
        ".rustup/settings.toml",
        ".rustup/toolchains/stable/bin/rustc",
        ".rustup/update-hashes/stable",
      ],
      [".cargo/bin", ".rustup/settings.toml", ".rustup/toolchains", ".rustup/update-hashes"],
    ],
    [
      "a Node of nvm without its settings",
      ".nvm/versions/node/v22.1.0/bin",
      ["bin/node", "lib/node_modules/npm/x.js", "etc/npmrc", ".npmrc"].map((n) => `.nvm/versions/node/v22.1.0/${n}`),
      [".nvm/versions/node/v22.1.0/bin", ".nvm/versions/node/v22.1.0/lib"],
    ],
    [
      "a Python of uv without its settings",
      ".local/share/uv/python/cpython-3.12/bin",
      ["bin/python3", "lib/python3.12/os.py", "pip.conf", "etc/pip.conf"].map(
        (n) => `.local/share/uv/python/cpython-3.12/${n}`,
      ),
      [".local/share/uv/python/cpython-3.12/bin", ".local/share/uv/python/cpython-3.12/lib"],
    ],
    ["programs that Go has built", "go/bin", ["go/bin/tool", "go/src/mine/.env"], ["go/bin"]],
    [
      "a version of mise",
      ".local/share/mise/installs/java/21/bin",
      ["bin/java", "lib/modules", "release", "conf/security/java.security"].map(
        (n) => `.local/share/mise/installs/java/21/${n}`,
      ),
      ["bin", "conf", "lib", "release"].map((n) => `.local/share/mise/installs/java/21/${n}`),
    ],
    [
      "Maven of SDKMAN! without the settings that hold passwords",
      ".sdkman/candidates/maven/3.9/bin",
      ["bin/mvn", "lib/x.jar", "conf/settings.xml"].map((n) => `.sdkman/candidates/maven/3.9/${n}`),
      ["bin", "lib"].map((n) => `.sdkman/candidates/maven/3.9/${n}`),
    ],
    [
      "Homebrew in a home",
      ".linuxbrew/bin",
      ["bin/jq", "Cellar/jq/1/bin/jq", "etc/my.cnf", "var/db"].map((n) => `.linuxbrew/${n}`),
      [".linuxbrew/Cellar", ".linuxbrew/bin"],
    ],
  ])("%s", (_, directory, files, shown) => {
    install(...files);
    expect(shownBy(join(home, directory))).toEqual(inHome(...shown));
  });

  it.each([".local/bin", "bin", "work/bin", ".ssh", ".config/gh", ".cargo", ".nvm", ".pyenv/versions/3.12.1/lib"])(
    "%s is none",
    (name) => {
      install(`${name}/program`);
      const found = hostPrograms(options([join(home, name)]));
      expect(found.shown).toEqual([]);
      expect(found.path).toBe(SYSTEM_PATH);
      expect(found.leftOut).toEqual([
        { directory: join(home, name), why: "it is in a home directory, of which only known toolchains are shown" },
      ]);
    },
  );

  it("a symlink does not make a toolchain of anything else", () => {
    install(".ssh/id_ed25519", ".nvm/versions/node/v1/bin/node", ".cargo/bin/cargo");
    symlinkSync(join(home, ".ssh"), join(home, ".nvm/versions/node/v1/lib"));
    mkdirSync(join(home, ".rustup"));
    symlinkSync(join(home, ".ssh"), join(home, ".rustup/toolchains"));
    mkdirSync(join(home, ".nvm/versions/node/v2"));
    symlinkSync(join(home, ".ssh"), join(home, ".nvm/versions/node/v2/bin"));
    const paths = [".nvm/versions/node/v1/bin", ".nvm/versions/node/v2/bin", ".cargo/bin"];
    const found = hostPrograms(options(inHome(...paths)));
    expect(found.shown).toEqual([
      { path: join(home, ".cargo/bin") },
      { path: join(home, ".nvm/versions/node/v1/bin") },
    ]);
    expect(found.leftOut.map(({ directory }) => directory)).toEqual([join(home, ".nvm/versions/node/v2/bin")]);
  });

  it("a path by a symlink stays what it is, and the symlink is made inside", () => {
    install(".sdkman/candidates/java/21/bin/java");
    symlinkSync("21", join(home, ".sdkman/candidates/java/current"));
    const directory = join(home, ".sdkman/candidates/java/current/bin");
    const found = hostPrograms(options([directory]));
    expect(found.shown).toEqual([
      { path: join(home, ".sdkman/candidates/java/21/bin") },
      { path: join(home, ".sdkman/candidates/java/current"), link: join(home, ".sdkman/candidates/java/21") },
    ]);
    expect(ownPath(found)).toEqual([directory]);
  });

  it("rustup finds its toolchains", () => {
    install(".cargo/bin/cargo", ".rustup/toolchains/stable/bin/rustc");
    const path = [join(home, ".cargo/bin")];
    expect(hostPrograms(options(path)).env).toEqual({ RUSTUP_HOME: join(home, ".rustup") });
    const env = { JAVA_HOME: join(home, ".ssh"), GOROOT: "/usr/lib" };
    expect(hostPrograms(options(path, { env })).env).toEqual({
      RUSTUP_HOME: join(home, ".rustup"),
      GOROOT: realpathSync("/usr/lib"),
    });
  });

  it("is hidden where a rule hides it", () => {
    install(".cargo/bin/cargo");
    const found = hostPrograms(options([join(home, ".cargo/bin")], { deny: [{ glob: "**/.cargo" }] }));
    expect(found.shown).toEqual([]);
    expect(found.leftOut[0]?.why).toBe("it is hidden from sandboxes by the rule **/.cargo");
  });
});

describe("version managers", () => {
  const pyenv = ["3.11.7", "3.12.1", "3.12.10"].map((version) => `.pyenv/versions/${version}/bin/python`);
  const shims = () => join(home, ".pyenv/shims");
  const chosen = (env = {}) => ownPath(hostPrograms(options([shims()], { env })));

  it("the version that pyenv would choose stands where its shims are", () => {
    install(...pyenv, ".pyenv/shims/python", ".pyenv/version");
    writeFileSync(join(home, ".pyenv/version"), "3.11.7\n");
    expect(chosen()).toEqual(inHome(".pyenv/versions/3.11.7/bin"));
    writeFileSync(join(project, ".python-version"), "# ours\n3.12\n");
    expect(chosen()).toEqual(inHome(".pyenv/versions/3.12.10/bin"));
    expect(chosen({ PYENV_VERSION: "3.12.1" })).toEqual(inHome(".pyenv/versions/3.12.1/bin"));
  });

  it.each(["../../.ssh", "/etc", "..", ".", "3.11.7/../../../.ssh", "none"])(
    "a project's %s selects nothing",
    (word) => {
      install(...pyenv, ".pyenv/shims/python", ".ssh/bin/key");
      writeFileSync(join(project, ".python-version"), `${word}\n`);
      const found = hostPrograms(options([shims()]));
      expect(found.shown).toEqual([]);
      expect(found.leftOut).toEqual([
        { directory: shims(), why: "no installed version is selected for this directory" },
      ]);
    },
  );

  it("a project's version file that is a pipe holds nothing up", () => {
    install(...pyenv, ".pyenv/shims/python");
    execFileSync("mkfifo", [join(project, ".python-version")]);
    expect(hostPrograms(options([shims()])).shown).toEqual([]);
  });

  it("asdf and mise: what .tool-versions and mise.toml name", () => {
    install(
      ".asdf/shims/node",
      ".asdf/installs/nodejs/20.1.0/bin/node",
      ".asdf/installs/golang/1.22.1/go/bin/go",
      ".local/share/mise/shims/jq",
      ".local/share/mise/installs/jq/1.7/jq",
    );
    writeFileSync(join(home, ".tool-versions"), "nodejs 18.0.0\ngolang 1.22.1\n");
    writeFileSync(join(project, ".tool-versions"), "nodejs 20.1.0\n");
    writeFileSync(join(project, "mise.toml"), '[env]\njq = "0"\n[tools]\njq = "1.7"\n');
    const found = hostPrograms(options(inHome(".asdf/shims", ".local/share/mise/shims")));
    expect(ownPath(found)).toEqual([
      join(home, ".asdf/installs/nodejs/20.1.0/bin"),
      join(home, ".asdf/installs/golang/1.22.1/go/bin"),
      join(home, ".local/share/mise/installs/jq/1.7"),
    ]);
  });
});

describe("PATH inside", () => {
  it("is the caller's order, each directory once, with the system's at the end", () => {
    install("go/bin/tool", ".bun/bin/bun");
    const own = [join(home, ".bun/bin"), "/usr/bin", join(home, "go/bin")];
    const found = hostPrograms(options([...own, "/usr/bin/", own[0] ?? ""]));
    expect(found.path).toBe([...own, ...SYSTEM_PATH.split(":").filter((name) => name !== "/usr/bin")].join(":"));
  });

  it("has the project's own directories, of which nothing more is shown", () => {
    mkdirSync(join(project, "node_modules/.bin"), { recursive: true });
    mkdirSync(join(project, "bin"));
    const own = [join(project, "node_modules/.bin"), join(project, "bin")];
    const found = hostPrograms(options(own));
    expect(ownPath(found)).toEqual(own);
    expect(found).toMatchObject({ shown: [], leftOut: [] });
  });

  it("shows nothing of a toolchain that is, or is around, what the policy shows", () => {
    install("go/bin/tool", ".bun/bin/bun");
    expect(hostPrograms(options([join(home, "go/bin")], { projectDir: home, views: [home] })).shown).toEqual([]);
    expect(hostPrograms(options([join(home, ".bun/bin")], { mounted: [join(home, ".bun/bin/below")] })).shown).toEqual(
      [],
    );
  });

  it.each([
    ["relative/bin", "it depends on the current directory"],
    ["/etc/alternatives", "settings and data of the system lie there"],
    ["/proc/self", "it belongs to the kernel or to running services"],
  ])("leaves out %s", (directory, why) => {
    expect(hostPrograms(options([directory])).leftOut).toEqual([{ directory, why }]);
  });

  it("leaves out directories for temporary files, and does not speak of what is not there", () => {
    const tools = join(root, "tools/bin");
    mkdirSync(tools, { recursive: true });
    const found = hostPrograms(options([tools, join(root, "none"), ""]));
    expect(found.leftOut).toEqual([{ directory: tools, why: "it is in a directory for temporary files" }]);
  });
});

it("directories that others can change, and repositories, are not trusted", () => {
  const own = join(root, "tools/bin");
  mkdirSync(own, { recursive: true });
  expect(whyUntrusted(own, new Looks())).toBeNull();
  mkdirSync(join(root, "tools/.git"));
  expect(whyUntrusted(own, new Looks())).toContain("it is in the git repository");
  chmodSync(own, 0o777);
  expect(whyUntrusted(own, new Looks())).toBe(`every user may write to ${own}`);
});

describe("the interpreter of a project's virtual environment", () => {
  function environment(target: string): readonly { path: string }[] {
    mkdirSync(join(project, ".venv/bin"), { recursive: true });
    symlinkSync("python3", join(project, ".venv/bin/python"));
    symlinkSync(target, join(project, ".venv/bin/python3"));
    return hostPrograms(options(["/usr/bin"])).shown;
  }

  it("is shown where it is a toolchain's, also by the symlink of its version", () => {
    install(".local/share/uv/python/cpython-3.12.3/bin/python3.12");
    symlinkSync("cpython-3.12.3", join(home, ".local/share/uv/python/cpython-3.12"));
    const [version = "", link = ""] = ["cpython-3.12.3", "cpython-3.12"].map((n) =>
      join(home, ".local/share/uv/python", n),
    );
    expect(environment(`${link}/bin/python3.12`)).toEqual([{ path: `${version}/bin` }, { path: link, link: version }]);
  });

  it.each([".ssh/key", "bin/python", ".local/bin/python"])("is not shown where it is ~/%s", (name) => {
    install(name);
    expect(environment(join(home, name))).toEqual([]);
  });
});

describe("a command that is not found", () => {
  const missed = (command: string, path: readonly string[], image = "host") => {
    const programs = hostPrograms(options(path));
    return whyNotFound({ command, cwd: "/workspace", path: programs.path, image, programs, projectDir: project });
  };

  it("is explained by the directory that has it on the host", () => {
    install(".local/bin/tool");
    const directory = join(home, ".local/bin");
    expect(missed("tool", [directory])).toBe(
      `this machine has it in ${directory}, which the sandbox does not have: it is in a home directory, of which only known toolchains are shown; --mount ${directory}:${directory}:ro shows that directory`,
    );
    expect(missed("none", [directory])).toBe(
      `PATH in the sandbox is ${SYSTEM_PATH}; not in the sandbox: ${directory} (it is in a home directory, of which only known toolchains are shown)`,
    );
    expect(missed("none", [])).toBe(`PATH in the sandbox is ${SYSTEM_PATH}`);
  });

  it("is explained by where a symlink of the project leads", () => {
    mkdirSync(join(project, ".venv/bin"), { recursive: true });
    symlinkSync("python3", join(project, ".venv/bin/python"));
    symlinkSync("/opt/none/python3", join(project, ".venv/bin/python3"));
    const other = "which the sandbox does not have; make it anew in a sandbox, or";
    expect(missed(".venv/bin/python", [])).toBe(
      `.venv/bin/python is a symlink to /opt/none/python3, ${other} --mount /opt/none:/opt/none:ro shows its directory`,
    );
    expect(missed("./.venv/bin/python", [], "alpine:3.20")).toBe(
      `./.venv/bin/python is a symlink to /opt/none/python3, ${other} use the image host`,
    );
    expect(missed(`${project}/.venv/bin/python`, [])).toContain("is a symlink to /opt/none/python3");
  });

  it("is explained by the interpreter of a script", () => {
    writeFileSync(join(project, "run"), "#!/opt/none/node\n");
    expect(missed("./run", [])).toContain("./run is a script for /opt/none/node, which the sandbox does not have");
    expect(missed("./none", [])).toBeNull();
    expect(missed("/etc/none", [])).toBeNull();
  });

  it("a shell's own message is followed by what of PATH is missing", () => {
    install("bin/tool");
    const { path, env, leftOut } = hostPrograms(options([join(home, "bin")]));
    expect(leftOutRemark({ path, env, leftOut })).toBe(
      `the sandbox does not have all of your PATH: ${join(home, "bin")} (it is in a home directory, of which only known toolchains are shown)`,
    );
    expect(leftOutRemark({ path, env, leftOut: [] })).toBeNull();
  });
});

function outlastTicks(): Promise<void> {
  return vi.waitFor(() => expect(Date.now() - statSync(join(home, ".pyenv/version")).ctimeMs).toBeGreaterThan(100));
}

describe("who calls again in the same environment", () => {
  const deny: HostProgramOptions["deny"] = [];
  const again = (env: HostProgramOptions["env"]) => hostPrograms({ ...options([]), deny, env });

  it("gets the same answer until something that it depends on has changed", async () => {
    install(".pyenv/shims/python", ".pyenv/versions/3.1/bin/python", ".pyenv/versions/3.2/bin/python");
    writeFileSync(join(home, ".pyenv/version"), "3.1");
    const env = Object.freeze({ PATH: join(home, ".pyenv/shims") });
    // What has changed just now may change once more in the same tick of the clock.
    await outlastTicks();
    const first = again(env);
    expect(ownPath(first)).toEqual(inHome(".pyenv/versions/3.1/bin"));
    expect(again(env)).toBe(first);
    expect(again({ ...env })).not.toBe(first);
    writeFileSync(join(project, ".python-version"), "3.2");
    expect(ownPath(again(env))).toEqual(inHome(".pyenv/versions/3.2/bin"));
    writeFileSync(join(project, ".python-version"), "3.1");
    expect(ownPath(again(env))).toEqual(inHome(".pyenv/versions/3.1/bin"));
    mkdirSync(join(home, ".pyenv/versions/3.1/lib"));
    expect(again(env).shown).toHaveLength(2);
  });
});
