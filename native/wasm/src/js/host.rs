//! The functions that the engine imports. A program reaches one of them, by the name `host`: two texts in, one out.

use wasmtime::{AsContextMut, Caller, Error, Extern, Linker, Memory, Result, WasmParams, WasmResults};

use crate::call::Ties;
use crate::ending::Exit;
use crate::js::MAX_INPUT_BYTES;
use crate::kill::Killed;
use crate::loaded::State;
use crate::streams::Stopped;

type Engine<'a> = Caller<'a, State>;

pub fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    linker.func_wrap("env", "host_interrupt", || 0)?;
    linker.func_wrap("env", "host_get_timezone_offset", |_: i32, _: i32| 0)?;
    linker.func_wrap("env", "host_promise_rejection", |_: i32, _: i32, _: i32| ())?;
    // There is nothing to import from.
    linker.func_wrap("env", "host_module_normalize", |_: i32, _: i32| 0)?;
    linker.func_wrap("env", "host_module_load", |_: i32, _: i32| 0)?;
    linker.func_wrap(
        "env",
        "host_call",
        |caller: Engine<'_>, _name: i32, _name_len: i32, _this: i32, argc: i32, argv: i32| {
            host_call(caller, argc, argv)
        },
    )?;
    Ok(())
}

fn host_call(mut caller: Engine<'_>, argc: i32, argv: i32) -> Result<i32> {
    let memory = memory_of(&mut caller)?;
    let asked = argument(&mut caller, memory, argc, argv, 0)?;
    let text = argument(&mut caller, memory, argc, argv, 1)?;
    let answer = serve(&mut caller, &asked, text)?;
    let size = i32::try_from(answer.len())?;
    let place: i32 = export(&mut caller, "wasm_malloc", size + 1)?;
    if place == 0 {
        return Err(Error::msg("what was read does not fit into its memory"));
    }
    memory.write(caller.as_context_mut(), place as u32 as usize, &answer)?;
    let value: i32 = export(&mut caller, "qjs_new_string", (place, size))?;
    export::<i32, ()>(&mut caller, "wasm_free", place)?;
    Ok(value)
}

fn serve(caller: &mut Engine<'_>, asked: &[u8], text: Vec<u8>) -> Result<Vec<u8>> {
    let program = &caller.data().js;
    let Ties { stdin, stdout, stderr, kill } =
        program.ties.as_ref().ok_or_else(|| Error::msg("there is no program"))?;
    match asked {
        b"about" => return Ok(program.about.clone().into_bytes()),
        b"out" => told(stdout.write_all(&text, kill))?,
        b"err" => told(stderr.write_all(&text, kill))?,
        b"read" => {
            let all = stdin.read_all(MAX_INPUT_BYTES, kill)?;
            return all.ok_or_else(|| Error::msg("the input is larger than a program may read at once"));
        }
        b"exit" => {
            let code = String::from_utf8_lossy(&text).parse::<i32>().unwrap_or(1) as u32;
            return Err(Error::new(Exit(code)));
        }
        _ => return Err(Error::msg("the program asked for something that is not offered")),
    }
    Ok(Vec::new())
}

/// Output without a reader is discarded, and the program goes on.
fn told(written: std::result::Result<(), Stopped>) -> Result<()> {
    match written {
        Err(Stopped::Killed) => Err(Error::new(Killed)),
        Ok(()) | Err(Stopped::Unread) => Ok(()),
    }
}

fn memory_of(caller: &mut Engine<'_>) -> Result<Memory> {
    caller.get_export("memory").and_then(Extern::into_memory).ok_or_else(|| Error::msg("it exports no memory"))
}

fn export<P: WasmParams, R: WasmResults>(caller: &mut Engine<'_>, name: &str, values: P) -> Result<R> {
    let function = caller.get_export(name).and_then(Extern::into_func);
    let function = function.ok_or_else(|| Error::msg(format!("it exports no {name}")))?;
    let function = function.typed::<P, R>(caller.as_context_mut())?;
    function.call(caller.as_context_mut(), values)
}

/// The bytes of an argument's text; empty where there is none.
fn argument(caller: &mut Engine<'_>, memory: Memory, argc: i32, argv: i32, index: i32) -> Result<Vec<u8>> {
    if index >= argc {
        return Ok(Vec::new());
    }
    let value = word(caller, memory, argv.wrapping_add(index * 4))?;
    let length_at: i32 = export(caller, "wasm_malloc", 4)?;
    let text: i32 = export(caller, "qjs_get_string_len", (value, length_at))?;
    let length = word(caller, memory, length_at)? as u32 as usize;
    export::<i32, ()>(caller, "wasm_free", length_at)?;
    if text == 0 {
        return Ok(Vec::new());
    }
    let from = text as u32 as usize;
    let bytes = from.checked_add(length).and_then(|to| memory.data(&*caller).get(from..to)).map(<[u8]>::to_vec);
    export::<i32, ()>(caller, "qjs_free_cstring", text)?;
    bytes.ok_or_else(|| Error::msg("a text that lies outside of its memory"))
}

fn word(caller: &Engine<'_>, memory: Memory, at: i32) -> Result<i32> {
    let mut bytes = [0; 4];
    memory.read(caller, at as u32 as usize, &mut bytes)?;
    Ok(i32::from_le_bytes(bytes))
}
