//! `base64`: bytes as letters and back.

use std::sync::Arc;

use ::base64::{
    Engine as _,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use serde_json::Value;
use toolscript_luau::{HostError, HostModule, library::Documented};

use super::{
    Host, Module,
    arguments::{Arguments, value_of},
};

pub(super) const HOST: Host = Host {
    name: "base64",
    about: "Bytes as letters",
    definitions: include_str!("base64.d.luau"),
    functions: &[
        Documented {
            path: "base64.encode",
            signature: "base64.encode(data: string | buffer): string",
            summary: "Writes text or bytes in base64",
            description: "The standard alphabet, with padding.",
        },
        Documented {
            path: "base64.decode",
            signature: "base64.decode(text: string): string | buffer",
            summary: "Reads base64",
            description: "Gives text where the bytes are text, else a buffer. Takes the standard \
                          and the URL alphabet, with and without padding.",
        },
    ],
};

/// Padding may be there or not.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &::base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) fn module() -> Arc<dyn HostModule> {
    Module::new("base64")
        .function("encode", |call| {
            let arguments = Arguments {
                usage: "base64.encode(data)",
                values: &call.arguments,
            };
            Ok(Value::String(STANDARD.encode(arguments.bytes(0)?)))
        })
        .function("decode", |call| {
            let arguments = Arguments {
                usage: "base64.decode(text)",
                values: &call.arguments,
            };
            let text = arguments
                .text(0)?
                .trim()
                .replace('-', "+")
                .replace('_', "/");
            let bytes = LENIENT.decode(text);
            let bytes = bytes
                .map_err(|error| HostError::invalid(format!("this is not base64: {error}")))?;
            Ok(value_of(bytes))
        })
        .done()
}
