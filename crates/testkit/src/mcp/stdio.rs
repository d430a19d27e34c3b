//! The fake as a program on pipes.

use std::{
    io::{BufRead as _, Write as _},
    process::{Command, ExitCode, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use serde_json::Value;

use super::{Fake, Plan, fake::Out};

/// Follows the plan on standard input and output.
pub fn serve(plan: Plan) -> ExitCode {
    let _other = plan.starts_another.then(start_another);
    for number in 0..plan.stderr_lines {
        drop(writeln!(std::io::stderr(), "line {number} of many"));
    }
    if let Some(code) = plan.exits_with {
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    thread::sleep(Duration::from_millis(plan.start_after_ms));
    for line in &plan.banner {
        say(line);
    }
    let (garbage, stays) = (plan.garbage.clone(), plan.ignores_the_end);
    let fake = Fake::new(plan);
    let out: Out = Arc::new(|message: Value| say(&message.to_string()));
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        match (&garbage, serde_json::from_str(&line)) {
            (Some(garbage), _) => say(garbage),
            (None, Ok(message)) => fake.hear(&message, &out),
            (None, Err(_)) => {}
        }
    }
    if stays {
        stay();
    }
    ExitCode::SUCCESS
}

fn stay() -> ! {
    loop {
        thread::park();
    }
}

fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    // Who does not listen any more will end us soon.
    drop(writeln!(stdout, "{line}"));
    drop(stdout.flush());
}

/// Something that would stay behind if only its parent were ended.
fn start_another() {
    let other = Command::new("sleep")
        .arg("1000")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    drop(other.expect("`sleep` is everywhere"));
}
