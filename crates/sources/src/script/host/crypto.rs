//! `crypto`: hashes, for signing requests and comparing contents.

use std::{fmt::Write as _, sync::Arc};

use ring::{digest, hmac};
use serde_json::Value;
use toolscript_luau::{HostModule, library::Documented};

use super::{Host, Module, arguments::Arguments};

pub(super) const HOST: Host = Host {
    name: "crypto",
    about: "Hashes",
    definitions: include_str!("crypto.d.luau"),
    functions: &[
        Documented {
            path: "crypto.sha256",
            signature: "crypto.sha256(data: string | buffer): string",
            summary: "Gives the SHA-256 hash of text or bytes",
            description: "In hexadecimal, lower case.",
        },
        Documented {
            path: "crypto.hmac_sha256",
            signature: "crypto.hmac_sha256(key: string | buffer, data: string | buffer): string",
            summary: "Signs text or bytes with a key, by HMAC-SHA-256",
            description: "In hexadecimal, lower case. The key comes first.",
        },
    ],
};

pub(super) fn module() -> Arc<dyn HostModule> {
    Module::new("crypto")
        .function("sha256", |call| {
            let arguments = Arguments {
                usage: "crypto.sha256(data)",
                values: &call.arguments,
            };
            Ok(Value::String(sha256(&arguments.bytes(0)?)))
        })
        .function("hmac_sha256", |call| {
            let arguments = Arguments {
                usage: "crypto.hmac_sha256(key, data)",
                values: &call.arguments,
            };
            let key = hmac::Key::new(hmac::HMAC_SHA256, &arguments.bytes(0)?);
            let tag = hmac::sign(&key, &arguments.bytes(1)?);
            Ok(Value::String(hexadecimal(tag.as_ref())))
        })
        .done()
}

/// The SHA-256 hash of some bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _infallible = write!(text, "{byte:02x}");
    }
    text
}
