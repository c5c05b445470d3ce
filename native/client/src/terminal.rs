//! The user's terminal: its size, and raw mode that is always undone.

use std::sync::Mutex;

use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};

/// How it was before it was made raw. Static, since a panic has to find it too.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

pub fn window() -> Option<[u8; 4]> {
    let size = [stdout(), stderr(), stdin()]
        .into_iter()
        .find(|descriptor| isatty(descriptor))
        .and_then(|terminal| tcgetwinsize(terminal).ok())?;
    let ([a, b], [c, d]) = (size.ws_col.to_le_bytes(), size.ws_row.to_le_bytes());
    Some([a, b, c, d])
}

pub fn make_raw() {
    let Ok(mut before) = BEFORE.lock() else { return };
    let Ok(now) = tcgetattr(stdin()) else { return };
    let mut raw = now.clone();
    raw.make_raw();
    if tcsetattr(stdin(), OptionalActions::Now, &raw).is_ok() {
        before.get_or_insert(now);
    }
}

pub fn restore() {
    let Ok(mut before) = BEFORE.lock() else { return };
    if let Some(before) = before.take() {
        // A terminal that has gone away needs nothing.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
    }
}
