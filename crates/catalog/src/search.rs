//! Search: which functions and types of a catalog fit a few words.
//!
//! Each source has an index of its own (`Segment`), made once per listing. A
//! query becomes concepts (a word, its synonyms, what it may be a misspelling
//! of), and the documents of all indexes are ranked against them with BM25.

mod build;
mod concepts;
mod rank;
mod segment;
mod spelling;
mod synonyms;
mod vocabulary;
mod words;

use std::{collections::BTreeSet, sync::Arc};

pub(crate) use segment::Segment;

use self::{
    rank::{Match, Place},
    words::{Key, Letters},
};
use crate::{Catalog, Entry, Function, FunctionName, TypeName, suggest, ty::Definition};

/// What to search for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Query<'a> {
    /// Words in any form, a name, or `source.function`.
    pub text: &'a str,
    /// Only this source.
    pub source: Option<&'a str>,
    /// How many hits to leave out.
    pub offset: usize,
    /// How many hits to give at most.
    pub limit: usize,
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Answer<'a> {
    /// The hits of this page, best first.
    pub hits: Vec<Hit<'a>>,
    /// How many hits there are in all, up to a thousand.
    pub total: usize,
    /// When there are none: functions with names that come near, as `source.function`.
    pub near: Vec<String>,
}

/// One thing that fits.
#[derive(Debug, Clone, Copy)]
pub struct Hit<'a> {
    /// The source it belongs to.
    pub entry: &'a Arc<Entry>,
    /// The function or type.
    pub subject: Subject<'a>,
    /// How well it fits; to be compared within one answer only.
    pub score: f32,
}

/// What a hit is.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A function.
    Function(&'a Function),
    /// A named type.
    Type(&'a TypeName, &'a Definition),
}

/// Searches a catalog.
///
/// What the query is the exact name of comes first. Then comes what has most
/// of its words in the places that say most, in any of their forms.
pub fn search<'a>(catalog: &'a Catalog, query: &Query<'_>) -> Answer<'a> {
    let scope = Scope::new(catalog, query.source);
    let mut matches = rank::rank(&scope, &concepts::read(&scope, query.text));
    put_first(&mut matches, &named(&scope, query.text));
    let near = match matches.len() {
        0 => near(&scope, query.text),
        _ => Vec::new(),
    };
    let page = matches.iter().skip(query.offset).take(query.limit);
    Answer {
        hits: page.filter_map(|found| scope.hit(found)).collect(),
        total: matches.len(),
        near,
    }
}

/// How many bytes the search indexes of a catalog take.
pub fn index_bytes(catalog: &Catalog) -> usize {
    catalog.entries().map(|entry| entry.segment.bytes()).sum()
}

/// The sources a query is about, by name.
struct Scope<'a> {
    entries: Vec<&'a Arc<Entry>>,
}

impl<'a> Scope<'a> {
    fn new(catalog: &'a Catalog, source: Option<&str>) -> Self {
        let entries = match source {
            Some(source) => catalog.entry(source).into_iter().collect(),
            None => catalog.entries().collect(),
        };
        Self { entries }
    }

    fn segments(&self) -> impl Iterator<Item = &'a Segment> {
        self.entries.iter().map(|entry| &entry.segment)
    }

    fn documents(&self) -> usize {
        self.segments().map(|segment| segment.documents).sum()
    }

    /// How many documents have a word.
    fn frequency(&self, key: Key) -> usize {
        self.segments().map(|segment| segment.frequency(key)).sum()
    }

    fn hit(&self, found: &Match) -> Option<Hit<'a>> {
        let entry = *self.entries.get(found.place.entry)?;
        let subject = entry
            .segment
            .subject(&entry.listing, found.place.document)?;
        let score = found.score;
        Some(Hit {
            entry,
            subject,
            score,
        })
    }
}

/// Puts what the query names before everything else.
fn put_first(matches: &mut Vec<Match>, named: &[Place]) {
    matches.retain(|found| !named.contains(&found.place));
    let score = matches.first().map_or(0.0, |best| best.score) + 1.0;
    let named = named.iter().map(|&place| Match { place, score });
    matches.splice(0..0, named);
}

/// What the query is the name of: functions first, then types.
fn named(scope: &Scope<'_>, text: &str) -> Vec<Place> {
    const LONGEST: usize = 200;
    let text = text.trim();
    let text = text.strip_prefix("sdk.").unwrap_or(text);
    // Text without a letter or digit of ours would be cleaned to a name nobody wrote.
    let says_nothing = !text.contains(|c: char| c.is_ascii_alphanumeric());
    if says_nothing || LONGEST < text.len() {
        return Vec::new();
    }
    let cleaned = FunctionName::clean(text);
    // In lower case it is a word like any other, even if there is a type of that name.
    let type_name = text.contains(char::is_uppercase).then_some(text);
    let mut functions = Vec::new();
    let mut types = Vec::new();
    for (at, entry) in scope.entries.iter().enumerate() {
        let place = |document| Place {
            entry: at,
            document,
        };
        let inner = text.strip_prefix(entry.name.as_str());
        let inner = inner.and_then(|rest| rest.strip_prefix('.'));
        let names = [inner, Some(text), Some(cleaned.as_str())];
        let function = names.iter().flatten().find_map(|name| entry.function(name));
        let document = function.and_then(|it| entry.segment.function(&entry.listing, &it.name));
        functions.extend(document.map(place));
        let named_type = inner.or(type_name);
        let document = named_type.and_then(|it| entry.segment.named_type(&entry.listing, it));
        types.extend(document.map(place));
    }
    functions.append(&mut types);
    functions
}

/// Functions with names like the query, for when nothing matches.
fn near(scope: &Scope<'_>, text: &str) -> Vec<String> {
    const MOST: usize = 5;
    const LONGEST: usize = 100;
    let wanted: String = text.trim().chars().take(LONGEST).collect();
    let wanted = wanted.rsplit('.').next().unwrap_or_default();
    let mut near = Vec::new();
    for name in suggest::nearest(wanted, alike(scope, wanted), MOST) {
        let holders = scope
            .entries
            .iter()
            .filter(|entry| entry.function(name).is_some());
        near.extend(holders.map(|entry| format!("{}.{name}", entry.name)));
    }
    near.truncate(MOST);
    near
}

/// Some names with nearly the letters of the wanted one: to compare it with all
/// names of a large catalog in earnest would take too long.
fn alike<'a>(scope: &Scope<'a>, wanted: &str) -> BTreeSet<&'a str> {
    const MOST: usize = 500;
    let letters = Letters::of(&wanted.to_lowercase());
    let mut alike = Vec::new();
    for (entry, known) in scope.entries.iter().enumerate() {
        for (document, function) in known.segment.functions.iter().enumerate() {
            let edits = letters.least_edits(function.letters);
            alike.push((edits, Place { entry, document }));
        }
    }
    if MOST < alike.len() {
        alike.select_nth_unstable(MOST);
        alike.truncate(MOST);
    }
    let name = |(_, place): (u32, Place)| {
        let entry = scope.entries.get(place.entry)?;
        let listed = entry.segment.functions.get(place.document)?;
        Some(listed.function(&entry.listing)?.name.as_str())
    };
    alike.into_iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Body, Field, Listing, SourceInfo, SourceName, Type, function::Returns, ty::Object,
    };
    use proptest::prelude::*;
    use std::sync::LazyLock;

    /// Sources that look like well-known ones.
    fn catalog() -> Catalog {
        let sections = include_str!("search/sample.txt").split("\n# ").skip(1);
        Catalog::new(sections.map(|section| {
            let mut lines = section.lines();
            let (name, title) = lines
                .next()
                .and_then(|line| line.split_once(" | "))
                .unwrap();
            let functions = lines
                .filter(|line| !line.is_empty())
                .map(function)
                .collect();
            let info = SourceInfo {
                title: title.to_owned(),
                ..SourceInfo::default()
            };
            let mut listing = Listing {
                info,
                functions,
                ..Listing::default()
            };
            if name == "petstore" {
                let ty = Type::object(vec![Field::required("photoUrls", Type::string())]);
                let description = "An animal for sale".to_owned();
                listing
                    .types
                    .insert(TypeName::clean("Pet"), Definition { ty, description });
            }
            entry(name, listing)
        }))
    }

    fn entry(name: &str, listing: Listing) -> Arc<Entry> {
        Arc::new(Entry::new(SourceName::parse(name).unwrap(), listing))
    }

    fn function(line: &str) -> Function {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, endpoint, summary, ref fields @ ..] = parts[..] else {
            panic!("`{line}`")
        };
        let fields = fields
            .iter()
            .flat_map(|text| text.split(' '))
            .map(|field| Field::optional(field, Type::string()));
        let value = Type::object(fields.collect());
        let in_path = endpoint.split(['{', '}']).skip(1).step_by(2);
        let params = in_path
            .map(|name| Field::required(name, Type::string()))
            .collect();
        let body = endpoint.starts_with("POST").then(|| Body {
            ty: value.clone(),
            ..Body::default()
        });
        Function {
            name: FunctionName::clean(name),
            summary: summary.to_owned(),
            endpoint: endpoint.to_owned(),
            params: Object {
                fields: params,
                ..Object::default()
            },
            body,
            returns: Returns {
                ty: Type::array(value),
                ..Returns::default()
            },
            ..Function::default()
        }
    }

    fn page<'a>(catalog: &'a Catalog, text: &str, limit: usize) -> Answer<'a> {
        search(
            catalog,
            &Query {
                text,
                limit,
                ..Query::default()
            },
        )
    }

    fn names(answer: &Answer<'_>) -> Vec<String> {
        let name = |hit: &Hit<'_>| match hit.subject {
            Subject::Function(function) => format!("{}.{}", hit.entry.name, function.name),
            Subject::Type(name, _) => format!("{}.{name}", hit.entry.name),
        };
        answer.hits.iter().map(name).collect()
    }

    /// The query finds the function among the first so many.
    #[track_caller]
    fn check(within: usize, queries: &[(&str, &str)]) {
        let catalog = catalog();
        for (text, expected) in queries {
            let found = names(&page(&catalog, text, within));
            assert!(
                found.iter().any(|name| name == expected),
                "`{text}` finds {found:?}, not {expected}"
            );
        }
    }

    #[test]
    fn plain_words_find_the_function() {
        check(
            1,
            &[
                ("create an issue", "github.issues_create"),
                ("list pull requests", "github.pulls_list"),
                ("merge pull request", "github.pulls_merge"),
                ("add a label to an issue", "github.issues_add_labels"),
                ("delete a label", "github.issues_delete_label"),
                ("comment on an issue", "github.issues_create_comment"),
                ("send a message to a channel", "slack.chat_post_message"),
                ("delete a message", "slack.chat_delete"),
                ("channel history", "slack.conversations_history"),
                ("upload a file", "slack.files_upload"),
                ("create a customer", "stripe.post_customers"),
                ("list invoices", "stripe.get_invoices"),
                ("account balance", "stripe.get_balance"),
                ("add an event to the calendar", "calendar.events_insert"),
                ("pets by status", "petstore.find_pets_by_status"),
            ],
        );
    }

    #[test]
    fn users_words_find_api_words() {
        check(
            1,
            &[
                ("fetch a pet", "petstore.get_pet_by_id"),
                ("remove a pet", "petstore.delete_pet"),
                ("buy something", "petstore.create_order"),
                ("purchase a pet", "petstore.create_order"),
                ("stock of the shop", "petstore.get_inventory"),
                ("show all customers", "stripe.get_customers"),
                ("open a bug ticket", "github.issues_create"),
                ("publish a msg", "slack.chat_post_message"),
                ("destroy repo", "github.repos_delete"),
                (
                    "my repositories",
                    "github.repos_list_for_authenticated_user",
                ),
                ("look up somebody by mail", "slack.users_lookup_by_email"),
                ("browse rooms", "slack.conversations_list"),
            ],
        );
        check(
            3,
            &[
                ("get client", "stripe.get_customers_customer"),
                ("edit a ticket", "github.issues_update"),
                ("make a meeting", "calendar.events_insert"),
                (
                    "end my subscription",
                    "stripe.delete_subscriptions_subscription",
                ),
                ("money back for a charge", "stripe.post_refunds"),
                ("who am i on github", "github.users_get_authenticated"),
            ],
        );
    }

    #[test]
    fn slips_and_unfinished_words_are_understood() {
        check(
            3,
            &[
                ("list isues", "github.issues_list_for_repo"),
                ("delete repositry", "github.repos_delete"),
                ("retreive custmer", "stripe.get_customers_customer"),
                ("list invocies", "stripe.get_invoices"),
                ("mesage histroy", "slack.conversations_history"),
                ("calend", "calendar.calendar_list_list"),
                ("subscr", "stripe.delete_subscriptions_subscription"),
                ("githb code", "github.search_code"),
            ],
        );
    }

    #[test]
    fn identifiers_paths_and_fields_are_searched() {
        check(
            1,
            &[
                ("getPetById", "petstore.get_pet_by_id"),
                ("petstore.update_pet", "petstore.update_pet"),
                ("sdk.slack.chat_delete", "slack.chat_delete"),
                ("chat.postMessage", "slack.chat_post_message"),
                ("findByStatus", "petstore.find_pets_by_status"),
                ("GET /orgs/{org}/repos", "github.repos_list_for_org"),
                ("POST /v1/refunds", "stripe.post_refunds"),
                ("stargazers count", "github.repos_get"),
                (
                    "two factor authentication",
                    "github.users_get_authenticated",
                ),
                ("ship_date", "petstore.create_order"),
                ("issue_number state", "github.issues_update"),
            ],
        );
    }

    #[test]
    fn words_run_together_or_torn_apart_are_found() {
        check(
            3,
            &[
                ("pullrequest", "github.pulls_list"),
                ("web hook", "github.repos_create_webhook"),
                ("free busy", "calendar.freebusy_query"),
                ("GitHub webhooks", "github.repos_create_webhook"),
            ],
        );
    }

    #[test]
    fn number_does_not_matter() {
        let catalog = catalog();
        for (one, many) in [("customer", "customers"), ("repository", "repositories")] {
            assert_eq!(
                names(&page(&catalog, one, 5)),
                names(&page(&catalog, many, 5))
            );
        }
    }

    #[test]
    fn types_are_found_after_functions_unless_named() {
        let catalog = catalog();
        let found = names(&page(&catalog, "pet", 20));
        assert!(
            found
                .iter()
                .position(|name| name == "petstore.Pet")
                .is_some_and(|at| 3 < at)
        );
        assert_eq!(names(&page(&catalog, "Pet", 1)), ["petstore.Pet"]);
        assert_eq!(names(&page(&catalog, "petstore.Pet", 1)), ["petstore.Pet"]);
        assert_eq!(names(&page(&catalog, "animal", 1)), ["petstore.Pet"]);
    }

    #[test]
    fn one_source_can_be_searched_alone() {
        let catalog = catalog();
        let query = Query {
            text: "list",
            source: Some("calendar"),
            limit: 50,
            ..Query::default()
        };
        let found = names(&search(&catalog, &query));
        assert!(!found.is_empty() && found.iter().all(|name| name.starts_with("calendar.")));
        let nowhere = Query {
            source: Some("nowhere"),
            ..query
        };
        assert_eq!(search(&catalog, &nowhere).total, 0);
    }

    #[test]
    fn a_source_can_be_named_in_the_query() {
        check(
            1,
            &[
                ("petstore user", "petstore.login_user"),
                ("delete in slack", "slack.chat_delete"),
                ("search git hub", "github.search_code"),
            ],
        );
    }

    #[test]
    fn nothing_found_gives_near_names() {
        let catalog = catalog();
        let answer = page(&catalog, "frebsyqry", 5);
        assert_eq!((answer.total, answer.hits.len()), (0, 0));
        assert_eq!(answer.near, ["calendar.freebusy_query"]);
        for text in ["", "  ", "the of", "☃", "."] {
            assert_eq!(page(&catalog, text, 5).total, 0, "{text}");
        }
    }

    #[test]
    fn deprecated_functions_come_later() {
        let line = "| GET /things | List things |";
        let old = Function {
            deprecated: true,
            ..function(&format!("a_list_things {line}"))
        };
        let functions = vec![old, function(&format!("b_list_things {line}"))];
        let catalog = Catalog::new([entry(
            "api",
            Listing {
                functions,
                ..Listing::default()
            },
        )]);
        assert_eq!(
            names(&page(&catalog, "list things", 2)),
            ["api.b_list_things", "api.a_list_things"]
        );
    }

    #[test]
    fn equals_come_by_source_and_name() {
        let listing = || {
            let names = ["get_thing_b", "get_thing_c", "get_thing_a"];
            let functions =
                names.map(|name| function(&format!("{name} | GET /things | Get a thing |")));
            Listing {
                functions: functions.into(),
                ..Listing::default()
            }
        };
        let catalog = Catalog::new([entry("one", listing())]);
        let found = names(&page(&catalog, "thing", 3));
        assert_eq!(
            found,
            ["one.get_thing_a", "one.get_thing_b", "one.get_thing_c"]
        );
        let catalog = Catalog::new([entry("two", listing()), entry("one", listing())]);
        let found = names(&page(&catalog, "thing", 2));
        assert_eq!(found, ["one.get_thing_a", "two.get_thing_a"]);
    }

    #[test]
    fn a_large_source_leaves_room_for_others() {
        let large =
            (0..50).map(|at| function(&format!("get_widget_{at} | GET /widget | Get a widget |")));
        let small =
            function("fetch_widget_of_the_house | GET /house/widget | Get a widget of the house |");
        let listing = |functions| Listing {
            functions,
            ..Listing::default()
        };
        let catalog = Catalog::new([
            entry("large", listing(large.collect())),
            entry("small", listing(vec![small])),
        ]);
        let found = names(&page(&catalog, "get widget", 10));
        assert!(found[0].starts_with("large."), "{found:?}");
        assert!(
            found.iter().any(|name| name.starts_with("small.")),
            "{found:?}"
        );
    }

    #[test]
    fn matches_are_counted_up_to_a_bound() {
        let functions =
            (0..3_000).map(|at| function(&format!("get_thing_{at} | GET /thing | A thing |")));
        let listing = Listing {
            functions: functions.collect(),
            ..Listing::default()
        };
        let catalog = Catalog::new([entry("api", listing)]);
        let answer = search(
            &catalog,
            &Query {
                text: "thing",
                offset: 995,
                limit: 10,
                source: None,
            },
        );
        assert_eq!((answer.total, answer.hits.len()), (rank::MOST_MATCHES, 5));
    }

    #[test]
    fn a_long_query_is_cut() {
        let catalog = catalog();
        let filler: Vec<String> = (0..100).map(|at| format!("nothing{at}")).collect();
        let filler = filler.join(" ");
        let found = |text: &str| page(&catalog, text, 1).total;
        assert!(0 < found(&format!("inventory {filler}")));
        assert_eq!(found(&format!("{filler} inventory")), 0);
        assert_eq!(found(&"🦀".repeat(100_000)), 0);
    }

    proptest! {
        #[test]
        fn any_query_gives_pages_without_repeats(
            text in r"(\PC{0,12}|(list|get|pet|ISSUE|chat\.|sdk\.|é|Straße|漢字|🦀| |_|/){0,12})",
            limit in 1_usize..7,
        ) {
            static CATALOG: LazyLock<Catalog> = LazyLock::new(catalog);
            let catalog = &*CATALOG;
            let total = page(catalog, &text, limit).total;
            let mut seen = BTreeSet::new();
            for offset in (0..total + limit).step_by(limit) {
                let answer = search(catalog, &Query { text: &text, offset, limit, source: None });
                prop_assert!(answer.hits.len() <= limit);
                prop_assert_eq!(answer.total, total);
                for name in names(&answer) {
                    prop_assert!(seen.insert(name));
                }
            }
            prop_assert_eq!(seen.len(), total);
        }
    }
}
