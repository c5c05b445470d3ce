//! The last steps: the captured network, the walls, and the guest in place of this program.

use std::{
    convert::Infallible,
    ffi::CStr,
    fs::{self, File},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use ak_jail::{
    control::{Layer, LayerState},
    fault::{During, Outcome},
    spec::Network,
    sys,
    walls::{self, Filter, Kept, Walls, Writes},
};
use ak_net::capture::{FIRST_FD, Listeners, Role};

use crate::{Message, host_channel::HostChannel, order::Order, readonly};

/// Where the engine shows it.
const PROGRAM: &str = "/.agentkernel/ak-guest";
const CAPTURE_LAYER: &str = "network capture";
/// The guest's stream, or its host socket.
const STREAM_FD: i32 = 3;

/// Before anything is given up.
pub fn open_program() -> Outcome<OwnedFd> {
    let file = File::open(PROGRAM).during("open the guest's program")?;
    sys::above_placed(file).during("keep the guest's program")
}

/// Captures the network. If that fails, the sandbox has no network, and the layer says so.
pub fn set_up_network(order: &Order, layers: &mut Vec<Layer>) -> Outcome<Option<Listeners>> {
    if order.network == Network::Captured {
        match ak_net::capture::set_up() {
            Ok(listeners) => {
                let detail = if listeners.has_ipv6() { "" } else { "the engine's containers have no IPv6" };
                layers.push(Layer::new(CAPTURE_LAYER, LayerState::Applied, detail));
                return Ok(Some(listeners));
            }
            Err(failure) => {
                let detail = format!("the sandbox has no network: {failure}; see `agentkernel doctor`");
                layers.push(Layer::new(CAPTURE_LAYER, LayerState::Absent, detail));
            }
        }
    }
    Ok(None)
}

pub fn raise_walls(order: &Order, layers: &mut Vec<Layer>) -> Outcome<()> {
    layers.push(own_ids());
    sys::close_on_exec_from(3).during("close descriptors")?;
    let filter = Filter::OfSandbox { choice: order.seccomp, is_live: order.live };
    let landlock = walls::raise(&Walls {
        capabilities: Kept::OfSandbox { choice: order.capabilities, is_live: order.live },
        user: Some(order.user),
        // The engine's container is what ends.
        dies_with_parent: false,
        writes: Writes::Required(&writable(order)),
        filter,
    })?;
    layers.extend([Layer::applied("capabilities"), Layer::applied("no new privileges")]);
    layers.extend(landlock);
    layers.push(Layer::applied("seccomp"));
    Ok(())
}

fn writable(order: &Order) -> Vec<PathBuf> {
    if order.readonly.is_empty() {
        return order.landlock_writable.clone();
    }
    readonly::without(&order.landlock_writable, &order.readonly)
}

/// Whether root in here is root on the host, by the kernel's word.
fn own_ids() -> Layer {
    const NAME: &str = "user namespace";
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let mut fields = map.split_ascii_whitespace();
    let is_hosts = fields.next() == Some("0") && fields.next() == Some("0");
    if is_hosts {
        let detail = "the engine gives containers the host's user ids: root inside has root's id, without its rights";
        return Layer::new(NAME, LayerState::Absent, detail);
    }
    Layer::applied(NAME)
}

/// Where the guest's host comes from: what lies at the number of its stream, and what behind the listeners: the output,
/// and the requests of a lazy view.
struct GuestStream<'a>(BorrowedFd<'a>, &'a [BorrowedFd<'a>]);

pub fn enter(
    host: &mut HostChannel,
    order: &Order,
    guest: OwnedFd,
    captured: Option<&Listeners>,
    layers: &[Layer],
) -> Outcome<Infallible> {
    let host_socket =
        if order.kept { Some(ak_wire::host_socket::named::bind().during("open the host socket")?) } else { None };
    let output = [host.output()];
    let streams = GuestStream(host.input(), &output);
    place(host_socket.as_ref().map_or(streams, |host_socket| GuestStream(host_socket.as_fd(), &[])), captured)?;
    // The first word of the guest may follow at once.
    host.say(&Message::Started { layers }).during("say that the guest starts")?;
    let kind = if order.kept { c"kept" } else { c"pipes" };
    start(guest, captured, &[(true, kind), (order.lingers, c"lingers")])
}

/// The guest of a virtual machine waits at this entrance until the stream to its only host, a device, is its own. The
/// requests of a lazy view come through `view`, where the machine will have one.
pub fn enter_ahead(
    entrance: BorrowedFd<'_>,
    (stream, view): (BorrowedFd<'_>, BorrowedFd<'_>),
    guest: OwnedFd,
    captured: Option<&Listeners>,
) -> Outcome<Infallible> {
    place(GuestStream(entrance, &[stream, view]), captured)?;
    start(guest, captured, &[(true, c"machine")])
}

fn start(guest: OwnedFd, captured: Option<&Listeners>, told: &[(bool, &'static CStr)]) -> Outcome<Infallible> {
    let words: Vec<&CStr> = [(true, c"ak-guest"), (captured.is_some(), c"captured")]
        .iter()
        .chain(told)
        .filter(|(is_so, _)| *is_so)
        .map(|(_, word)| *word)
        .collect();
    Err(sys::exec_fd(guest.as_fd(), &words)).during("start the guest")
}

/// 0, 1 and 2 lead nowhere; then the stream or the host socket, the listeners and, of a temporary sandbox, its output; of a
/// virtual machine's, a lazy view's requests as well.
fn place(GuestStream(stream, others): GuestStream<'_>, captured: Option<&Listeners>) -> Outcome<()> {
    let null = {
        // It may lie at a number that something is placed at, and must not close that later.
        let opened = File::options().read(true).write(true).open(Path::new("/dev/null")).during("open /dev/null")?;
        sys::above_placed(&opened).during("keep /dev/null")?
    };
    let listeners = captured.into_iter().flat_map(|all| &all.sockets);
    let listeners = listeners.map(|s| s.as_ref().map(sys::above_placed).transpose()).collect::<Result<Vec<_>, _>>();
    let listeners = listeners.during("keep the listeners")?;
    // These may lie where something is placed before them.
    let stream = sys::above_placed(stream).during("keep the stream")?;
    let others = others.iter().map(sys::above_placed).collect::<Result<Vec<_>, _>>().during("keep the stream")?;
    for number in 0..STREAM_FD {
        sys::place_fd(&null, number).during("place a descriptor")?;
    }
    for (number, listener) in (FIRST_FD..).zip(listeners) {
        if let Some(listener) = listener {
            sys::place_fd(&listener, number).during("place a listener")?;
        }
    }
    sys::place_fd(&stream, STREAM_FD).during("place the stream")?;
    for (number, other) in (FIRST_FD + Role::ALL.len() as i32..).zip(&others) {
        sys::place_fd(other, number).during("place the stream")?;
    }
    Ok(())
}
