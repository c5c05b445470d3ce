//! What a sandbox can reach.

use serde::{Deserialize, Serialize, Serializer};

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Wire")]
pub enum Network {
    /// Everything public.
    On,
    Off,
    /// What the allowlist of a policy names.
    Allowlist,
    /// Only these; `*.example.com` stands for subdomains.
    Domains(Vec<String>),
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::On => serializer.serialize_str("on"),
            Self::Off => serializer.serialize_str("off"),
            Self::Allowlist => serializer.serialize_str("allowlist"),
            Self::Domains(domains) => {
                serializer.collect_map([("allowed_domains", domains.as_slice())])
            }
        }
    }
}

/// Every form that the API takes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Wire {
    Flag(bool),
    Mode(Mode),
    Rules { allowed_domains: Vec<String> },
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    On,
    Off,
    Allowlist,
}

impl From<Wire> for Network {
    fn from(wire: Wire) -> Self {
        match wire {
            Wire::Flag(true) | Wire::Mode(Mode::On) => Self::On,
            Wire::Flag(false) | Wire::Mode(Mode::Off) => Self::Off,
            Wire::Mode(Mode::Allowlist) => Self::Allowlist,
            Wire::Rules { allowed_domains } => Self::Domains(allowed_domains),
        }
    }
}
