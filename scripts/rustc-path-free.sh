#!/bin/sh
# Cargo's RUSTC_WORKSPACE_WRAPPER (compile-native.sh): compiles crates of this workspace without a trace of where the
# checkout lies. Only these get the flag: as part of everyone's flags, it would make every dependency, the WebAssembly
# engine among them, be compiled anew for each checkout.
compiler=$1
shift
exec "$compiler" "$@" "--remap-path-prefix=$AGENTKERNEL_CHECKOUT=/agentkernel"
