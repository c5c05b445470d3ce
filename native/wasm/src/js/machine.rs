//! The engine's exported functions, called by name.

use wasmtime::{Error, Instance, Memory, Result, Store, WasmParams, WasmResults};

use crate::js::OWN;
use crate::loaded::State;

pub struct Machine<'a> {
    pub store: &'a mut Store<State>,
    instance: &'a Instance,
    memory: Memory,
}

pub struct Evaluated {
    /// A value of the JavaScript engine; 0 is none.
    pub value: i32,
    /// The value is what was thrown.
    pub is_exception: bool,
}

impl<'a> Machine<'a> {
    pub fn start(store: &'a mut Store<State>, instance: &'a Instance) -> Result<Self> {
        let memory = instance.get_memory(&mut *store, "memory").ok_or_else(|| Error::msg("it exports no memory"))?;
        let mut machine = Self { store, instance, memory };
        machine.call::<(), ()>("_initialize", ())?;
        if machine.call::<(), i32>("qjs_init", ())? != 0 {
            return Err(Error::msg("the engine could not be started"));
        }
        Ok(machine)
    }

    fn call<P: WasmParams, R: WasmResults>(&mut self, name: &str, values: P) -> Result<R> {
        let function = self.instance.get_typed_func::<P, R>(&mut *self.store, name)?;
        function.call(&mut *self.store, values)
    }

    /// A text with a NUL behind it, in the engine's memory.
    fn text(&mut self, text: &str) -> Result<(i32, i32)> {
        let length = i32::try_from(text.len())?;
        let place: i32 = self.call("wasm_malloc", length + 1)?;
        if place == 0 {
            return Err(Error::msg("the program does not fit into its memory"));
        }
        let at = place as u32 as usize;
        self.memory.write(&mut *self.store, at, text.as_bytes())?;
        self.memory.write(&mut *self.store, at + text.len(), &[0])?;
        Ok((place, length))
    }

    pub fn eval_value(&mut self, code: &str, file: &str, flags: i32) -> Result<Evaluated> {
        let (code, length) = self.text(code)?;
        let (file, _) = self.text(file)?;
        let value: i32 = self.call("qjs_eval", (code, length, file, flags))?;
        self.call::<i32, ()>("wasm_free", code)?;
        self.call::<i32, ()>("wasm_free", file)?;
        if self.call::<i32, i32>("qjs_is_exception", value)? == 0 {
            return Ok(Evaluated { value, is_exception: false });
        }
        Ok(Evaluated { value: self.call("qjs_get_exception", ())?, is_exception: true })
    }

    /// For our own code, which throws nothing.
    pub fn eval(&mut self, code: &str, file: &str, flags: i32) -> Result<()> {
        if self.eval_value(code, file, flags)?.is_exception {
            return Err(Error::msg("the program has taken away what its run needs"));
        }
        Ok(())
    }

    pub fn eval_number(&mut self, code: &str) -> Result<f64> {
        let outcome = self.eval_value(code, OWN, 0)?;
        if outcome.is_exception {
            return Err(Error::msg("the program has taken away what its run needs"));
        }
        let number: f64 = self.call("qjs_get_float64", outcome.value)?;
        self.call::<i32, ()>("qjs_free_value", outcome.value)?;
        Ok(number)
    }

    pub fn define_host_function(&mut self, name: &str, global: &str) -> Result<()> {
        let (place, length) = self.text(name)?;
        let function: i32 = self.call("qjs_new_host_function", (place, length, 0))?;
        self.call::<i32, ()>("wasm_free", place)?;
        self.set_global(global, function)
    }

    pub fn set_global(&mut self, name: &str, value: i32) -> Result<()> {
        let global: i32 = self.call("qjs_get_global", ())?;
        let (name, _) = self.text(name)?;
        self.call::<(i32, i32, i32), i32>("qjs_set_prop_string", (global, name, value))?;
        self.call::<i32, ()>("wasm_free", name)
    }

    pub fn has_jobs(&mut self) -> Result<bool> {
        Ok(self.call::<(), i32>("qjs_is_job_pending", ())? != 0)
    }

    /// Runs pending jobs. An exception in a job rejects its promise.
    pub fn run_jobs(&mut self) -> Result<()> {
        while self.has_jobs()? {
            self.call::<(), i32>("qjs_execute_pending_job", ())?;
        }
        Ok(())
    }
}
