//! The failure of a script for a person: what happened, and the line it happened on.

use std::fmt::Write as _;

use toolscript_engine::ScriptError;

/// How much of a line is shown.
const WIDEST: usize = 120;

/// What happened, the line of the script under a marker, and what to do next.
pub(crate) fn explain(name: &str, script: &str, error: &ScriptError) -> String {
    let mut text = format!("{}: {}", error.phase.word(), error.message);
    let margin = error.line.map_or(1, |line| line.to_string().len());
    if let Some(line) = error.line {
        let _infallible = write!(text, "\n{:margin$}--> {name}:{line}", "");
        if let Some(source) = source_line(script, line) {
            text.push_str(&marked(&source, line, margin));
        }
    }
    let status = error.api_status.map(|status| status.to_string());
    let notes = [
        ("function", error.function.as_deref()),
        ("status", status.as_deref()),
        ("limit", error.limit.as_deref()),
        ("hint", error.hint.as_deref()),
    ];
    for (label, note) in notes {
        if let Some(note) = note {
            let _infallible = write!(text, "\n{:margin$} = {label}: {note}", "");
        }
    }
    text
}

/// A line of the script, ready to stand above a marker of the same width.
fn source_line(script: &str, line: u32) -> Option<String> {
    let at = usize::try_from(line).ok()?.checked_sub(1)?;
    let source = script.lines().nth(at)?.trim_end().replace('\t', "    ");
    let shown: String = source
        .chars()
        .filter(|c| !c.is_control())
        .take(WIDEST)
        .collect();
    (!shown.trim().is_empty()).then_some(shown)
}

fn marked(source: &str, line: u32, margin: usize) -> String {
    let indent = source.chars().take_while(|c| c.is_whitespace()).count();
    let width = source.chars().count() - indent;
    let (blank, marker) = (" ".repeat(indent), "^".repeat(width));
    format!(
        "\n{:margin$} |\n{line} | {source}\n{:margin$} | {blank}{marker}",
        "", ""
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolscript_engine::Phase;

    #[track_caller]
    fn check(script: &str, error: &ScriptError, expected: &str) {
        assert_eq!(
            explain("buy.luau", script, error),
            expected.trim_matches('\n')
        );
    }

    #[test]
    fn the_line_stands_above_its_marker() {
        let error = ScriptError {
            line: Some(2),
            function: Some("pets.get_pet".to_owned()),
            api_status: Some(404),
            hint: Some("list what exists first".to_owned()),
            ..ScriptError::new(Phase::ApiCall, "`pets.get_pet` answered 404")
        };
        let expected = "
api_call: `pets.get_pet` answered 404
 --> buy.luau:2
  |
2 |     return pets.get_pet({ id = 7 })
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  = function: pets.get_pet
  = status: 404
  = hint: list what exists first
";
        check(
            "-- buy\n\treturn pets.get_pet({ id = 7 })\n",
            &error,
            expected,
        );
    }

    #[test]
    fn a_line_that_is_not_there_is_not_shown() {
        let error = ScriptError {
            line: Some(9),
            ..ScriptError::new(Phase::Execution, "no")
        };
        check("return 1", &error, "execution: no\n --> buy.luau:9");
        check(
            "return 1",
            &ScriptError::new(Phase::Timeout, "late"),
            "timeout: late",
        );
    }
}
