//! Git repositories in the folders that a sandbox is shown. A hidden file looks deleted (or empty, in a live folder) to
//! git inside, and an ordinary `git add -A` would record that. So git is told to look past such files, and what a
//! sandbox committed is checked before it reaches the user's repository.

pub mod carried;
pub mod config;
pub mod directories;
pub mod linked;
pub mod live;
pub mod masked;
pub mod objects;
mod unfinished;
pub mod work_trees;
