//! A content as git's binary patches have it: compressed, in base 85, with the length of each line in front.

use std::io::{self, Write};

use flate2::{Compression, write::ZlibEncoder};

const LINE: usize = 52;
const ALPHABET: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

pub fn write(content: &[u8], out: &mut impl Write) -> io::Result<()> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content)?;
    let packed = encoder.finish()?;
    writeln!(out, "GIT binary patch\nliteral {}", content.len())?;
    for line in packed.chunks(LINE) {
        let length = line.len() as u8;
        out.write_all(&[if length <= 26 { b'A' + length - 1 } else { b'a' + length - 27 }])?;
        for group in line.chunks(4) {
            out.write_all(&encode(group))?;
        }
        out.write_all(b"\n")?;
    }
    out.write_all(b"\n")
}

/// Up to four bytes, filled up with zeros.
fn encode(group: &[u8]) -> [u8; 5] {
    let mut bytes = [0; 4];
    bytes[..group.len()].copy_from_slice(group);
    let mut rest = u32::from_be_bytes(bytes);
    let mut digits = [0; 5];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(rest % 85) as usize];
        rest /= 85;
    }
    digits
}
