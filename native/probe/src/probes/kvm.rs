//! Hardware virtualisation: runs 64-bit guest code with paging against a clock. A `/dev/kvm` that is there but
//! emulates, crawls or fails at instructions that every kernel uses is not one to trust.

use super::Context;
use crate::report::Verdict;

pub const UNUSABLE_HINT: &str = "do not use /dev/kvm of this machine: it cannot run a guest at speed (often virtualisation inside virtualisation without hardware support); the linux backend does not need it";

#[cfg(not(target_arch = "x86_64"))]
pub fn probe(_: &Context) -> Verdict {
    Err(crate::report::Fault::not_needed("unverified: no probe for this processor architecture"))
}

#[cfg(target_arch = "x86_64")]
pub use x86_64::probe;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::time::{Duration, Instant};

    use kvm_bindings::{KVM_MAX_CPUID_ENTRIES, kvm_regs, kvm_segment, kvm_sregs, kvm_userspace_memory_region};
    use kvm_ioctls::{Kvm, VcpuExit, VcpuFd, VmFd};

    use super::{Context, UNUSABLE_HINT, Verdict};
    use crate::report::{Explain, Fault};

    /// Real hardware needs about a millisecond.
    const SLOW: Duration = Duration::from_millis(250);
    const GIVE_UP: Duration = Duration::from_millis(1000);

    const MEMORY_SIZE: usize = 0x10000;
    const PML4: usize = 0x1000;
    const PDPT: usize = 0x2000;
    const PAGE_DIRECTORY: usize = 0x3000;
    const CODE: usize = 0x8000;
    const COUNTER: usize = 0x9000;
    const ROUNDS: u128 = 25_000;

    const PORT: u16 = 0x10;
    const DONE: u8 = b'K';

    /// Counts a 128-bit number in memory up to ROUNDS, one `cmpxchg16b` each, ten instructions per round.
    #[rustfmt::skip]
    const PROGRAM: [u8; 54] = [
        0xbe, 0x00, 0x90, 0x00, 0x00,       //       mov esi, COUNTER
        0xbf, 0xa8, 0x61, 0x00, 0x00,       //       mov edi, ROUNDS
        0x31, 0xc0,                         //       xor eax, eax
        0x31, 0xd2,                         //       xor edx, edx
        0x48, 0x89, 0xc3,                   // again: mov rbx, rax
        0x48, 0x83, 0xc3, 0x01,             //       add rbx, 1
        0x48, 0x89, 0xd1,                   //       mov rcx, rdx
        0x48, 0x83, 0xd1, 0x00,             //       adc rcx, 0
        0xf0, 0x48, 0x0f, 0xc7, 0x0e,       //       lock cmpxchg16b [rsi]
        0x75, 0x0e,                         //       jnz failed
        0x48, 0x89, 0xd8,                   //       mov rax, rbx
        0x48, 0x89, 0xca,                   //       mov rdx, rcx
        0xff, 0xcf,                         //       dec edi
        0x75, 0xe1,                         //       jnz again
        0xb0, DONE,                         //       mov al, DONE
        0xeb, 0x02,                         //       jmp say
        0xb0, b'F',                         // failed: mov al, 'F'
        0xe6, PORT as u8,                   // say:  out PORT, al
        0xf4,                               //       hlt
    ];

    /// The guest's memory: one owner, page aligned, never moved while the VM lives.
    #[repr(C, align(4096))]
    struct Memory([u8; MEMORY_SIZE]);

    pub fn probe(_: &Context) -> Verdict {
        let kvm = Kvm::new().map_err(|error| cannot_open(error.errno()))?;
        let mut memory = Box::new(Memory([0; MEMORY_SIZE]));
        fill(&mut memory.0);
        let vm = kvm.create_vm().or_fault("making a virtual machine", UNUSABLE_HINT)?;
        give_memory(&vm, &mut memory).or_fault("giving memory to a virtual machine", UNUSABLE_HINT)?;
        let mut vcpu = prepare_vcpu(&kvm, &vm).or_fault("preparing a processor", UNUSABLE_HINT)?;
        interrupt_after(GIVE_UP).or_fault("setting a timer", UNUSABLE_HINT)?;
        let started = Instant::now();
        let said = run(&mut vcpu)?;
        let took = started.elapsed();
        drop(vcpu);
        drop(vm);
        let counted = memory.0[COUNTER..].first_chunk().map(|bytes| u128::from_le_bytes(*bytes));
        if said != DONE || counted != Some(ROUNDS) {
            return Err(Fault::new("guest code computed something wrong", UNUSABLE_HINT));
        }
        let ms = took.as_secs_f64() * 1000.0;
        if took > SLOW {
            let detail = format!("guest code runs, but takes {ms:.0} ms for what hardware does in one");
            return Err(Fault::new(detail, UNUSABLE_HINT));
        }
        Ok(format!("250,000 instructions of 64-bit guest code ran in {ms:.1} ms"))
    }

    fn cannot_open(errno: i32) -> Fault {
        let error = std::io::Error::from_raw_os_error(errno);
        let hint = match errno {
            libc::EACCES | libc::EPERM => {
                "give the user access (`usermod -aG kvm <user>` as root, then log in again); the linux backend does not need it"
            }
            libc::ENOENT | libc::ENODEV | libc::ENXIO => {
                "turn on virtualisation in the firmware, or nested virtualisation of this virtual machine, and load the kvm module; the linux backend does not need it"
            }
            _ => UNUSABLE_HINT,
        };
        Fault::new(format!("opening /dev/kvm: {error}"), hint)
    }

    /// Page tables that map the first two megabytes onto themselves, and the program.
    fn fill(memory: &mut [u8]) {
        const PRESENT_WRITABLE: u64 = 0b11;
        const LARGE_PAGE: u64 = 1 << 7;
        let entries = [
            (PML4, PDPT as u64 | PRESENT_WRITABLE),
            (PDPT, PAGE_DIRECTORY as u64 | PRESENT_WRITABLE),
            (PAGE_DIRECTORY, LARGE_PAGE | PRESENT_WRITABLE),
        ];
        for (address, entry) in entries {
            memory[address..address + 8].copy_from_slice(&entry.to_le_bytes());
        }
        memory[CODE..CODE + PROGRAM.len()].copy_from_slice(&PROGRAM);
    }

    fn give_memory(vm: &VmFd, memory: &mut Memory) -> Result<(), kvm_ioctls::Error> {
        let region = kvm_userspace_memory_region {
            slot: 0,
            flags: 0,
            guest_phys_addr: 0,
            memory_size: MEMORY_SIZE as u64,
            userspace_addr: memory.0.as_mut_ptr() as u64,
        };
        // SAFETY: the region is exactly the caller's boxed memory, which outlives the VM and is read only after it.
        unsafe { vm.set_user_memory_region(region) }
    }

    fn prepare_vcpu(kvm: &Kvm, vm: &VmFd) -> Result<VcpuFd, kvm_ioctls::Error> {
        let vcpu = vm.create_vcpu(0)?;
        vcpu.set_cpuid2(&kvm.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES)?)?;
        let mut sregs = vcpu.get_sregs()?;
        enter_long_mode(&mut sregs);
        vcpu.set_sregs(&sregs)?;
        vcpu.set_regs(&kvm_regs { rip: CODE as u64, rflags: 2, ..kvm_regs::default() })?;
        Ok(vcpu)
    }

    fn enter_long_mode(sregs: &mut kvm_sregs) {
        const CR0_PE_MP_ET_NE_WP_PG: u64 = 0x8001_0033;
        const CR4_PAE: u64 = 1 << 5;
        const EFER_LME_LMA: u64 = 1 << 8 | 1 << 10;
        sregs.cr3 = PML4 as u64;
        sregs.cr4 = CR4_PAE;
        sregs.cr0 = CR0_PE_MP_ET_NE_WP_PG;
        sregs.efer = EFER_LME_LMA;
        let code = kvm_segment {
            base: 0,
            limit: u32::MAX,
            selector: 1 << 3,
            type_: 11,
            present: 1,
            s: 1,
            l: 1,
            g: 1,
            ..kvm_segment::default()
        };
        let data = kvm_segment { selector: 2 << 3, type_: 3, l: 0, db: 1, ..code };
        sregs.cs = code;
        for segment in [&mut sregs.ds, &mut sregs.es, &mut sregs.fs, &mut sregs.gs, &mut sregs.ss] {
            *segment = data;
        }
    }

    /// The byte that the guest says at its end.
    fn run(vcpu: &mut VcpuFd) -> Result<u8, Fault> {
        let failed = |what: String| Err(Fault::new(what, UNUSABLE_HINT));
        match vcpu.run() {
            Ok(VcpuExit::IoOut(PORT, [byte])) => Ok(*byte),
            Ok(VcpuExit::InternalError) => failed("the kernel cannot emulate an instruction of the guest".to_owned()),
            Ok(other) => failed(format!("guest code ended early ({other:?})")),
            Err(error) if error.errno() == libc::EINTR => {
                failed(format!("guest code was not done after {} ms; hardware needs about one", GIVE_UP.as_millis()))
            }
            Err(error) => failed(format!("running guest code: {error}")),
        }
    }

    extern "C" fn ignore(_: libc::c_int) {}

    /// A signal that does nothing but end the running of the guest.
    fn interrupt_after(limit: Duration) -> std::io::Result<()> {
        let timer = libc::itimerval {
            it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 },
            // The types of both differ between C libraries.
            it_value: libc::timeval { tv_sec: limit.as_secs() as _, tv_usec: limit.subsec_micros() as _ },
        };
        // SAFETY: the handler touches nothing, both structures are initialised and outlive the calls; without
        // SA_RESTART the signal makes the blocked call return.
        let set = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = ignore as *const () as usize;
            libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut()) == 0
                && libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) == 0
        };
        if set { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }
}
