//! What a command reads on its standard input: any bytes, though JSON is text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input(Vec<u8>);

impl<T: Into<Vec<u8>>> From<T> for Input {
    fn from(content: T) -> Self {
        Self(content.into())
    }
}

/// As fields of the request that it is a part of.
impl Serialize for Input {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.collect_map([("stdin", text)]),
            Err(_) => serializer.collect_map([
                ("stdin", STANDARD.encode(&self.0).as_str()),
                ("stdin_encoding", "base64"),
            ]),
        }
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            stdin: String,
            stdin_encoding: Option<String>,
        }
        let wire = Wire::deserialize(deserializer)?;
        match wire.stdin_encoding.as_deref() {
            Some("base64") => STANDARD
                .decode(wire.stdin)
                .map(Self)
                .map_err(D::Error::custom),
            _ => Ok(Self(wire.stdin.into_bytes())),
        }
    }
}
