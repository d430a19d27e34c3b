//! Counts the tokens of standard input, as a language model would.
#![expect(clippy::print_stdout, reason = "this is all the program is for")]

use std::io::Read as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    println!(
        "{}",
        tiktoken_rs::o200k_base()?.encode_ordinary(&text).len()
    );
    Ok(())
}
