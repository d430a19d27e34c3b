//! Near names: what a person or an agent probably meant.

/// Up to `limit` of `known` that look like `wanted`, nearest first.
pub fn nearest<'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
    limit: usize,
) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|name| (likeness(&wanted, &name.to_lowercase()), name))
        .filter(|(score, _)| 0.7 <= *score)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored
        .into_iter()
        .take(limit)
        .map(|(_, name)| name)
        .collect()
}

/// How alike two names are, from 0 to 1: by letters, or by words in any order.
fn likeness(wanted: &str, known: &str) -> f64 {
    let by_letters = strsim::jaro_winkler(wanted, known);
    let parts: Vec<&str> = wanted
        .split(['_', '.', '-', ' '])
        .filter(|part| 2 < part.len())
        .collect();
    if parts.is_empty() {
        return by_letters;
    }
    let shared = parts.iter().filter(|part| known.contains(**part)).count();
    #[expect(clippy::cast_precision_loss, reason = "a handful of words")]
    let by_words = shared as f64 / parts.len() as f64 * 0.95;
    by_letters.max(by_words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_and_turned_words_are_understood() {
        let known = ["get_pet_by_id", "list_pets", "create_order"];
        assert_eq!(nearest("get_pet_by_idd", known, 1), ["get_pet_by_id"]);
        assert_eq!(nearest("order_create", known, 3), ["create_order"]);
        assert!(nearest("zzz", known, 3).is_empty());
    }
}
