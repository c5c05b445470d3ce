//! What the caller of a sandbox that waits has of its own, where everything else is as it was built: a few hundred bytes
//! instead of a whole spec.

use std::path::PathBuf;

use serde::Deserialize;

use crate::{
    fault::{Fault, Outcome},
    spec::{GitFiles, Spec},
};

/// How such a line begins; a spec's does not.
const BEGINNING: &[u8] = b"{\"take\":";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    take: Taking,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Taking {
    hostname: String,
    /// Of each view.
    sources: Vec<PathBuf>,
    trusted_certificate: Option<String>,
    #[serde(default)]
    git: Option<GitFiles>,
    #[serde(default)]
    foreseen: Option<u64>,
}

/// The spec that the line asks for, whole or as a difference from the one that the sandbox was built by.
pub fn spec_of(line: &[u8], built: &Spec) -> Outcome<Spec> {
    if !line.starts_with(BEGINNING) {
        return Spec::parse(line);
    }
    let internal = |why: String| Fault::new("internal", format!("the order to take a sandbox: {why}"));
    let Order { take } = serde_json::from_slice(line).map_err(|e| internal(e.to_string()))?;
    if take.sources.len() != built.views.len() {
        return Err(internal(format!("{} sources for {} views", take.sources.len(), built.views.len())));
    }
    let mut spec = Spec { warm: false, ..built.clone() };
    spec.hostname = take.hostname;
    spec.trusted_certificate = take.trusted_certificate;
    spec.git = take.git;
    spec.foreseen = take.foreseen;
    for (view, source) in spec.views.iter_mut().zip(take.sources) {
        view.source = source;
    }
    spec.check().map_err(internal)?;
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built() -> Spec {
        let text = br#"{"version":1,"hostname":"warm","guest":"/g","ids":"single","user":{"uid":0,"gid":0},
            "root":{"kind":"host"},"rootReadonly":false,"scratchMib":16,"tmpMib":16,"views":[{"source":"/",
            "target":"/workspace","form":"copy","readonly":false}],"hide":[{"globs":["**/.env"]}],"protect":["**/.git"],
            "capabilities":"default","seccomp":"default","landlockWritable":["/"],"limits":{"vcpus":1,
            "memoryMib":64,"pids":9,"openFiles":99},"network":"none","trustedCertificate":null,"journal":"/tmp/j",
            "warm":true}"#;
        Spec::parse(text).expect("a spec")
    }

    fn taken(line: &str) -> Outcome<Spec> {
        spec_of(line.as_bytes(), &built())
    }

    #[test]
    fn the_callers_own_part_is_taken_and_the_rest_is_as_built() {
        let line = r#"{"take":{"hostname":"h","sources":["/p"],"trustedCertificate":"pem","foreseen":3}}"#;
        let spec = taken(line).expect("a spec");
        assert_eq!((spec.hostname.as_str(), spec.trusted_certificate.as_deref()), ("h", Some("pem")));
        assert_eq!((spec.foreseen, spec.views[0].source.to_str()), (Some(3), Some("/p")));
        assert!(!spec.warm && spec.has_shape_of(&built()) && spec.has_rules_of(&built()));
    }

    #[test]
    fn an_order_that_does_not_fit_is_refused() {
        for line in [
            r#"{"take":{"hostname":"h","sources":[],"trustedCertificate":null}}"#,
            r#"{"take":{"hostname":"h","sources":["/p","/q"],"trustedCertificate":null}}"#,
            r#"{"take":{"hostname":"h","sources":["p"],"trustedCertificate":null}}"#,
            r#"{"take":{"hostname":"h","sources":["/p/../q"],"trustedCertificate":null}}"#,
            r#"{"take":{"hostname":"","sources":["/p"],"trustedCertificate":null}}"#,
            r#"{"take":{"hostname":"h","sources":["/p"],"trustedCertificate":null,"hide":[]}}"#,
            r#"{"take":{"hostname":"h","sources":["/p"],"trustedCertificate":null},"hide":[]}"#,
        ] {
            assert!(taken(line).is_err(), "{line}");
        }
    }
}
