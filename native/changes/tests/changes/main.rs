//! The program itself, on layers made by hand.

mod apply;
mod harness;
mod list;
mod patch;
