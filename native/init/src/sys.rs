//! System calls that rustix does not wrap. All raw calls of this program are in this file.

use std::{
    fs::File,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr,
};

/// linux/random.h: _IOW('R', 0x03, int[2]) and _IO('R', 0x07).
const ADD_ENTROPY: libc::c_ulong = 0x4008_5203;
const RESEED: libc::c_ulong = 0x5207;
pub const ENTROPY_BYTES: usize = 64;

/// The first page of a file, mapped; valid as long as the file is not truncated.
pub struct FirstPage(ptr::NonNull<libc::c_void>);

const PAGE_BYTES: usize = 4096;

impl FirstPage {
    /// Maps a file that has some bytes, and touches it, so that a later write takes no system call.
    pub fn of(file: &File) -> io::Result<Self> {
        let (protection, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at no particular place.
        let at = unsafe { libc::mmap(ptr::null_mut(), PAGE_BYTES, protection, shared, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let page = Self(ptr::NonNull::new(at).ok_or(io::ErrorKind::InvalidInput)?);
        // SAFETY: the page is ours alone in this process, and can be read and written.
        unsafe { page.first().write_volatile(page.first().read_volatile()) };
        Ok(page)
    }

    /// No more than the page has.
    pub fn write(&mut self, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(PAGE_BYTES)];
        // SAFETY: as many bytes lie in the page, which is ours alone in this process.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.first(), bytes.len()) };
    }

    fn first(&self) -> *mut u8 {
        self.0.as_ptr().cast()
    }
}

impl Drop for FirstPage {
    fn drop(&mut self) {
        // SAFETY: this mapping was made for this page, and has no other user.
        unsafe { libc::munmap(self.0.as_ptr(), PAGE_BYTES) };
    }
}

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

pub fn load_module(file: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open and the parameters are an empty string.
    match check(unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) }) {
        // Built in, or loaded by another's need.
        Err(e) if e.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        done => done.map(drop),
    }
}

#[repr(C)]
struct PoolInfo {
    entropy_bits: libc::c_int,
    bytes: libc::c_int,
    buffer: [u8; ENTROPY_BYTES],
}

/// Gives the kernel's random numbers a new beginning: what is drawn from now on depends on these bytes.
pub fn reseed(random: &File, entropy: [u8; ENTROPY_BYTES]) -> io::Result<()> {
    let bytes = ENTROPY_BYTES as libc::c_int;
    let info = PoolInfo { entropy_bits: bytes * 8, bytes, buffer: entropy };
    // SAFETY: the struct is as linux/random.h has it and outlives the call; the second call takes no argument.
    unsafe {
        check(libc::ioctl(random.as_raw_fd(), ADD_ENTROPY as _, &raw const info).into())?;
        check(libc::ioctl(random.as_raw_fd(), RESEED as _).into())?;
    }
    Ok(())
}

/// A listening vsock of this port.
pub fn listen_vsock(port: u32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; a new descriptor has one owner. The address is plain data of the right length.
    unsafe {
        let fd = libc::socket(libc::AF_VSOCK, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        check(fd.into())?;
        let socket = OwnedFd::from_raw_fd(fd);
        let mut address: libc::sockaddr_vm = std::mem::zeroed();
        address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
        address.svm_port = port;
        address.svm_cid = libc::VMADDR_CID_ANY;
        let length = size_of::<libc::sockaddr_vm>() as libc::socklen_t;
        check(libc::bind(fd, (&raw const address).cast(), length).into())?;
        check(libc::listen(fd, 1).into())?;
        Ok(socket)
    }
}

pub fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
    // SAFETY: the peer's address is not asked for; a new descriptor has one owner.
    unsafe {
        let fd = libc::accept4(listener.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut(), libc::SOCK_CLOEXEC);
        check(fd.into())?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}
