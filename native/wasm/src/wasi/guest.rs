//! A module's memory, as our functions see it while they serve one of its calls. Every place is checked.

use crate::wasi::errno::{Answer, Errno};
use crate::wasi::{Iovec, Wasi};

pub struct Guest<'a> {
    pub memory: &'a mut [u8],
    pub wasi: &'a mut Wasi,
}

/// More pieces than this are no program's.
const MOST_PIECES: u32 = 1024;
/// The kernel's own limit, without the NUL.
const LONGEST_PATH: u32 = 4095;

impl Guest<'_> {
    pub fn bytes(&self, at: u32, length: u32) -> Answer<&[u8]> {
        let from = at as usize;
        let to = from.checked_add(length as usize).ok_or(Errno::FAULT)?;
        Ok(self.memory.get(from..to).ok_or(Errno::FAULT)?)
    }

    /// A path, or what a link says. Whatever is longer the kernel would refuse, after we had copied it.
    pub fn text(&self, at: u32, length: u32) -> Answer<String> {
        if length > LONGEST_PATH {
            return Err(Errno::NAMETOOLONG.into());
        }
        Ok(std::str::from_utf8(self.bytes(at, length)?).map_err(|_| Errno::ILSEQ)?.to_owned())
    }

    pub fn u32_at(&self, at: u32) -> Answer<u32> {
        let bytes = self.bytes(at, 4)?;
        Ok(u32::from_le_bytes(bytes.try_into().map_err(|_| Errno::FAULT)?))
    }

    pub fn u64_at(&self, at: u32) -> Answer<u64> {
        let bytes = self.bytes(at, 8)?;
        Ok(u64::from_le_bytes(bytes.try_into().map_err(|_| Errno::FAULT)?))
    }

    pub fn put(&mut self, at: u32, bytes: &[u8]) -> Answer {
        let from = at as usize;
        let to = from.checked_add(bytes.len()).ok_or(Errno::FAULT)?;
        self.memory.get_mut(from..to).ok_or(Errno::FAULT)?.copy_from_slice(bytes);
        Ok(())
    }

    pub fn put_u32(&mut self, at: u32, value: u32) -> Answer {
        self.put(at, &value.to_le_bytes())
    }

    pub fn put_u64(&mut self, at: u32, value: u64) -> Answer {
        self.put(at, &value.to_le_bytes())
    }

    /// Pieces of memory, all of them inside it.
    pub fn pieces(&self, at: u32, count: u32) -> Answer<Vec<Iovec>> {
        if count > MOST_PIECES {
            return Err(Errno::INVAL.into());
        }
        let mut pieces = Vec::with_capacity(count as usize);
        for index in 0..count {
            let place = index.checked_mul(8).and_then(|offset| at.checked_add(offset)).ok_or(Errno::FAULT)?;
            let from = self.u32_at(place)?;
            let length = self.u32_at(place.checked_add(4).ok_or(Errno::FAULT)?)?;
            self.bytes(from, length)?;
            pieces.push(from as usize..from as usize + length as usize);
        }
        Ok(pieces)
    }

    /// Texts one behind the other, each with a NUL, and where each begins.
    pub fn put_texts(&mut self, texts: &[String], mut pointers: u32, mut buffer: u32) -> Answer {
        for text in texts {
            self.put_u32(pointers, buffer)?;
            self.put(buffer, text.as_bytes())?;
            let end = buffer.checked_add(text.len() as u32).ok_or(Errno::OVERFLOW)?;
            self.put(end, &[0])?;
            buffer = end.checked_add(1).ok_or(Errno::OVERFLOW)?;
            pointers = pointers.checked_add(4).ok_or(Errno::OVERFLOW)?;
        }
        Ok(())
    }
}
