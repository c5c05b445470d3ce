import { generated, pascal, withChoices } from "./model.mjs";

export const rust = { "sdk/rust/src/error_code.rs": errorCodes, "sdk/rust/src/records.rs": records };

function errorCodes({ errors }) {
  const all = (line) => errors.map(line).join("");
  const retryable = errors.filter((error) => error.retryable).map(({ code }) => `Self::${pascal(code)}`);
  return `//! ${generated}

/// Every code that an error of the server can have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorCode {
${all(({ code, summary }) => `    /// ${summary}\n    ${pascal(code)},\n`)}    /// One that this version does not know.
    Other(String),
}

impl ErrorCode {
    pub fn as_str(&self) -> &str {
        match self {
${all(({ code }) => `            Self::${pascal(code)} => "${code}",\n`)}            Self::Other(code) => code,
        }
    }

    /// Whether the same call may work later.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            ${retryable.join("\n                | ")}
        )
    }
}

impl From<&str> for ErrorCode {
    fn from(code: &str) -> Self {
        match code {
${all(({ code }) => `            "${code}" => Self::${pascal(code)},\n`)}            other => Self::Other(other.to_owned()),
        }
    }
}
`;
}

function records({ options, results }) {
  const text = [...options.map(optionRecord), ...results.map(resultRecord)].join("\n");
  return `//! ${generated}

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::input::Input;
use crate::network::Network;

${text}`;
}

function optionRecord({ name, about, fields }) {
  const lines = fields.map(({ wire, about: help, type }) => {
    const attribute = type.kind === "stdin" ? "flatten" : 'skip_serializing_if = "Option::is_none"';
    return `    /// ${withChoices(help, type)}\n    #[serde(${attribute})]\n    pub ${fieldName(wire)}: Option<${typeText(type)}>,\n`;
  });
  return `${heading(about)}#[derive(Clone, Debug, Default, Deserialize, Serialize)]\n#[serde(default)]\npub struct ${name} {\n${lines.join("")}}\n`;
}

function resultRecord({ name, about, fields }) {
  const lines = fields.map(({ wire, about: help, type, isNullable }) => {
    const text = isNullable ? `Option<${typeText(type)}>` : typeText(type);
    const rename = fieldName(wire) === wire ? "" : `    #[serde(rename = "${wire}")]\n`;
    return `    /// ${withChoices(help, type)}\n${rename}    pub ${fieldName(wire)}: ${text},\n`;
  });
  return `${heading(about)}#[derive(Clone, Debug, Deserialize, Serialize)]\n#[non_exhaustive]\npub struct ${name} {\n${lines.join("")}}\n`;
}

function heading(about) {
  return about === null ? "" : `/// ${about}\n`;
}

function fieldName(wire) {
  return wire === "type" ? "kind" : wire;
}

function typeText(type) {
  switch (type.kind) {
    case "text":
    case "choice":
      return "String";
    case "whole":
      return "i64";
    case "number":
      return "f64";
    case "flag":
      return "bool";
    case "network":
      return "Network";
    case "stdin":
      return "Input";
    case "record":
      return type.name;
    case "list":
      return `Vec<${typeText(type.of)}>`;
    case "map":
      return `BTreeMap<String, ${typeText(type.of)}>`;
    default:
      throw new Error(type.kind);
  }
}
