//! Tokens whose issuer gave them a format that tells them. Formats are facts published by their issuers and collected by
//! rule sets such as gitleaks'; matching is our own.

use crate::sample::Sample;

#[derive(Clone, Copy)]
enum Digits {
    Hex,
    Base32,
    Word,
    /// Letters, digits, `_` and `-`.
    Url,
    /// And `.`, `=`, `+`, `/`.
    Any,
}

struct Format {
    prefix: &'static [u8],
    digits: Digits,
    shortest: usize,
}

const fn format(prefix: &'static [u8], digits: Digits, shortest: usize) -> Format {
    Format { prefix, digits, shortest }
}

const FORMATS: [Format; 68] = [
    format(b"AKIA", Digits::Base32, 16),
    format(b"ASIA", Digits::Base32, 16),
    format(b"ABIA", Digits::Base32, 16),
    format(b"ACCA", Digits::Base32, 16),
    format(b"ghp_", Digits::Word, 36),
    format(b"gho_", Digits::Word, 36),
    format(b"ghu_", Digits::Word, 36),
    format(b"ghs_", Digits::Word, 36),
    format(b"ghr_", Digits::Word, 36),
    format(b"github_pat_", Digits::Url, 50),
    format(b"glpat-", Digits::Url, 20),
    format(b"gldt-", Digits::Url, 20),
    format(b"glrt-", Digits::Url, 20),
    format(b"xoxb-", Digits::Url, 24),
    format(b"xoxp-", Digits::Url, 24),
    format(b"xoxa-", Digits::Url, 24),
    format(b"xoxe-", Digits::Url, 24),
    format(b"xoxe.", Digits::Url, 24),
    format(b"xoxr-", Digits::Url, 24),
    format(b"xoxs-", Digits::Url, 24),
    format(b"xapp-", Digits::Url, 24),
    format(b"hooks.slack.com/services/T", Digits::Any, 24),
    format(b"sk_live_", Digits::Word, 20),
    format(b"rk_live_", Digits::Word, 20),
    format(b"sk_test_", Digits::Word, 24),
    format(b"whsec_", Digits::Any, 28),
    format(b"AIza", Digits::Url, 35),
    format(b"GOCSPX-", Digits::Url, 28),
    format(b"ya29.", Digits::Url, 40),
    format(b"npm_", Digits::Word, 36),
    format(b"pypi-AgE", Digits::Url, 40),
    format(b"sk-proj-", Digits::Url, 32),
    format(b"sk-svcacct-", Digits::Url, 32),
    format(b"sk-ant-", Digits::Url, 32),
    format(b"sk-or-v1-", Digits::Hex, 64),
    format(b"sk-", Digits::Word, 48),
    format(b"hf_", Digits::Word, 34),
    format(b"gsk_", Digits::Word, 48),
    format(b"xai-", Digits::Word, 60),
    format(b"pplx-", Digits::Word, 40),
    format(b"r8_", Digits::Word, 37),
    format(b"SG.", Digits::Any, 60),
    format(b"dop_v1_", Digits::Hex, 64),
    format(b"doo_v1_", Digits::Hex, 64),
    format(b"shpat_", Digits::Hex, 32),
    format(b"shpss_", Digits::Hex, 32),
    format(b"shppa_", Digits::Hex, 32),
    format(b"sq0atp-", Digits::Url, 22),
    format(b"sq0csp-", Digits::Url, 43),
    format(b"AccountKey=", Digits::Any, 80),
    format(b"SharedAccessKey=", Digits::Any, 40),
    format(b"dapi", Digits::Hex, 32),
    format(b"dp.pt.", Digits::Word, 40),
    format(b"hvs.", Digits::Url, 24),
    format(b"lin_api_", Digits::Word, 32),
    format(b"ntn_", Digits::Word, 40),
    format(b"PMAK-", Digits::Url, 50),
    format(b"pul-", Digits::Hex, 40),
    format(b"sntrys_", Digits::Any, 40),
    format(b"sbp_", Digits::Hex, 40),
    format(b"ATATT3", Digits::Any, 60),
    format(b"glsa_", Digits::Url, 32),
    format(b"NRAK-", Digits::Word, 27),
    format(b"rubygems_", Digits::Hex, 48),
    format(b"dckr_pat_", Digits::Url, 27),
    format(b"tskey-", Digits::Url, 20),
    format(b"EAACEdEose0cBA", Digits::Word, 20),
    format(b"FlyV1 fm", Digits::Any, 40),
];

pub fn are_in(sample: &Sample) -> bool {
    sample.parts().any(has_token)
}

fn has_token(text: &[u8]) -> bool {
    let mut starts = [false; 256];
    FORMATS.iter().for_each(|format| starts[usize::from(format.prefix[0])] = true);
    text.iter().enumerate().any(|(at, byte)| {
        starts[usize::from(*byte)]
            && (at == 0 || !is_word(text[at - 1]))
            && FORMATS.iter().any(|format| is_one(format, &text[at..]))
    })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The longest token that is read. A text may consist of prefixes, each of which would be read to its end otherwise.
const LONGEST: usize = 256;

fn is_one(Format { prefix, digits, shortest }: &Format, text: &[u8]) -> bool {
    let Some(body) = text.strip_prefix(*prefix) else { return false };
    let length = body.iter().take(LONGEST).take_while(|byte| is_digit(*digits, **byte)).count();
    length >= *shortest && is_random(&body[..length])
}

fn is_digit(digits: Digits, byte: u8) -> bool {
    match digits {
        Digits::Hex => byte.is_ascii_hexdigit(),
        Digits::Base32 => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        Digits::Word => byte.is_ascii_alphanumeric(),
        Digits::Url => byte.is_ascii_alphanumeric() || b"_-".contains(&byte),
        Digits::Any => byte.is_ascii_alphanumeric() || b"_-.=+/".contains(&byte),
    }
}

/// Tokens of documentation say so or repeat a letter.
fn is_random(body: &[u8]) -> bool {
    const FEWEST: usize = 8;
    let mut seen = [false; 256];
    body.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let lower = body.to_ascii_lowercase();
    let says_so = [&b"example"[..], b"xxxxx", b"your"].iter().any(|word| lower.windows(word.len()).any(|w| w == *word));
    seen.iter().filter(|is_seen| **is_seen).count() >= FEWEST && !says_so
}
