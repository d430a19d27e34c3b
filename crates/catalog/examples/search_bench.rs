//! Measures search over 100,000 made-up functions: `cargo run --release -p toolscript-catalog --example search_bench`.
//!
//! Prints one `name value unit` per line. Times are CPU time of this thread.

#![expect(
    clippy::print_stdout,
    reason = "it is a program that prints its measurements"
)]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "measurements are rounded anyway"
)]

use std::{
    collections::HashSet,
    fs,
    hint::black_box,
    sync::{Arc, LazyLock},
    time::Instant,
};

use toolscript_catalog::{
    Body, Catalog, Entry, Field, Function, FunctionName, Listing, SourceInfo, SourceName, Type,
    TypeName,
    function::Returns,
    search::{self, Query},
    ty::{Definition, Object},
};

const SOURCES: usize = 100;
const FUNCTIONS: usize = 1_000;

const QUERIES: &[&str] = &[
    "get user",
    "list invoices",
    "create an order",
    "delete a comment",
    "fetch a customer by email",
    "buy something",
    "send message to channel",
    "search documents",
    "update the shipping address of an order",
    "cancel subscription",
    "list all open tickets of a project",
    "upload a file",
    "download attachment",
    "add member to team",
    "remove a label from an issue",
    "who are the members of my organization",
    "refund a payment",
    "schedule a meeting",
    "rename folder",
    "retrieve the latest release",
    "isues",
    "repositry",
    "custmer invocie",
    "subscriptoin",
    "calend",
    "approve a pull request",
    "create_order",
    "getUserById",
    "POST /invoices/{invoice_id}/payments",
    "find products cheaper than a price",
    "total amount currency status",
    "webhook",
    "web hook deliveries",
    "rotate api key",
    "account balance",
    "notify people when a deployment fails",
    "export report as csv",
    "get all events between two dates for a calendar",
    "assign a role to somebody",
    "qwrtzpsdf",
];

fn main() {
    let listings: Vec<(SourceName, Listing)> = (0..SOURCES).map(listing).collect();
    let start = Clock::now();
    let entries = listings
        .into_iter()
        .map(|(name, listing)| Arc::new(Entry::new(name, listing)));
    let catalog = Catalog::new(entries);
    println!("search_build {:.0} ms", start.elapsed_us() / 1_000.0);
    println!("search_functions {} functions", catalog.len());
    println!(
        "search_index {:.1} MB",
        search::index_bytes(&catalog) as f64 / 1e6
    );

    let verbose = std::env::args().any(|argument| argument == "--each");
    let mut times: Vec<f64> = Vec::new();
    for text in QUERIES {
        let time = measure(&catalog, text);
        if verbose {
            println!("  {:.3} ms  {text}", time / 1_000.0);
        }
        times.push(time);
    }
    times.sort_by(f64::total_cmp);
    let percentile =
        |part: f64| times[((times.len() - 1) as f64 * part).round() as usize] / 1_000.0;
    println!("search_p50 {:.3} ms", percentile(0.5));
    println!("search_p99 {:.3} ms", percentile(0.99));
}

/// Microseconds of CPU time one search takes, over enough repetitions for the clock's ticks.
fn measure(catalog: &Catalog, text: &str) -> f64 {
    const REPETITIONS: u32 = 50;
    let query = Query {
        text,
        source: None,
        offset: 0,
        limit: 10,
    };
    black_box(search::search(catalog, &query));
    let start = Clock::now();
    for _ in 0..REPETITIONS {
        black_box(search::search(catalog, black_box(&query)));
    }
    start.elapsed_us() / f64::from(REPETITIONS)
}

/// CPU time of this thread where the system tells it, else the time on the wall.
struct Clock {
    cpu: Option<f64>,
    wall: Instant,
}

impl Clock {
    fn now() -> Self {
        Self {
            cpu: cpu_us(),
            wall: Instant::now(),
        }
    }

    fn elapsed_us(&self) -> f64 {
        match self.cpu.zip(cpu_us()) {
            Some((before, now)) => now - before,
            None => self.wall.elapsed().as_secs_f64() * 1e6,
        }
    }
}

fn cpu_us() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split(' ').next()?.parse().ok()?;
    Some(nanoseconds / 1_000.0)
}

static VERBS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let words = "\
        get list create update delete search add remove set send cancel export";
    words.split(' ').collect()
});

static NOUNS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let words = "\
        user account invoice order customer product payment refund ticket issue comment label \
        project task event calendar meeting message channel team member role permission file folder \
        document report webhook delivery token key secret repository branch commit release \
        deployment environment workflow run job artifact subscription plan price coupon discount \
        cart item shipment address warehouse stock contact lead campaign email template segment list \
        page site domain record zone certificate server volume snapshot image network cluster node \
        pod alert monitor metric dashboard log trace incident schedule policy organization group \
        notification attachment review rating balance transfer payout dispute session device \
        location booking room flight ticket_type survey question answer course lesson";
    words.split(' ').collect()
});

static FIELDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let words = "\
        id name description created_at updated_at status state type url owner_id amount currency \
        email total_count next_cursor per_page limit offset sort_by filter expand metadata tags \
        title html_url parent_id starts_at ends_at is_active external_reference country_code \
        phone_number";
    words.split(' ').collect()
});

static PROSE: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let words = "\
        returns the specified of a an for authenticated that belongs to current organization if not \
        found an error is returned requires permission and access this endpoint can be used with \
        pagination results are sorted by creation date newest first optional filter only active \
        items in response includes details about related objects deprecated use instead rate limit \
        applies per user async request completes when status changes you must provide valid token \
        maximum number default value see guide more information";
    words.split(' ').collect()
});

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    /// A word of the trade of one source, which other sources do not have.
    fn jargon(&mut self, source: usize) -> String {
        const SYLLABLES: &[&str] = &[
            "ka", "lo", "min", "tra", "vex", "or", "shi", "pel", "dun", "qua",
        ];
        let mut own = Dice((source * 1_000 + self.below(1_000)) as u64);
        (0..4).map(|_| own.pick(SYLLABLES)).collect()
    }

    fn sentence(&mut self, source: usize, subject: &str, words: usize) -> String {
        let word = |dice: &mut Self| match dice.below(12) {
            0 => dice.jargon(source),
            1 => subject.to_owned(),
            2 => dice.pick(&NOUNS).to_owned(),
            _ => dice.pick(&PROSE).to_owned(),
        };
        let words: Vec<String> = (0..words).map(|_| word(self)).collect();
        words.join(" ")
    }

    fn fields(&mut self, source: usize, subject: &str, count: usize) -> Vec<Field> {
        let field = |dice: &mut Self| {
            let name = match dice.below(4) {
                0 => format!("{subject}_{}", dice.pick(&FIELDS)),
                1 => format!("{}_{}", dice.pick(&NOUNS), dice.pick(&FIELDS)),
                _ => dice.pick(&FIELDS).to_owned(),
            };
            let description = dice.sentence(source, subject, 8).into();
            Field {
                description,
                ..Field::optional(name, Type::string())
            }
        };
        (0..count).map(|_| field(self)).collect()
    }
}

/// One made-up source: some thirty kinds of things, and what can be done to them.
fn listing(source: usize) -> (SourceName, Listing) {
    let mut dice = Dice(source as u64 + 1);
    let nouns: Vec<&str> = (0..30).map(|_| dice.pick(&NOUNS)).collect();
    let mut listing = Listing::default();
    for noun in &nouns {
        let fields = dice.fields(source, noun, 20);
        let description = dice.sentence(source, noun, 12);
        let definition = Definition {
            ty: Type::object(fields),
            description,
        };
        listing.types.insert(TypeName::clean(noun), definition);
    }
    let mut taken = HashSet::new();
    for _ in 0..FUNCTIONS {
        let mut function = function(&mut dice, source, &nouns);
        function.name = function.name.unique(&mut taken);
        listing.functions.push(function);
    }
    let name = format!("{}_{source}", dice.pick(&NOUNS));
    listing.info = SourceInfo {
        title: format!("{} API", dice.jargon(source)),
        ..SourceInfo::default()
    };
    (SourceName::clean(&name), listing)
}

fn method(verb: &str) -> &'static str {
    match verb {
        "get" | "list" | "search" | "export" => "GET",
        "delete" | "remove" => "DELETE",
        "update" | "set" => "PATCH",
        _ => "POST",
    }
}

fn function(dice: &mut Dice, source: usize, nouns: &[&str]) -> Function {
    let (verb, noun, other) = (dice.pick(&VERBS), dice.pick(nouns), dice.pick(nouns));
    let special = dice.jargon(source);
    let name = match dice.below(3) {
        0 => format!("{verb}_{noun}"),
        1 => format!("{verb}_{noun}_{other}"),
        _ => format!("{verb}_{special}_{noun}"),
    };
    let params = Object {
        fields: dice.fields(source, noun, 5),
        ..Object::default()
    };
    let of = |noun: &str| Type::named(TypeName::clean(noun));
    Function {
        name: FunctionName::clean(&name),
        original: name,
        group: noun.to_owned(),
        summary: format!("{verb} a {noun} {}", dice.sentence(source, other, 4)),
        description: dice.sentence(source, noun, 50),
        endpoint: format!("{} /v1/{other}s/{{{other}_id}}/{noun}s", method(verb)),
        params,
        body: Some(Body {
            ty: of(noun),
            ..Body::default()
        }),
        returns: Returns {
            ty: Type::array(of(noun)),
            ..Returns::default()
        },
        ..Function::default()
    }
}
