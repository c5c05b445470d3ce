//! What tests want of the double beyond what Firecracker does by itself: a record of its requests, failures at a request
//! of their choice, a guest. A request is named as `PUT /vsock`. Wishes are lines `NAME=value` in a file beside the
//! program, since who starts it gives it no environment.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::Write,
    process::exit,
    sync::{Mutex, PoisonError},
    thread,
};

use crate::{
    guest::Script,
    http::{Connection, Request},
    schema::{Answer, Refusal},
};

pub struct Mischief {
    record: Option<Mutex<File>>,
    dies_at: Option<String>,
    hangs_at: Option<String>,
    refuses: Option<String>,
    garbles_at: Option<String>,
    lacks: Option<String>,
    floods: bool,
    guest: Script,
}

impl Mischief {
    /// `program` is the path that it was started by.
    pub fn beside(program: &str) -> Self {
        let text = fs::read_to_string(format!("{program}.wishes")).unwrap_or_default();
        let wishes: HashMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .collect();
        let named = |name: &str| wishes.get(name).map(|value| (*value).to_owned());
        let record = named("RECORD").map(|path| {
            let file = File::options()
                .create(true)
                .append(true)
                .open(path)
                .expect("the record's file");
            Mutex::new(file)
        });
        let hangs_up = named("HANGS_UP").map_or(0, |count| count.parse().expect("a number"));
        Self {
            record,
            dies_at: named("DIES_AT"),
            hangs_at: named("HANGS_AT"),
            refuses: named("REFUSES"),
            garbles_at: named("GARBLES_AT"),
            lacks: named("LACKS"),
            floods: named("FLOODS").is_some(),
            guest: Script {
                program: named("GUEST"),
                hangs_up,
            },
        }
    }

    pub fn guest(&self) -> Script {
        self.guest.clone()
    }

    pub fn at_start(&self, id: &str) {
        self.write(&format!("start {id}"));
        if self.dies_at.as_deref() == Some("start") {
            eprintln!("double: dies before it listens");
            exit(148);
        }
    }

    pub fn note(&self, request: &Result<Request, Refusal>) {
        match request {
            Ok(request) => self.write(&format!(
                "{} {}",
                name(request),
                String::from_utf8_lossy(&request.body)
            )),
            Err(refusal) => self.write(&format!("unreadable: {}", refusal.message)),
        }
    }

    /// Was something said to it already?
    pub fn answers(&self, request: &Result<Request, Refusal>, connection: &mut Connection) -> bool {
        let Ok(request) = request else { return false };
        let name = name(request);
        let is_at = |place: &Option<String>| place.as_deref() == Some(&name);
        if is_at(&self.dies_at) {
            eprintln!("double: dies at {name}");
            exit(148);
        }
        if is_at(&self.hangs_at) {
            loop {
                thread::park();
            }
        }
        if is_at(&self.garbles_at) {
            connection.say(b"SSH-2.0-no-such-thing\r\n\r\n");
            return true;
        }
        if let Some(field) = &self.lacks
            && String::from_utf8_lossy(&request.body).contains(&format!("\"{field}\""))
        {
            let why = format!(
                "unknown field `{field}`, expected one of `vcpu_count`, `mem_size_mib` at line 1 column 20"
            );
            connection.answer(&Answer::Refused(Refusal::unreadable(&why)));
            return true;
        }
        if self.floods && name == "PUT /actions" {
            thread::spawn(|| {
                loop {
                    println!("{}", "all work and no play".repeat(50));
                }
            });
        }
        if is_at(&self.refuses) {
            connection.answer(&Answer::Refused(Refusal::bad("as the test wants it")));
            return true;
        }
        false
    }

    fn write(&self, line: &str) {
        if let Some(record) = &self.record {
            let mut file = record.lock().unwrap_or_else(PoisonError::into_inner);
            writeln!(file, "{line}").expect("the record can be written");
        }
    }
}

fn name(request: &Request) -> String {
    format!("{} {}", request.method, request.path)
}
