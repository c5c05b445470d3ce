//! The built `ak-probe`, run for real.

mod layers;
mod support;
mod traces;
