//! Target of `npm run fuzz -- tar-archive`: layers of images as they are read, before anything is written to disk.
//! `fuzz` holds the directory that a layer becomes against hostile archives.

use std::io::Read;

use crate::{
    archive::{Archive, Kind},
    zstd_frames::ZstdFrames,
};

/// The most bytes that small data may unpack to here.
const MOST_UNPACKED: u64 = 1 << 20;

/// The first byte says how the archive is packed.
pub fn tar(data: &[u8]) {
    match data.split_first() {
        Some((b'z', packed)) => read(ZstdFrames::new(packed).take(MOST_UNPACKED), MOST_UNPACKED),
        Some((b'g', packed)) => read(flate2::bufread::MultiGzDecoder::new(packed).take(MOST_UNPACKED), MOST_UNPACKED),
        _ => read(data, data.len() as u64),
    }
}

fn read(source: impl Read, most: u64) {
    let mut archive = Archive::new(source);
    let (mut members, mut given) = (0, 0);
    while let Ok(Some(member)) = archive.next_member() {
        members += 1;
        assert!(members <= most / 512, "more members than blocks");
        assert!(member.segments.is_none() || member.kind == Kind::File);
        let mut end = 0;
        for segment in member.segments.iter().flatten() {
            assert!(segment.offset >= end, "segments that overlap");
            end = segment.offset + segment.length;
            assert!(end <= member.size, "a segment behind the end");
        }
        let mut content = Vec::new();
        if archive.read_to_end(&mut content).is_err() {
            break;
        }
        given += content.len() as u64;
        assert!(given <= most, "more content than archive");
    }
}

#[cfg(test)]
#[test]
fn kept_archives_pass() {
    ak_corpus::replay("tar-archive", tar);
}
