//! A configuration file as JSON that remembers the line of every key.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

use super::ConfigError;

/// A file that has been parsed, with its variables filled in.
pub(super) struct File {
    pub(super) value: Map<String, Value>,
    pub(super) lines: Lines,
}

/// The line of each key of a file, by its dotted path.
#[derive(Debug, Default)]
pub(super) struct Lines {
    path: PathBuf,
    lines: HashMap<String, usize>,
}

/// Where environment variables come from.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

impl File {
    /// Parses the text and fills in `${VAR}`.
    pub(super) fn parse(
        path: &Path,
        text: &str,
        environment: Environment<'_>,
    ) -> Result<Self, ConfigError> {
        let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            place: place(
                path,
                error.span().map_or(1, |span| line_at(text, span.start)),
            ),
            problem: error.message().trim().to_owned(),
        })?;
        let mut lines = Lines {
            path: path.to_owned(),
            lines: HashMap::new(),
        };
        let value = lines.table(text, "", table.get_ref(), environment)?;
        Ok(Self { value, lines })
    }
}

impl Lines {
    /// `file:line` of a key, or of the nearest key around it.
    pub(super) fn place(&self, key: &str) -> String {
        let mut key = key;
        loop {
            if let Some(line) = self.lines.get(key) {
                return place(&self.path, *line);
            }
            match key.rsplit_once('.') {
                Some((around, _)) => key = around,
                None => return self.path.display().to_string(),
            }
        }
    }

    fn table(
        &mut self,
        text: &str,
        prefix: &str,
        table: &DeTable<'_>,
        environment: Environment<'_>,
    ) -> Result<Map<String, Value>, ConfigError> {
        let mut object = Map::new();
        for (name, value) in table {
            let key = if prefix.is_empty() {
                name.get_ref().to_string()
            } else {
                format!("{prefix}.{}", name.get_ref())
            };
            self.lines
                .insert(key.clone(), line_at(text, name.span().start));
            let value = self.value(text, &key, value.get_ref(), environment)?;
            object.insert(name.get_ref().to_string(), value);
        }
        Ok(object)
    }

    fn value(
        &mut self,
        text: &str,
        key: &str,
        value: &DeValue<'_>,
        environment: Environment<'_>,
    ) -> Result<Value, ConfigError> {
        Ok(match value {
            DeValue::String(string) => Value::String(self.expand(key, string, environment)?),
            DeValue::Boolean(flag) => Value::Bool(*flag),
            DeValue::Datetime(time) => Value::String(time.to_string()),
            DeValue::Integer(number) => {
                let parsed = i64::from_str_radix(number.as_str(), number.radix());
                Value::from(parsed.map_err(|_| self.problem(key, "is too large a number"))?)
            }
            DeValue::Float(number) => {
                let parsed = number.as_str().parse().ok().and_then(Number::from_f64);
                Value::Number(parsed.ok_or_else(|| self.problem(key, "is not a finite number"))?)
            }
            DeValue::Array(items) => {
                let mut array = Vec::with_capacity(items.len());
                for item in items {
                    array.push(self.value(text, key, item.get_ref(), environment)?);
                }
                Value::Array(array)
            }
            DeValue::Table(table) => Value::Object(self.table(text, key, table, environment)?),
        })
    }

    fn problem(&self, key: &str, problem: &str) -> ConfigError {
        ConfigError::Key {
            place: self.place(key),
            key: key.to_owned(),
            problem: problem.to_owned(),
        }
    }

    /// `${VAR}` and `${VAR:-default}`; `$${` stands for `${` itself.
    fn expand(
        &self,
        key: &str,
        text: &str,
        environment: Environment<'_>,
    ) -> Result<String, ConfigError> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                out.push_str(&rest[..at - 1]);
                out.push_str("${");
                rest = &rest[at + 2..];
                continue;
            }
            out.push_str(&rest[..at]);
            let Some(length) = rest[at..].find('}') else {
                return Err(self.problem(key, "has `${` without a closing `}`"));
            };
            let inner = &rest[at + 2..at + length];
            let (variable, default) = match inner.split_once(":-") {
                Some((variable, default)) => (variable, Some(default)),
                None => (inner, None),
            };
            match environment(variable).or_else(|| default.map(str::to_owned)) {
                Some(value) => out.push_str(&value),
                None => {
                    return Err(ConfigError::Unset {
                        place: self.place(key),
                        key: key.to_owned(),
                        variable: variable.to_owned(),
                    });
                }
            }
            rest = &rest[at + length + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }
}

fn place(path: &Path, line: usize) -> String {
    format!("{}:{line}", path.display())
}

fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes()
        .iter()
        .take(offset)
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}
