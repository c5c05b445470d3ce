#!/bin/sh
# Cargo's RUSTC_WRAPPER (compile-native.sh): compiles without a trace of where the checkout lies, and what build scripts
# of dependencies generate below it. As part of the flags it would make every dependency, the WebAssembly engine among
# them, be compiled anew for each checkout.
compiler=$1
shift
exec "$compiler" "$@" "--remap-path-prefix=$AGENTKERNEL_CHECKOUT=/agentkernel"
