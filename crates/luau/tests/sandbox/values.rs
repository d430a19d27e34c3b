//! Any JSON value goes through Luau and comes back as it was; any Luau value gives JSON or a
//! clear error.

use std::sync::Arc;

use async_trait::async_trait;
use proptest::{collection, prelude::*, test_runner::TestRunner};
use serde_json::{Map, Number, Value, json};
use toolscript_catalog::{Call, CallError, Caller, Reply};
use toolscript_luau::{Limits, Outcome, Run, Runtime, ScriptResult};

use crate::fake::{self, Zoo};

/// Runs scripts one after the other, from a test that is not asynchronous.
struct Bench {
    tokio: tokio::runtime::Runtime,
    runtime: Runtime,
}

impl Bench {
    fn new() -> Self {
        let tokio = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        Self {
            tokio,
            runtime: Runtime::default(),
        }
    }

    fn run(&self, script: &str, caller: Arc<dyn Caller>) -> Outcome {
        let limits = Limits {
            max_inline_bytes: usize::MAX,
            timeout_ms: 60_000,
            ..Limits::default()
        };
        let run = Run {
            limits,
            ..Run::new(script, fake::catalog(), caller)
        };
        self.tokio.block_on(self.runtime.run(run))
    }

    fn value(&self, script: &str, caller: Arc<dyn Caller>) -> Value {
        match self.run(script, caller).result {
            Ok(ScriptResult::Value(value)) => value,
            other => panic!("{script}: {other:?}"),
        }
    }
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1000_i64..1000).prop_map(Value::from),
        prop::sample::select(vec![
            1_i64 << 53,
            (1 << 53) + 1,
            -(1 << 53) - 1,
            i64::MAX,
            i64::MIN
        ])
        .prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |number| Number::from_f64(number).map(Value::from)),
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        any::<String>().prop_map(Value::from),
        Just(json!({"$base64": "AAH/"})),
        Just(json!({"$base64": "not base64"})),
    ];
    leaf.prop_recursive(6, 60, 8, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
            collection::vec((key(), inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Keys of every kind, those that could mean something to Luau or to the bridge among them.
fn key() -> impl Strategy<Value = String> {
    let odd = [
        "",
        "1",
        "-1",
        "1.5",
        "true",
        "nil",
        "__index",
        "__metatable",
        "$base64",
        "\0",
        "a\0b",
        "\u{feff}",
        "end",
    ];
    prop_oneof![
        any::<String>(),
        "[a-z0-9]{0,3}",
        prop::sample::select(odd.map(str::to_owned).to_vec()),
    ]
}

/// A value far down, in lists (`None`) and fields.
fn deep_value() -> impl Strategy<Value = Value> {
    let around = collection::vec(prop::option::of(key()), 0..85);
    (json_value(), around).prop_map(|(value, around)| {
        around.into_iter().fold(value, |inner, key| match key {
            None => Value::Array(vec![inner]),
            Some(key) => Value::Object(Map::from_iter([(key, inner)])),
        })
    })
}

/// What the documented rules leave of a value: null fields are left out, and a number is its
/// value, whether it was written as 2 or as 2.0.
fn by_the_rules(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(by_the_rules).collect()),
        Value::Object(fields) => {
            let present = fields.iter().filter(|(_, field)| !field.is_null());
            Value::Object(
                present
                    .map(|(key, field)| (key.clone(), by_the_rules(field)))
                    .collect::<Map<_, _>>(),
            )
        }
        Value::Number(number) => whole(number).map_or_else(|| value.clone(), Value::from),
        other => other.clone(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "it is compared afterwards"
)]
fn whole(number: &Number) -> Option<i64> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    let cast = float as i64;
    (cast as f64 == float && cast < i64::MAX && (cast != 0 || float.is_sign_positive()))
        .then_some(cast)
}

/// Answers every call with the body it came with, or else with the value it was made with.
struct Given(Value);

#[async_trait]
impl Caller for Given {
    async fn call(&self, call: Call) -> Result<Reply, CallError> {
        Ok(Reply::value(call.body.unwrap_or_else(|| self.0.clone())))
    }
}

#[test]
fn json_survives_the_round_trip() {
    let bench = Bench::new();
    let mut runner = TestRunner::new(ProptestConfig::with_cases(500));
    let script = r"
        local value = pets.ping()
        return { value = value, echo = pets.echo(value), text = json.decode(json.encode(value)) }
    ";
    let check = |value: Value| {
        let expected = by_the_rules(&value);
        let back = bench.value(script, Arc::new(Given(value)));
        for way in ["value", "echo", "text"] {
            let came = back.get(way).unwrap_or(&Value::Null);
            // Without a body the caller answers with the value itself, which is as good.
            prop_assert_eq!(&by_the_rules(came), &expected, "by {}", way);
        }
        Ok(())
    };
    runner
        .run(&prop_oneof![3 => json_value(), 1 => deep_value()], check)
        .unwrap();
}

/// Luau expressions of every kind, sensible or not.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("nil".to_owned()),
        Just("true".to_owned()),
        Just("0/0".to_owned()),
        Just("-math.huge".to_owned()),
        Just("json.null".to_owned()),
        Just("json.array()".to_owned()),
        Just("json.decode('9007199254740993')".to_owned()),
        Just("print".to_owned()),
        Just("sdk".to_owned()),
        Just("pets.ping".to_owned()),
        Just("coroutine.create(print)".to_owned()),
        Just("buffer.fromstring('ab')".to_owned()),
        Just("'\\255'".to_owned()),
        Just("select(2, pcall(error, {}))".to_owned()),
        Just("select(2, pcall(pets.fail))".to_owned()),
        Just("result".to_owned()),
        prop::sample::select(vec!["-0", "2^53", "-2^63", "2^63", "1.5e300"])
            .prop_map(str::to_owned),
        any::<i32>().prop_map(|number| number.to_string()),
        "[a-z]{0,5}".prop_map(|text| format!("\"{text}\"")),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let key = prop_oneof![
            Just(String::new()),
            Just("a = ".to_owned()),
            Just("['b c'] = ".to_owned()),
            Just("[3] = ".to_owned()),
            Just("[1.5] = ".to_owned()),
            Just("[true] = ".to_owned()),
            Just("[json.decode('9007199254740993')] = ".to_owned()),
        ];
        let fields = collection::vec((key, inner), 0..6);
        (
            fields,
            prop::sample::select(vec![
                "{}",
                "json.array({})",
                "json.object({})",
                "table.freeze({})",
            ]),
        )
            .prop_map(|(fields, form)| {
                let fields: Vec<String> = fields
                    .into_iter()
                    .map(|(key, value)| key + &value)
                    .collect();
                form.replace("{}", &format!("{{ {} }}", fields.join(", ")))
            })
    })
}

#[test]
fn any_luau_value_gives_json_or_a_clear_error() {
    let bench = Bench::new();
    let mut runner = TestRunner::new(ProptestConfig::with_cases(600));
    let check = |expression: String| {
        let outcome = bench.run(&format!("return {expression}"), Zoo::new());
        match outcome.result {
            Ok(_) => {}
            Err(error) => {
                let clear = ["`result", "frozen table", "cannot be marked"];
                prop_assert!(
                    clear.iter().any(|words| error.message.contains(words)),
                    "{expression}: {error:?}"
                );
            }
        }
        Ok(())
    };
    runner.run(&expression(), check).unwrap();
}

/// Plain values are read another way than those with something special in them.
#[test]
fn a_value_is_the_same_whatever_stands_beside_it() {
    let bench = Bench::new();
    let mut runner = TestRunner::new(ProptestConfig::with_cases(600));
    let check = |expression: String| {
        let alone = bench.run(&format!("return {{ v = {expression} }}"), Zoo::new());
        let beside = format!("return {{ v = {expression}, w = buffer.create(0) }}");
        let beside = bench.run(&beside, Zoo::new());
        match (alone.result, beside.result) {
            (Ok(ScriptResult::Value(alone)), Ok(ScriptResult::Value(beside))) => {
                let (alone, beside) = (alone.get("v"), beside.get("v"));
                prop_assert_eq!(alone, beside);
                // Equal numbers may still be written differently.
                prop_assert_eq!(format!("{alone:?}"), format!("{beside:?}"));
            }
            // Which of several faults is found first is an accident of the order of a table.
            (Err(_), Err(_)) => {}
            other => prop_assert!(false, "{expression}: {other:?}"),
        }
        Ok(())
    };
    runner.run(&expression(), check).unwrap();
}
