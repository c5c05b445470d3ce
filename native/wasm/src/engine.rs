//! The engine's settings. Compiling and running use the same ones; otherwise a compiled module is refused.

use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Result, WasmBacktraceDetails};

/// How deep a module's own calls may go.
const STACK_BYTES: usize = 1 << 20;
pub const MAX_TABLE_ELEMENTS: usize = 200_000;
const MAX_TABLES: u32 = 8;
const MAX_MEMORIES: u32 = 4;
/// The part of a memory that is cleared by writing zeros, so that the next instance finds its pages in place.
const KEPT_RESIDENT_BYTES: usize = 256 << 10;

fn settings() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true).max_wasm_stack(STACK_BYTES).wasm_backtrace_details(WasmBacktraceDetails::Disable);
    config
}

pub fn compiling() -> Result<Engine> {
    Engine::new(&settings())
}

/// One instance at a time, its memories at most this large.
pub fn running(memory_bytes: usize) -> Result<Engine> {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_core_instances(1)
        .total_memories(MAX_MEMORIES)
        .max_memories_per_module(MAX_MEMORIES)
        .total_tables(MAX_TABLES)
        .max_tables_per_module(MAX_TABLES)
        .table_elements(MAX_TABLE_ELEMENTS)
        .max_memory_size(memory_bytes)
        .max_core_instance_size(16 << 20)
        .max_unused_warm_slots(MAX_TABLES)
        .linear_memory_keep_resident(KEPT_RESIDENT_BYTES)
        .table_keep_resident(16 << 10);
    let mut config = settings();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config)
}
