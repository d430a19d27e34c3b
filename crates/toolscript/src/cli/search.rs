//! `toolscript search`: functions and types by what they do.

use super::{Exit, Printer, list, load, options::SourceOptions};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the function should do, in your own words
    #[arg(required = true)]
    words: Vec<String>,
    /// Only in this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// How many hits to show, at most 200 [default: 8]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Go on where the last page ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    sources: SourceOptions,
}

/// Shows the best hits first. Finding nothing is an answer, not a failure.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let engine = load::open(args.sources.read()?, printer).await?;
    let text = args.words.join(" ");
    let found = engine.search(
        &text,
        args.source.as_deref(),
        args.cursor.as_deref(),
        args.limit,
    )?;
    if printer.is_json() {
        printer.value(&found)?;
    } else if found.page.items.is_empty() {
        printer.note(&nothing(&text, &found.did_you_mean));
    } else {
        list::table(&found.page.items, printer)?;
        list::more(&found.page, printer);
    }
    Ok(Exit::OK)
}

fn nothing(text: &str, near: &[String]) -> String {
    if near.is_empty() {
        return format!("nothing found for `{text}`; `toolscript list` shows what there is");
    }
    format!(
        "nothing found for `{text}`; did you mean {}?",
        near.join(", ")
    )
}
