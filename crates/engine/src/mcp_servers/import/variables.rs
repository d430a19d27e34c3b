//! The placeholders of other programs, such as `${env:X}` and `${input:key}`, in our words.

use std::path::Path;

use serde_json::Value;

use super::Export;

/// What placeholders may refer to.
pub(super) struct Surroundings<'a> {
    /// The folder of the project the file belongs to.
    pub(super) workspace: &'a Path,
    /// What VS Code asks the user for, by the list `inputs`.
    pub(super) inputs: &'a [Value],
}

/// What came up while a text was translated.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Variables somebody has to set.
    pub(super) exports: Vec<Export>,
    /// Placeholders nobody but that program can fill in.
    pub(super) unknown: Vec<String>,
}

impl Surroundings<'_> {
    /// The text with its placeholders in our words.
    pub(super) fn translate(&self, text: &str, findings: &mut Findings) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            out.push_str(&rest[..at]);
            let Some(length) = rest[at..].find('}') else {
                // Text to them, the beginning of a variable to us.
                out.push_str("$${");
                rest = &rest[at + 2..];
                continue;
            };
            out.push_str(&self.placeholder(&rest[at + 2..at + length], findings));
            rest = &rest[at + length + 1..];
        }
        out.push_str(rest);
        out
    }

    fn placeholder(&self, inner: &str, findings: &mut Findings) -> String {
        let workspace = self.workspace.display().to_string();
        match inner.split_once(':') {
            Some(("env", name)) if is_variable(name) => return format!("${{{name}}}"),
            Some(("input", id)) => return self.input(id, findings),
            Some(("workspaceFolder", _)) => return workspace,
            _ => {}
        }
        match inner {
            "workspaceFolder" | "CLAUDE_PROJECT_DIR" => workspace,
            "workspaceFolderBasename" => {
                let name = self.workspace.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
            "userHome" => "${HOME}".to_owned(),
            "pathSeparator" | "/" => std::path::MAIN_SEPARATOR.to_string(),
            _ if is_variable(inner.split(":-").next().unwrap_or_default()) => {
                format!("${{{inner}}}")
            }
            _ => {
                findings.unknown.push(format!("${{{inner}}}"));
                format!("$${{{inner}}}")
            }
        }
    }

    fn input(&self, id: &str, findings: &mut Findings) -> String {
        let variable = variable(id);
        let input = self.inputs.iter().find(|input| input["id"] == *id);
        let about = input.and_then(|input| input["description"].as_str());
        let default = input.and_then(|input| input["default"].as_str());
        if let Some(default) = default.filter(|default| !default.contains('}')) {
            return format!("${{{variable}:-{default}}}");
        }
        findings.exports.push(Export {
            variable: variable.clone(),
            meaning: about.map_or_else(|| format!("the input `{id}`"), str::to_owned),
        });
        format!("${{{variable}}}")
    }
}

/// A name for an environment variable made of any words.
pub(super) fn variable(words: &str) -> String {
    let mut name = toolscript_catalog::name::words(words).join("_");
    name.make_ascii_uppercase();
    name.retain(|c| c.is_ascii_alphanumeric() || c == '_');
    if name.starts_with(|c: char| !c.is_ascii_alphabetic()) || name.is_empty() {
        name.insert_str(0, "MCP_");
    }
    name
}

/// Whether a text can be the name of a variable.
pub(super) fn is_variable(name: &str) -> bool {
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins_well && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(text: &str, translated: &str) -> Findings {
        let inputs = [
            json!({"id": "api-key", "description": "Key of the API", "password": true}),
            json!({"id": "region", "default": "eu"}),
        ];
        let surroundings = Surroundings {
            workspace: Path::new("/projects/shop"),
            inputs: &inputs,
        };
        let mut findings = Findings::default();
        assert_eq!(surroundings.translate(text, &mut findings), translated);
        findings
    }

    #[test]
    fn placeholders_are_translated() {
        check("plain $HOME", "plain $HOME");
        check("a ${env:TOKEN} b", "a ${TOKEN} b");
        check("${TOKEN:-none} ${A}", "${TOKEN:-none} ${A}");
        check("${workspaceFolder}${/}x", "/projects/shop/x");
        check("${workspaceFolder:api}", "/projects/shop");
        check("${workspaceFolderBasename}", "shop");
        check("${CLAUDE_PROJECT_DIR}/s.py", "/projects/shop/s.py");
        check("${userHome}/x", "${HOME}/x");
        check("${input:region}", "${REGION:-eu}");
        check("open ${ brace", "open $${ brace");
    }

    #[test]
    fn what_has_to_be_set_is_told() {
        let findings = check("Bearer ${input:api-key}", "Bearer ${API_KEY}");
        assert_eq!(findings.exports[0].variable, "API_KEY");
        assert_eq!(findings.exports[0].meaning, "Key of the API");
        let findings = check("${input:other}", "${OTHER}");
        assert_eq!(findings.exports[0].meaning, "the input `other`");
    }

    #[test]
    fn what_nobody_else_can_fill_in_is_told() {
        let findings = check("${command:pick}", "$${command:pick}");
        assert_eq!(findings.unknown, ["${command:pick}"]);
    }

    #[test]
    fn any_words_make_a_variable() {
        assert_eq!(variable("api-key"), "API_KEY");
        assert_eq!(variable("2fa"), "MCP_2FA");
        assert_eq!(variable(""), "MCP_");
    }
}
