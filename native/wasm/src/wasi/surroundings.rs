//! Functions that need no open descriptor: arguments, variables, clocks, randomness, exit.

use rustix::time::{ClockId, clock_getres, clock_gettime};
use wasmtime::Error;

use crate::ending::Exit;
use crate::wasi::errno::{Answer, Errno, Fault};
use crate::wasi::guest::Guest;

/// The most random bytes read at once, so that a large request can be interrupted.
const RANDOM_BYTES: usize = 1 << 20;

impl Guest<'_> {
    pub fn args_sizes_get(&mut self, count: u32, size: u32) -> Answer {
        let (texts, bytes) = sizes(&self.wasi.args)?;
        self.put_u32(count, texts)?;
        self.put_u32(size, bytes)
    }

    pub fn args_get(&mut self, pointers: u32, buffer: u32) -> Answer {
        let texts = std::mem::take(&mut self.wasi.args);
        let done = self.put_texts(&texts, pointers, buffer);
        self.wasi.args = texts;
        done
    }

    pub fn environ_sizes_get(&mut self, count: u32, size: u32) -> Answer {
        let (texts, bytes) = sizes(&self.wasi.variables)?;
        self.put_u32(count, texts)?;
        self.put_u32(size, bytes)
    }

    pub fn environ_get(&mut self, pointers: u32, buffer: u32) -> Answer {
        let texts = std::mem::take(&mut self.wasi.variables);
        let done = self.put_texts(&texts, pointers, buffer);
        self.wasi.variables = texts;
        done
    }

    pub fn clock_res_get(&mut self, id: u32, at: u32) -> Answer {
        let resolution = clock_getres(clock(id)?);
        self.put_u64(at, nanoseconds(resolution.tv_sec, resolution.tv_nsec).max(1))
    }

    pub fn clock_time_get(&mut self, id: u32, _precision: u64, at: u32) -> Answer {
        let now = clock_gettime(clock(id)?);
        self.put_u64(at, nanoseconds(now.tv_sec, now.tv_nsec))
    }

    pub fn random_get(&mut self, at: u32, length: u32) -> Answer {
        self.bytes(at, length)?;
        let all = &mut self.memory[at as usize..][..length as usize];
        for piece in all.chunks_mut(RANDOM_BYTES) {
            self.wasi.kill.refuse_if_asked()?;
            let mut filled = 0;
            while filled < piece.len() {
                filled += rustix::rand::getrandom(&mut piece[filled..], rustix::rand::GetRandomFlags::empty())?;
            }
        }
        Ok(())
    }

    pub fn sched_yield(&mut self) -> Answer {
        std::thread::yield_now();
        Ok(())
    }

    pub fn proc_exit(&mut self, status: u32) -> Answer {
        Err(Fault::Ended(Error::new(Exit(status))))
    }

    pub fn proc_raise(&mut self, _signal: u32) -> Answer {
        Err(Errno::NOTSUP.into())
    }
}

fn sizes(texts: &[String]) -> Answer<(u32, u32)> {
    let bytes: usize = texts.iter().map(|text| text.len() + 1).sum();
    let narrow = |size: usize| u32::try_from(size).map_err(|_| Errno::OVERFLOW);
    Ok((narrow(texts.len())?, narrow(bytes)?))
}

/// Those of the processor's time are about a process that serves other calls too.
fn clock(id: u32) -> Answer<ClockId> {
    match id {
        0 => Ok(ClockId::Realtime),
        1 => Ok(ClockId::Monotonic),
        _ => Err(Errno::INVAL.into()),
    }
}

pub fn nanoseconds(seconds: i64, rest: i64) -> u64 {
    let whole = u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000_000);
    whole.saturating_add(u64::try_from(rest).unwrap_or(0))
}
