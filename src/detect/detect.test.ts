import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { detectImage } from "./index.js";
import { scriptCommands } from "./shell-script.js";

/** PRODUCT.md's table, written out a second time so that a slip in the data shows. */
const product = `
JavaScript/TypeScript | package.json yarn.lock pnpm-lock.yaml | node npm npx yarn pnpm bun | node:22-alpine
Python | pyproject.toml requirements.txt Pipfile | python python3 pip poetry uv pytest | python:3.12-alpine
Rust | Cargo.toml | cargo rustc | rust:1.85-alpine
Go | go.mod | go gofmt | golang:1.23-alpine
Ruby | Gemfile | ruby bundle rails rake | ruby:3.3-alpine
Java | pom.xml build.gradle | java javac mvn gradle | eclipse-temurin:21-alpine
Kotlin | Main.kt | | eclipse-temurin:21-alpine
C#/.NET | App.csproj App.sln | dotnet | mcr.microsoft.com/dotnet/sdk:8.0
C/C++ | Makefile CMakeLists.txt | gcc g++ make cmake | gcc:14-bookworm
PHP | composer.json | php composer | php:8.3-alpine
Elixir | mix.exs | elixir mix | elixir:1.16-alpine
Lua | main.lua | lua luajit | nickblah/lua:5.4-alpine
HCL/Terraform | main.tf prod.tfvars | terraform | hashicorp/terraform:1.10
Shell | build.sh | bash sh zsh | alpine:3.20`;

const rows = product
  .trim()
  .split("\n")
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([language = "", files = "", commands = "", image = ""]) => ({
    language,
    files: files.split(" ").filter((word) => word !== ""),
    commands: commands.split(" ").filter((word) => word !== ""),
    image,
  }));
const fileCells = rows.flatMap((row) => row.files.map((file) => ({ ...row, file })));
const commandCells = rows.flatMap((row) => row.commands.map((command) => ({ ...row, command })));

const detect = (argv: readonly string[], projectFiles: readonly string[] = [], procfile?: string) =>
  detectImage({ argv, projectFiles, ...(procfile === undefined ? {} : { procfile }) });

describe("the table", () => {
  it.each(fileCells)("a project with $file is $language", ({ file, language, image }) => {
    expect(detect(["./start"], ["README.md", file])).toMatchObject({ language, image, source: "project-files" });
  });

  it.each(commandCells)("the command $command is $language", ({ command, language, image }) => {
    expect(detect([command, "x"])).toMatchObject({ language, image, source: "command" });
  });

  it.each(commandCells)("sh -c with $command in it is $language", ({ command, language, image }) => {
    const found = detect(["sh", "-c", `cd /workspace && FOO=1 ${command} x`]);
    expect(found).toMatchObject({ language, image, source: "command" });
  });

  it.each(commandCells)("a Procfile with $command is $language", ({ command, language, image }) => {
    const found = detect(["./start"], ["Procfile"], `worker: ./other\nweb: ${command} serve\n`);
    expect(found).toMatchObject({ language, image, source: "procfile" });
  });
});

describe("a command", () => {
  it.each<[string[], string]>([
    [["/usr/bin/python3", "x.py"], "Python"],
    [[".venv/bin/pytest"], "Python"],
    [["env", "-u", "BAR", "FOO=1", "python3", "x"], "Python"],
    [["/usr/bin/env", "-S", "node --test"], "JavaScript/TypeScript"],
    [["env", "--split-string=ruby -w"], "Ruby"],
    [["sudo", "-u", "make", "-E", "npm", "ci"], "JavaScript/TypeScript"],
    [["sudo", "--", "A=1", "cargo", "test"], "Rust"],
    [["timeout", "-k", "5", "30s", "go", "test"], "Go"],
    [["nice", "-n", "10", "nohup", "mvn", "verify"], "Java"],
    [["python3.11", "x"], "Python"],
    [["pip3", "list"], "Python"],
    [["gcc-13", "a.c"], "C/C++"],
    [["FOO=1", "php", "x"], "PHP"],
    [["bash", "build.sh"], "Shell"],
    [["busybox", "sh", "-c", "lua x.lua"], "Lua"],
  ])("%j is %s", (argv, language) => {
    expect(detect(argv).language).toBe(language);
  });

  it.each(["nodejs-like", "pythonic", "gopher", "./make.sh", "sudo", "env", "command -v node", "", "__proto__"])(
    "%j names no language",
    (line) => {
      expect(detect(line.split(" "))).toMatchObject({ language: null, image: "alpine:3.20", source: "default" });
    },
  );

  it("that is empty names no language", () => {
    expect(detect([]).source).toBe("default");
  });
});

describe("a shell command", () => {
  it.each<[string[], string | null]>([
    [["sh", "-c", "npm install && npm test"], "JavaScript/TypeScript"],
    [["bash", "-lc", "python3 -V"], "Python"],
    [["bash", "-euo", "pipefail", "-c", "cargo build"], "Rust"],
    [["bash", "-x", "-o", "pipefail", "--", "-c"], "Shell"],
    [["bash", "--norc", "-c", "go vet"], "Go"],
    [["/bin/dash", "-c", "rake"], "Ruby"],
    [["sh", "-c", "ls; cat a | sort\nexport A=1\nmix test"], "Elixir"],
    [["sh", "-c", "(cd sub && terraform plan)"], "HCL/Terraform"],
    [["sh", "-c", "if ! dotnet build; then exit 1; fi"], "C#/.NET"],
    [["sh", "-c", "cat x 2>&1 >node; echo python3"], null],
    [["sh", "-c", "echo hi # node"], null],
    [["sh", "-c", "echo 'x; node y' \"&& node\""], null],
    [["sh", "-c", "cat <<EOF > a\nnode x\nEOF\nphp a"], "PHP"],
    [["sh", "-c", "cat <<-'E'\n\tnode\n\tE\nlua a"], "Lua"],
    [["sh", "-c", "X=$(node -p 1; echo ')') make all"], "C/C++"],
    [["sh", "-c", "sh -c 'bash -c \"npm ci\"'"], "JavaScript/TypeScript"],
    [["sh", "-c", 'cd /x; exec bash -c "$1"', "sh", "npm ci"], "JavaScript/TypeScript"],
    [["sh", "-c", "$1 -V", "sh", "python3"], "Python"],
    [["sh", "-c", "bash setup.sh && npm test"], "JavaScript/TypeScript"],
    [["sh", "-c", "bash setup.sh"], "Shell"],
    [["sh", "-c", "ls &>node \\\n && uv run x"], "Python"],
    [["sh", "-c"], "Shell"],
  ])("%j is %s", (argv, language) => {
    expect(detect(argv).language).toBe(language);
  });

  it("whose script names no language leaves the choice to the project", () => {
    expect(detect(["bash", "-c", "./run-tests"], ["go.mod"])).toMatchObject({ language: "Go" });
  });
});

describe("the order", () => {
  it("asks the command before the files, and the files before the Procfile", () => {
    expect(detect(["node"], ["go.mod"], "web: php x").language).toBe("JavaScript/TypeScript");
    expect(detect(["./x"], ["go.mod"], "web: php x").language).toBe("Go");
    expect(detect(["./x"], [], "web: php x").language).toBe("PHP");
  });

  it("of the table decides between several languages' files, and the reason says so", () => {
    expect(detect(["./x"], ["setup.sh", "Makefile", "Cargo.toml", "a.kt"])).toEqual({
      image: "rust:1.85-alpine",
      language: "Rust",
      source: "project-files",
      why: "the project has Cargo.toml (Rust), which comes before a.kt (Kotlin), Makefile (C/C++), setup.sh (Shell)",
    });
  });

  it("does not depend on the order of the listing", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...fileCells.map(({ file }) => file), "z.kt", "a.tf"]), (names) => {
        expect(detect([], names)).toEqual(detect([], [...names].sort()));
      }),
    );
  });
});

describe("project files", () => {
  it.each([".kt", ".hidden.sh", "kt", "package.json.bak", "Package.json", "makefile.txt", "Main.ktx"])(
    "%s says nothing",
    (name) => {
      expect(detect([], [name]).source).toBe("default");
    },
  );

  it("cannot steer the terminal through the reason", () => {
    expect(detect([], ["\u001b[2J.kt"]).why).toBe("the project has \\x1b[2J.kt (Kotlin)");
  });
});

describe("a Procfile", () => {
  it.each<[string, string | null]>([
    ["release: ./migrate\nweb: bundle exec rails s -p $PORT", "Ruby"],
    ["worker: node a.js\nother: php b", "JavaScript/TypeScript"],
    ["# web: node\r\nweb:   env A=1 python app.py\r\n", "Python"],
    ["web: ./server\nworker: node x", null],
    ["web:\n", null],
    ["", null],
  ])("%j is %s", (procfile, language) => {
    expect(detect([], [], procfile).language).toBe(language);
  });
});

describe("whatever it is given", () => {
  const shellish = fc.string({
    unit: fc.constantFrom(..."'\"\\$()`<>&|;#\n\t -=ac{}".split(""), "node ", "sh -c ", "<<E"),
  });

  it("reads a script that is its own parameter once", () => {
    const script = "sh -c $0 $0; sh -c $1 $0 $1\n".repeat(2000);
    expect(detectImage({ argv: ["sh", "-c", script, script, script], projectFiles: [] }).source).not.toBe("command");
  });

  it("gives an answer and never throws", () => {
    const anything = fc.oneof(fc.string({ unit: "binary" }), shellish);
    fc.assert(
      fc.property(
        fc.array(anything, { maxLength: 6 }),
        fc.array(anything, { maxLength: 6 }),
        anything,
        (argv, files, procfile) => {
          expect(detect(argv, files, procfile).image).not.toBe("");
          expect(detect(["sh", "-c", ...argv], files, procfile).image).not.toBe("");
          expect(detect(["env", ...argv]).image).not.toBe("");
        },
      ),
    );
  });

  it("reads a long script in time that grows with its length only", () => {
    expect(scriptCommands("$(".repeat(500_000)).length).toBeLessThanOrEqual(1);
    expect(scriptCommands("<<E\n".repeat(500_000)).length).toBeLessThan(65_536);
    expect(detect(Array.from({ length: 100_000 }, () => "env")).source).toBe("default");
  }, 5_000);
});
