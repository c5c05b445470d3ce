//! Recognises private keys by content: the armour of PEM, OpenSSH, OpenPGP, PuTTY and age, and the magic numbers and
//! ASN.1 structure of binary keys. Certificates and public keys are not secrets.

use crate::sample::Sample;

pub fn is_in(sample: &Sample) -> bool {
    is_binary_key(sample.head()) || is_key_store(sample) || sample.parts().any(is_armoured)
}

/// Texts that only stand in files with a private key.
const MARKS: [&[u8]; 4] = [
    b"PuTTY-User-Key-File-",
    b"AGE-PLUGIN-",
    b"SSH PRIVATE KEY FILE FORMAT 1.1\n",
    b"untrusted comment: minisign encrypted secret key",
];

fn is_armoured(text: &[u8]) -> bool {
    MARKS.iter().any(|mark| text.starts_with(mark))
        || has_age_key(text)
        || find(text, b"\nAGE-PLUGIN-").is_some()
        || find(text, b"\nPuTTY-User-Key-File-").is_some()
        || has_pem(text)
        || has_wireguard_key(text)
        || has_private_jwk(text)
}

/// `-----BEGIN … PRIVATE KEY…-----` (or with four dashes, of SSH.COM) with something like a body behind it. A program that
/// only names the header has none.
fn has_pem(text: &[u8]) -> bool {
    const BEGIN: &[u8] = b"BEGIN ";
    let mut from = 0;
    while let Some(at) = find(&text[from..], BEGIN) {
        let before = &text[..from + at];
        from += at + BEGIN.len();
        if !before.ends_with(b"-----") && !before.ends_with(b"---- ") {
            continue;
        }
        let label = &text[from..text.len().min(from + 64)];
        let Some(end) = find(label, b"----") else { continue };
        if is_private(&label[..end]) && is_body(&text[from + end..]) {
            return true;
        }
    }
    false
}

fn is_private(label: &[u8]) -> bool {
    let is_label = label.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ');
    let tunnel_key: &[u8] = b"OpenVPN Static key";
    (is_label && find(label, b"PRIVATE KEY").is_some()) || label.starts_with(tunnel_key)
}

/// Behind the header's end: a line of base64 or hexadecimal digits, or a header of the armour. Line breaks may be written
/// as `\n`, as in JSON.
fn is_body(behind: &[u8]) -> bool {
    const SHORTEST: usize = 16;
    let mut rest = &behind[behind.iter().take_while(|byte| **byte == b'-').count()..];
    loop {
        rest = match rest {
            // A text of several lines in a program has quotes, and something that joins them.
            [b' ' | b'\t' | b'\r' | b'\n' | b'|' | b'>' | b'#' | b'"' | b'\'' | b',' | b'.', tail @ ..] => tail,
            [b'+', b' ' | b'\t' | b'\r' | b'\n', tail @ ..] => tail,
            [b'\\', b'n' | b'r' | b'\\', tail @ ..] => tail,
            _ => break,
        };
    }
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let digits = rest.iter().take_while(|byte| is_digit(byte)).count();
    let headers: [&[u8]; 6] = [b"Proc-Type:", b"DEK-Info:", b"Version:", b"Comment:", b"Subject:", b"Hash:"];
    let is_varied = {
        let mut seen = [false; 256];
        rest[..digits].iter().for_each(|byte| seen[usize::from(*byte)] = true);
        seen.iter().filter(|is_seen| **is_seen).count() > 4
    };
    digits >= SHORTEST && is_varied || headers.iter().any(|header| rest.starts_with(header))
}

/// Wherever it stands: in a file of its own, or as the value of a variable.
fn has_age_key(text: &[u8]) -> bool {
    const BEGIN: &[u8] = b"AGE-SECRET-KEY-";
    let mut rest = text;
    while let Some(at) = find(rest, BEGIN) {
        let is_first = at == 0 && rest.len() == text.len() || at > 0 && rest[at - 1] == b'\n';
        rest = &rest[at + BEGIN.len()..];
        let is_digit = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'-';
        let digits = rest.iter().take_while(|byte| is_digit(byte)).count();
        if is_first && digits > 0 || digits >= AGE_KEY {
            return true;
        }
    }
    false
}

const AGE_KEY: usize = 50;

fn has_wireguard_key(text: &[u8]) -> bool {
    const DIGITS: usize = 44;
    lines(text).any(|line| {
        let Some((name, value)) = line.split_at_checked(b"PrivateKey".len()) else { return false };
        if !name.eq_ignore_ascii_case(b"PrivateKey") {
            return false;
        }
        let value = value.trim_ascii_start().strip_prefix(b"=").map_or(&b""[..], <[u8]>::trim_ascii);
        let end = value.iter().position(|byte| b" \t#;".contains(byte)).unwrap_or(value.len());
        let value = &value[..end];
        value.len() == DIGITS && value.ends_with(b"=")
    })
}

/// A JSON Web Key of a private kind has `"kty"` and `"d"`.
fn has_private_jwk(text: &[u8]) -> bool {
    const SHORTEST: usize = 20;
    find(text, b"\"kty\"").is_some()
        && text.windows(3).enumerate().filter(|(_, part)| *part == b"\"d\"").any(|(at, _)| {
            let behind = text[at + 3..].trim_ascii_start();
            let value = behind.strip_prefix(b":").map_or(&b""[..], <[u8]>::trim_ascii_start);
            let value = value.strip_prefix(b"\"").unwrap_or(b"");
            value.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte)).count() >= SHORTEST
        })
}

fn is_key_store(sample: &Sample) -> bool {
    match sample.head() {
        // Java's own stores: JKS and JCEKS.
        [0xfe, 0xed, 0xfe, 0xed, rest @ ..] | [0xce, 0xce, 0xce, 0xce, rest @ ..] => !has_only_certificates(rest),
        // Bouncy Castle's: a version, and a salt of twenty bytes.
        [0, 0, 0, 1 | 2, 0, 0, 0, 20, ..] => true,
        // KeePass.
        [0x03, 0xd9, 0xa2, 0x9a, ..] => true,
        // GnuPG's key box holds public keys; its secret keys are S-expressions.
        head => {
            [&b"(11:private-key"[..], b"(21:protected-private-key", b"(20:shadowed-private-key", b"Key: (private-key"]
                .iter()
                .any(|mark| head.starts_with(mark) || find(&head[..head.len().min(512)], mark).is_some())
        }
    }
}

/// A Java store whose entries are all certificates of others.
fn has_only_certificates(behind_magic: &[u8]) -> bool {
    const CERTIFICATE: u32 = 2;
    let walk = || {
        let mut rest = behind_magic;
        let (version, count) = (number(&mut rest, 4)?, number(&mut rest, 4)?);
        for _ in 0..count {
            if number(&mut rest, 4)? != CERTIFICATE {
                return Some(false);
            }
            let alias = number(&mut rest, 2)?;
            skip(&mut rest, alias as usize + 8)?;
            if version > 1 {
                let kind = number(&mut rest, 2)?;
                skip(&mut rest, kind as usize)?;
            }
            let length = number(&mut rest, 4)?;
            skip(&mut rest, length as usize)?;
        }
        Some(true)
    };
    walk() == Some(true)
}

fn number(rest: &mut &[u8], length: usize) -> Option<u32> {
    let (bytes, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

fn skip(rest: &mut &[u8], length: usize) -> Option<()> {
    *rest = rest.get(length..)?;
    Some(())
}

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;

/// The DER of PKCS#1, PKCS#8, SEC 1 and PKCS#12, and OpenPGP's packets of secret keys.
fn is_binary_key(head: &[u8]) -> bool {
    is_pgp_secret(head) || is_der_key(head)
}

fn is_der_key(head: &[u8]) -> bool {
    let Some((SEQUENCE, body, _)) = element(head) else { return false };
    match element(body) {
        // PKCS#8 and PKCS#1 begin with version 0 (two primes) or 1 (several, or a public key beside), SEC 1 with 1,
        // PKCS#12 with 3.
        Some((INTEGER, [version], rest)) => match (version, element(rest)) {
            (0 | 1, Some((SEQUENCE, _, behind))) => matches!(element(behind), Some((OCTETS, ..))),
            (0 | 1, Some((INTEGER, modulus, _))) => modulus.len() >= 64,
            (1, Some((OCTETS, key, _))) => key.len() >= 16,
            (3, Some((SEQUENCE, content, _))) => {
                find(content, PKCS7_DATA).is_some() || find(content, PKCS7_SIGNED).is_some()
            }
            _ => false,
        },
        // An encrypted key of PKCS#8: a scheme of PKCS#5 or PKCS#12, then the key.
        Some((SEQUENCE, scheme, rest)) => {
            let is_scheme = scheme.starts_with(PKCS5) || scheme.starts_with(PKCS12_PBE);
            is_scheme && matches!(element(rest), Some((OCTETS, ..)))
        }
        _ => false,
    }
}

const PKCS7_DATA: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01";
const PKCS7_SIGNED: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02";
const PKCS5: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x05";
const PKCS12_PBE: &[u8] = b"\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01";

/// Tag, content as far as it was read, and what is behind it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = bytes.split_first_chunk::<2>()?;
    let (length, rest) = match first {
        0x80 => (rest.len(), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        0x85.. => return None,
        short => (usize::from(short), rest),
    };
    let end = length.min(rest.len());
    Some((tag, &rest[..end], &rest[end..]))
}

/// A packet of a secret key (tag 5) comes first in an exported one: old format with a length, or new format; then the
/// version and a time.
fn is_pgp_secret(head: &[u8]) -> bool {
    let version = match head {
        [0x94, _, version, ..] | [0x95, _, _, version, ..] | [0x96, _, _, _, _, version, ..] => version,
        [0xc5, 0..=191, version, ..] | [0xc5, 192..=223, _, version, ..] | [0xc5, 255, _, _, _, _, version, ..] => {
            version
        }
        _ => return false,
    };
    matches!(version, 3..=6)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii)
}

pub fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = wanted.first()?;
    let mut from = 0;
    while let Some(at) = text[from..].iter().position(|byte| byte == first) {
        if text[from + at..].starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}
