//! Files of /etc that speak of the machine that a sandbox is, in every root.

use crate::spec::{Network, Spec};

/// None where the sandbox gets its name when it is taken; gVisor must not see files appear that it has looked for.
pub fn at_the_start(spec: &Spec) -> impl Iterator<Item = (&'static str, String)> {
    let is_named_later = spec.warm && spec.gvisor.is_none();
    of_the_machine(&spec.hostname, spec.network).into_iter().filter(move |_| !is_named_later)
}

pub fn of_the_machine(name: &str, network: Network) -> [(&'static str, String); 3] {
    [
        ("hostname", format!("{name}\n")),
        ("hosts", format!("127.0.0.1\tlocalhost {name}\n::1\tlocalhost ip6-localhost ip6-loopback {name}\n")),
        ("resolv.conf", resolvers(network).to_owned()),
    ]
}

/// The guest's stub answers at loopback.
fn resolvers(network: Network) -> &'static str {
    match network {
        // Nothing answers: names are the proxy's business.
        Network::None | Network::Proxied => "",
        Network::Captured => "nameserver 127.0.0.1\n",
    }
}
