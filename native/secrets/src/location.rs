//! Judges a path beside its name: whether it is in a directory of dependencies, and whether it is a template without
//! values.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependencies {
    No,
    /// In a directory whose name people use for their own directories too.
    Likely,
    Certain,
}

const CERTAIN: [&[u8]; 8] = [
    b"node_modules",
    b"site-packages",
    b"dist-packages",
    b"bower_components",
    b".pnpm-store",
    b".venv",
    b".tox",
    b".nox",
];
const CERTAIN_PATHS: [&[u8]; 4] = [b"go/pkg/mod/", b".cargo/registry/", b".cargo/git/", b".yarn/cache/"];
const LIKELY: [&[u8]; 3] = [b"vendor", b"target", b"venv"];

impl Dependencies {
    pub fn around(path: &[u8]) -> Self {
        let mut directories = path.split(|&byte| byte == b'/');
        directories.next_back();
        let mut found = Self::No;
        for directory in directories {
            if CERTAIN.contains(&directory) {
                return Self::Certain;
            }
            if LIKELY.contains(&directory) {
                found = Self::Likely;
            }
        }
        let is_below = |directory: &&[u8]| {
            path.starts_with(directory)
                || path.windows(directory.len() + 1).any(|part| part[0] == b'/' && part[1..] == **directory)
        };
        if CERTAIN_PATHS.iter().any(is_below) { Self::Certain } else { found }
    }
}

/// Words that say that a file shows which values there are, and has none.
const EXAMPLE_WORDS: [&[u8]; 11] = [
    b"example",
    b"examples",
    b"sample",
    b"samples",
    b"template",
    b"tmpl",
    b"tpl",
    b"dist",
    b"defaults",
    b"schema",
    b"skeleton",
];

/// `.env.example`, `example.env`, `env-sample` and the like.
pub fn is_example(path: &[u8]) -> bool {
    let name = name_of(path).to_ascii_lowercase();
    name.split(|byte| b".-_".contains(byte)).any(|word| EXAMPLE_WORDS.contains(&word))
}

/// `.env`, `.env.local`, `prod.env`, `.dev.vars` …
pub fn is_environment_file(path: &[u8]) -> bool {
    let name = name_of(path).to_ascii_lowercase();
    name.starts_with(b".env") || name.ends_with(b".env") || name.starts_with(b".dev.vars") || name == b".flaskenv"
}

const SOURCES: [&[u8]; 32] = [
    b"ts", b"tsx", b"mts", b"cts", b"js", b"jsx", b"mjs", b"cjs", b"vue", b"svelte", b"py", b"pyi", b"rb", b"php",
    b"go", b"rs", b"java", b"kt", b"kts", b"scala", b"swift", b"cs", b"fs", b"c", b"h", b"cc", b"cpp", b"hpp", b"ex",
    b"exs", b"lua", b"dart",
];

/// `credentials.ts`, `secrets.py`: program text by its ending.
pub fn is_source(path: &[u8]) -> bool {
    let name = name_of(path).to_ascii_lowercase();
    let mut parts = name.rsplitn(2, |&byte| byte == b'.');
    let ending = parts.next();
    parts.next().is_some() && ending.is_some_and(|ending| SOURCES.contains(&ending))
}

fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}
