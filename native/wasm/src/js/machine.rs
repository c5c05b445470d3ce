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
    /// Of the engine's own; 0 is none.
    pub value: i32,
    /// The value is what was thrown.
    pub is_exception: bool,
}

impl<'a> Machine<'a> {
    pub async fn start(store: &'a mut Store<State>, instance: &'a Instance) -> Result<Self> {
        let memory = instance.get_memory(&mut *store, "memory").ok_or_else(|| Error::msg("it exports no memory"))?;
        let mut machine = Self { store, instance, memory };
        machine.call::<(), ()>("_initialize", ()).await?;
        if machine.call::<(), i32>("qjs_init", ()).await? != 0 {
            return Err(Error::msg("the engine could not be started"));
        }
        Ok(machine)
    }

    async fn call<P: WasmParams + Sync, R: WasmResults + Sync>(&mut self, name: &str, values: P) -> Result<R> {
        let function = self.instance.get_typed_func::<P, R>(&mut *self.store, name)?;
        function.call_async(&mut *self.store, values).await
    }

    /// A text with a NUL behind it, in the engine's memory.
    async fn text(&mut self, text: &str) -> Result<(i32, i32)> {
        let length = i32::try_from(text.len())?;
        let place: i32 = self.call("wasm_malloc", length + 1).await?;
        if place == 0 {
            return Err(Error::msg("the program does not fit into its memory"));
        }
        let at = place as u32 as usize;
        self.memory.write(&mut *self.store, at, text.as_bytes())?;
        self.memory.write(&mut *self.store, at + text.len(), &[0])?;
        Ok((place, length))
    }

    pub async fn eval_value(&mut self, code: &str, file: &str, flags: i32) -> Result<Evaluated> {
        let (code, length) = self.text(code).await?;
        let (file, _) = self.text(file).await?;
        let value: i32 = self.call("qjs_eval", (code, length, file, flags)).await?;
        self.call::<i32, ()>("wasm_free", code).await?;
        self.call::<i32, ()>("wasm_free", file).await?;
        if self.call::<i32, i32>("qjs_is_exception", value).await? == 0 {
            return Ok(Evaluated { value, is_exception: false });
        }
        Ok(Evaluated { value: self.call("qjs_get_exception", ()).await?, is_exception: true })
    }

    /// For our own code, which throws nothing.
    pub async fn eval(&mut self, code: &str, file: &str, flags: i32) -> Result<()> {
        if self.eval_value(code, file, flags).await?.is_exception {
            return Err(Error::msg("the program has taken away what its run needs"));
        }
        Ok(())
    }

    pub async fn eval_number(&mut self, code: &str) -> Result<f64> {
        let outcome = self.eval_value(code, OWN, 0).await?;
        if outcome.is_exception {
            return Err(Error::msg("the program has taken away what its run needs"));
        }
        let number: f64 = self.call("qjs_get_float64", outcome.value).await?;
        self.call::<i32, ()>("qjs_free_value", outcome.value).await?;
        Ok(number)
    }

    pub async fn define_host_function(&mut self, name: &str, global: &str) -> Result<()> {
        let (place, length) = self.text(name).await?;
        let function: i32 = self.call("qjs_new_host_function", (place, length, 0)).await?;
        self.call::<i32, ()>("wasm_free", place).await?;
        self.set_global(global, function).await
    }

    pub async fn set_global(&mut self, name: &str, value: i32) -> Result<()> {
        let global: i32 = self.call("qjs_get_global", ()).await?;
        let (name, _) = self.text(name).await?;
        self.call::<(i32, i32, i32), i32>("qjs_set_prop_string", (global, name, value)).await?;
        self.call::<i32, ()>("wasm_free", name).await
    }

    pub async fn has_jobs(&mut self) -> Result<bool> {
        Ok(self.call::<(), i32>("qjs_is_job_pending", ()).await? != 0)
    }

    /// What a job throws is its promise's matter.
    pub async fn run_jobs(&mut self) -> Result<()> {
        while self.has_jobs().await? {
            self.call::<(), i32>("qjs_execute_pending_job", ()).await?;
        }
        Ok(())
    }
}
