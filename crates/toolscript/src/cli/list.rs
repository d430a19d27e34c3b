//! `toolscript list`: the sources, or the functions of one.

use toolscript_engine::{
    Engine,
    discover::{AskError, LONGEST_PAGE, Listed, Page, Row},
};

use super::{Exit, Printer, load, options::SourceOptions};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The source whose functions to list; without it the sources are listed
    source: Option<String>,
    /// Only functions with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// How many functions to show, at most 200 [default: 50]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Go on where the last page ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Show every function
    #[arg(long, conflicts_with_all = ["limit", "cursor"])]
    all: bool,
    #[command(flatten)]
    sources: SourceOptions,
}

/// Lists sources, or functions where a source or a tag is named.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let engine = load::open(args.sources.read()?, printer).await?;
    let listed = Listed {
        source: args.source.as_deref(),
        group: args.tag.as_deref(),
        cursor: args.cursor.as_deref(),
        limit: args.limit,
    };
    let asks_functions = args.source.is_some() || args.tag.is_some() || args.all;
    match (asks_functions, args.all) {
        (false, _) => sources(&engine, printer)?,
        (true, true) => functions(&all(&engine, listed)?, printer)?,
        (true, false) => functions(&engine.functions(&listed)?, printer)?,
    }
    Ok(Exit::OK)
}

fn sources(engine: &Engine, printer: &Printer) -> anyhow::Result<()> {
    let sources = engine.sources();
    if printer.is_json() {
        return printer.value(&sources);
    }
    let rows = sources.into_iter().map(|source| {
        [
            source.name,
            source.kind,
            source.functions.to_string(),
            source.about,
        ]
    });
    printer.table(["SOURCE", "KIND", "FUNCTIONS", "ABOUT"], rows)
}

fn functions(page: &Page<Row>, printer: &Printer) -> anyhow::Result<()> {
    if printer.is_json() {
        return printer.value(page);
    }
    table(&page.items, printer)?;
    more(page, printer);
    Ok(())
}

/// Functions and types in columns.
pub(crate) fn table(rows: &[Row], printer: &Printer) -> anyhow::Result<()> {
    let cells = rows
        .iter()
        .map(|row| [row.signature.clone(), row.summary.clone()]);
    printer.table(["FUNCTION", "SUMMARY"], cells)
}

/// Says how to see the rest.
pub(crate) fn more(page: &Page<Row>, printer: &Printer) {
    if let Some(cursor) = &page.next_cursor {
        let shown = page.items.len();
        printer.note(&format!(
            "{shown} of {}; go on with `--cursor {cursor}`",
            page.total
        ));
    }
}

/// Every page, as one.
fn all(engine: &Engine, mut listed: Listed<'_>) -> Result<Page<Row>, AskError> {
    listed.limit = Some(LONGEST_PAGE);
    let mut whole = engine.functions(&listed)?;
    while let Some(cursor) = whole.next_cursor.take() {
        let next = engine.functions(&Listed {
            cursor: Some(&cursor),
            ..listed.clone()
        })?;
        whole.items.extend(next.items);
        whole.next_cursor = next.next_cursor;
    }
    Ok(whole)
}
