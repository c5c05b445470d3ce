//! What builds walls around a process. `ak-jail` uses all of it for a sandbox; `ak-unpack` uses the namespaces, ids and
//! filters for a jail of its own around the unpacking of images.

pub mod carry;
pub mod cgroup;
pub mod channel;
pub mod child;
pub mod claim;
pub mod control;
mod cpu_time;
mod disk_image;
pub mod etc_files;
pub mod fault;
pub mod filesystems;
pub mod foresight;
pub mod git;
pub mod gvisor;
pub mod hide_rules;
pub mod host_etc;
pub mod host_image;
pub mod host_programs;
pub mod identity;
pub mod image_root;
pub mod keep;
pub mod launcher;
pub mod layers;
pub mod monitor;
pub mod own_limits;
pub mod own_path;
pub mod place;
pub mod sandbox;
pub mod spec;
pub mod supervisor;
pub mod sys;
pub mod taking;
pub mod trust;
pub mod upper;
pub mod view;
pub mod walls;
