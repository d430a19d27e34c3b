//! Words that mean nearly the same: people say `buy` where an API says `create_order`.

use std::{collections::HashMap, sync::LazyLock};

use super::words::Key;

/// Spellings of one word: as good as the word itself, almost.
const SAME: f32 = 0.85;
/// One is often said for the other.
const NEAR: f32 = 0.6;
/// Worth a look when nothing better is there.
const AKIN: f32 = 0.4;

/// Groups in which each word may stand for each other one.
const GROUPS: &[(f32, &str)] = &[
    // Short and long forms, and forms that do not share a stem.
    (SAME, "admin administrator"),
    (SAME, "analyse analyze analysis analytics"),
    (SAME, "app application"),
    (SAME, "auth authentication authenticate authorization"),
    (SAME, "color colour"),
    (SAME, "config configuration configure"),
    (SAME, "contribute contributor contribution"),
    (SAME, "create creation"),
    (SAME, "db database"),
    (SAME, "delete deletion"),
    (SAME, "deploy deployment"),
    (SAME, "dir directory"),
    (SAME, "doc document documentation"),
    (SAME, "email mail"),
    (SAME, "env environment"),
    (SAME, "favorite favourite"),
    (SAME, "img image"),
    (SAME, "info information"),
    (SAME, "invite invitation"),
    (SAME, "k8s kubernetes"),
    (SAME, "licence license"),
    (SAME, "msg message"),
    (SAME, "notify notification"),
    (SAME, "ns namespace"),
    (SAME, "org organization organisation"),
    (SAME, "param parameter"),
    (SAME, "pay payment"),
    (SAME, "perm permission"),
    (SAME, "phone telephone"),
    (SAME, "pr pull"),
    (SAME, "ref reference"),
    (SAME, "repo repository"),
    (SAME, "ship shipping shipment"),
    (SAME, "stats statistics"),
    (SAME, "subscribe subscription"),
    (SAME, "sync synchronize"),
    (SAME, "transcribe transcription transcript"),
    (SAME, "var variable"),
    // What is done.
    (NEAR, "get fetch read retrieve show view load"),
    (NEAR, "get find lookup"),
    (NEAR, "list enumerate browse"),
    (NEAR, "create add make insert post open register generate"),
    (
        NEAR,
        "update edit change modify patch set rename put replace",
    ),
    (NEAR, "delete remove destroy drop cancel erase purge"),
    (NEAR, "search query find lookup filter"),
    (NEAR, "send post publish notify deliver submit"),
    (NEAR, "buy order purchase"),
    (NEAR, "run execute trigger dispatch start launch invoke"),
    (NEAR, "stop cancel abort terminate end kill"),
    (NEAR, "approve accept confirm allow"),
    (NEAR, "reject decline deny"),
    (NEAR, "copy duplicate clone fork"),
    (NEAR, "move transfer"),
    (NEAR, "restore recover undelete"),
    (NEAR, "verify validate check"),
    (NEAR, "login signin authenticate"),
    (NEAR, "logout signout"),
    (NEAR, "register signup create"),
    (NEAR, "follow subscribe watch"),
    (NEAR, "enable activate"),
    (NEAR, "disable deactivate suspend"),
    (NEAR, "schedule book reserve plan"),
    (NEAR, "upload attach import"),
    (NEAR, "download export"),
    (NEAR, "assign assignee"),
    (AKIN, "get list show read fetch"),
    (AKIN, "fetch retrieve show find lookup"),
    (AKIN, "download get"),
    (AKIN, "upload create add"),
    (AKIN, "buy create place checkout"),
    (AKIN, "pay charge"),
    (AKIN, "close update resolve end"),
    // What it is done to.
    (NEAR, "user account member person people"),
    (NEAR, "picture image photo"),
    (NEAR, "folder directory"),
    (NEAR, "ticket issue bug"),
    (NEAR, "task todo"),
    (NEAR, "event meeting appointment"),
    (NEAR, "tag label"),
    (NEAR, "comment reply note"),
    (NEAR, "bill invoice"),
    (NEAR, "price cost"),
    (NEAR, "stock inventory"),
    (NEAR, "customer client"),
    (NEAR, "cart basket"),
    (NEAR, "team group"),
    (NEAR, "setting preference configuration option"),
    (NEAR, "latest newest recent last"),
    (NEAR, "me my mine authenticated self current"),
    (NEAR, "sms text message"),
    (NEAR, "channel conversation room"),
    (NEAR, "history log"),
    (NEAR, "website site page"),
    (AKIN, "file document attachment"),
    (AKIN, "company organization business"),
    (AKIN, "key token credential secret"),
    (AKIN, "server guild workspace"),
    (AKIN, "user profile customer owner"),
];

/// Words that may stand for others, but not the other way round: in a
/// description they are too common to mean anything.
const ONE_WAY: &[(f32, &str, &str)] = &[
    (NEAR, "all every", "list"),
    (NEAR, "new", "create add insert register"),
    (NEAR, "give", "add get assign"),
    (NEAR, "tell see display describe", "get list show"),
    (NEAR, "kick", "remove delete"),
    (NEAR, "who", "user member"),
    (NEAR, "someone anyone", "user member"),
    (AKIN, "call", "phone"),
];

static SYNONYMS: LazyLock<HashMap<Key, Vec<(Key, f32)>>> = LazyLock::new(|| {
    let mut table = HashMap::new();
    for (weight, group) in GROUPS {
        link(&mut table, *weight, group, group);
    }
    for (weight, said, meant) in ONE_WAY {
        link(&mut table, *weight, said, meant);
    }
    table
});

/// What may be meant by a word besides itself, and how likely that is.
pub(super) fn of(word: Key) -> &'static [(Key, f32)] {
    SYNONYMS.get(&word).map(Vec::as_slice).unwrap_or_default()
}

/// Lets each word of `said` stand for each other one of `meant`.
fn link(table: &mut HashMap<Key, Vec<(Key, f32)>>, weight: f32, said: &str, meant: &str) {
    for word in said.split(' ').map(Key::of) {
        let known = table.entry(word).or_default();
        for other in meant.split(' ').map(Key::of).filter(|other| *other != word) {
            match known.iter_mut().find(|(key, _)| *key == other) {
                Some((_, strongest)) => *strongest = strongest.max(weight),
                None => known.push((other, weight)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(word: &str, other: &str) -> Option<f32> {
        let found = of(Key::of(word))
            .iter()
            .find(|(key, _)| *key == Key::of(other));
        found.map(|(_, weight)| *weight)
    }

    #[test]
    fn synonyms_are_weaker_than_the_word() {
        assert_eq!(weight("fetching", "gets"), Some(NEAR));
        assert_eq!(weight("repos", "repository"), Some(SAME));
        assert!(SYNONYMS.values().flatten().all(|(_, weight)| *weight < 1.0));
    }

    #[test]
    fn some_stand_for_others_in_one_direction_only() {
        assert_eq!(weight("all", "list"), Some(NEAR));
        assert_eq!(weight("list", "all"), None);
    }
}
