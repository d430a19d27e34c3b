//! Bytes inside JSON: `{"$base64": "…"}`, the one form for files and downloads.
//!
//! A script holds them as a `buffer`; everything between the sandbox and a
//! source is JSON, and JSON has no bytes of its own.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

/// The only key of the object that stands for bytes.
pub const KEY: &str = "$base64";

/// The JSON form of some bytes.
pub fn encode(bytes: &[u8]) -> Value {
    let mut object = Map::new();
    object.insert(KEY.to_owned(), Value::String(STANDARD.encode(bytes)));
    Value::Object(object)
}

/// The bytes a JSON value stands for; `None` where it is an ordinary value.
pub fn decode(value: &Value) -> Option<Vec<u8>> {
    let object = value.as_object()?;
    if object.len() != 1 {
        return None;
    }
    STANDARD.decode(object.get(KEY)?.as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bytes_survive_the_round_trip() {
        assert_eq!(decode(&encode(&[0, 255, 7])), Some(vec![0, 255, 7]));
    }

    #[test]
    fn lookalikes_stay_ordinary_values() {
        for value in [
            json!({"$base64": "no!"}),
            json!({"$base64": "AA==", "x": 1}),
            json!("AA=="),
        ] {
            assert_eq!(decode(&value), None, "{value}");
        }
    }
}
