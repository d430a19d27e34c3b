//! Patterns over paths: `*` and `?` within a name, `**` for any number of folders.

/// A pattern, split into its steps.
#[derive(Debug)]
pub(super) struct Glob<'p> {
    steps: Vec<&'p str>,
}

impl<'p> Glob<'p> {
    pub(super) fn new(pattern: &'p str) -> Self {
        Self {
            steps: pattern.split('/').filter(|step| *step != ".").collect(),
        }
    }

    /// Whether it can match something in a folder below.
    pub(super) fn is_deep(&self) -> bool {
        1 < self.steps.len() || self.steps.contains(&"**")
    }

    /// Whether a path fits. Takes time in proportion to steps and names, whatever the pattern.
    pub(super) fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        // Which numbers of names the steps so far can have used up.
        let mut used = vec![false; names.len() + 1];
        used[0] = true;
        for step in &self.steps {
            let mut next = vec![false; names.len() + 1];
            for at in 0..=names.len() {
                next[at] = match *step {
                    "**" => used[at] || (0 < at && next[at - 1]),
                    name => 0 < at && used[at - 1] && fits(name, names[at - 1]),
                };
            }
            used = next;
        }
        used[names.len()]
    }
}

/// Whether a name fits one step.
fn fits(step: &str, name: &str) -> bool {
    let (step, name): (Vec<char>, Vec<char>) = (step.chars().collect(), name.chars().collect());
    let (mut at, mut read) = (0, 0);
    // The last star, and how far it has reached.
    let mut star: Option<(usize, usize)> = None;
    while read < name.len() {
        match step.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((starred, reached)) = star else {
                    return false;
                };
                star = Some((starred, reached + 1));
                (at, read) = (starred + 1, reached + 1);
            }
        }
    }
    step[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, expected: bool) {
        assert_eq!(
            Glob::new(pattern).matches(path),
            expected,
            "{pattern} {path}"
        );
    }

    #[test]
    fn patterns_fit_names_and_folders() {
        check("*", "a.md", true);
        check("*", "x/a.md", false);
        check("*.md", "a.md", true);
        check("*.md", "a.mdx", false);
        check("?.md", "a.md", true);
        check("?.md", "ab.md", false);
        check("**", "a/b/c", true);
        check("**/*.md", "a.md", true);
        check("**/*.md", "x/y/a.md", true);
        check("x/**/a.md", "x/a.md", true);
        check("x/**/a.md", "y/a.md", false);
        check("x/*", "x/a", true);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c", false);
        check("Größe*", "Größe.txt", true);
    }

    #[test]
    fn no_pattern_takes_long() {
        let name = "a".repeat(5_000);
        check(&format!("{}b", "a*".repeat(500)), &name, false);
        check(&format!("{}b", "**/".repeat(200)), &"a/".repeat(500), false);
    }
}
