import { generated, pascal } from "./model.mjs";

export const python = {
  "sdk/python/agentkernel/_error_codes.py": errorCodes,
  "sdk/python/agentkernel/_options.py": optionsFile,
  "sdk/python/agentkernel/_results.py": resultsFile,
};

function errorCodes({ errors }) {
  const names = errors.map(({ code }) => `${pascal(code).replace(/Error$/, "")}Error`);
  const classes = errors.map(
    ({ code, retryable, summary }, index) =>
      `\n\nclass ${names[index]}(ApiError):\n    """${summary}"""\n\n    retryable = ${retryable ? "True" : "False"}\n    _code = "${code}"\n`,
  );
  return `"""${generated}"""

from typing import Final

from ._errors import ApiError

__all__ = [
${[...names, "error_classes"]
  .sort()
  .map((name) => `    "${name}",\n`)
  .join("")}]
${classes.join("")}

error_classes: Final[dict[str, type[ApiError]]] = {
${errors.map(({ code }, index) => `    "${code}": ${names[index]},\n`).join("")}}
"""Code of an error → its class."""
`;
}

function optionsFile({ options }) {
  const text = options.map(
    ({ name, about, fields }) =>
      `\n\nclass ${name}(TypedDict, total=False):\n${about === null ? "" : `    """${about}"""\n\n`}${fields
        .map(({ wire, about: help, type }) => `    ${wire}: ${typeText(type)}\n    """${help}"""\n`)
        .join("")}`,
  );
  return `"""${generated}"""

from typing import Literal, TypedDict

from ._network import Network
${text.join("")}`;
}

function resultsFile({ results }) {
  const text = results.map(
    ({ name, about, fields }) =>
      `\n\n@dataclass(frozen=True, slots=True)\nclass ${name}:\n${about === null ? "" : `    """${about}"""\n\n`}${fields
        .map(
          ({ wire, about: help, type, isNullable }) =>
            `    ${wire}: ${typeText(type)}${isNullable ? " | None" : ""}\n    """${help}"""\n`,
        )
        .join("")}`,
  );
  return `"""${generated}"""

from dataclasses import dataclass
from typing import Literal

__all__ = [
${results
  .map(({ name }) => `    "${name}",\n`)
  .sort()
  .join("")}]
${text.join("")}`;
}

function typeText(type) {
  switch (type.kind) {
    case "text":
      return "str";
    case "whole":
      return "int";
    case "number":
      return "float";
    case "flag":
      return "bool";
    case "network":
      return "Network";
    case "stdin":
      return "str | bytes";
    case "choice":
      return `Literal[${type.values.map((value) => JSON.stringify(value)).join(", ")}]`;
    case "record":
      return type.name;
    case "list":
      return `list[${typeText(type.of)}]`;
    case "map":
      return `dict[str, ${typeText(type.of)}]`;
    default:
      throw new Error(type.kind);
  }
}
