//! The program itself, on layers made by hand.

mod apply;
mod conflict;
mod harness;
mod killed;
mod list;
mod patch;
mod receive;
mod repository;
mod review;
mod swapped;
