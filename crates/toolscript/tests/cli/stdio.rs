//! Standard input and output of every kind: each carries a whole conversation.

use std::{
    fs::File,
    io::{Read, Write},
    net::Shutdown,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::Stdio,
};

use rustix::{
    fs::{OFlags, fcntl_getfl},
    pipe::pipe,
};
use serde_json::json;

use crate::sandbox::Sandbox;

/// A conversation: hello, and one script.
fn conversation() -> String {
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "execute_script", "arguments": {"script": "return 40 + 2"}}}),
    ];
    messages.map(|message| format!("{message}\n")).concat()
}

/// Runs the program on these streams to its end.
fn run(sandbox: &Sandbox, streams: [OwnedFd; 2], errors: Stdio) {
    let [input, output] = streams;
    let mut command = sandbox.command(&["run", "--quiet"]);
    command.stdin(input).stdout(output).stderr(errors);
    let status = command.status().unwrap();
    assert!(status.success(), "{status}");
}

#[track_caller]
fn is_answered(heard: &str) {
    assert!(heard.contains(r#""result":42"#), "{heard}");
}

#[test]
fn pipes_are_left_as_they_were() {
    let sandbox = Sandbox::with_pets();
    let (their_input, our_output) = pipe().unwrap();
    let (our_input, their_output) = pipe().unwrap();
    let kept = [&their_input, &their_output].map(|end| end.try_clone().unwrap());
    File::from(our_output)
        .write_all(conversation().as_bytes())
        .unwrap();
    run(&sandbox, [their_input, their_output], Stdio::null());
    for end in &kept {
        let flags = fcntl_getfl(end.as_fd()).unwrap();
        assert!(!flags.contains(OFlags::NONBLOCK), "{flags:?}");
    }
    drop(kept);
    let mut heard = String::new();
    File::from(our_input).read_to_string(&mut heard).unwrap();
    is_answered(&heard);
}

#[test]
fn one_socket_for_both_ways() {
    let sandbox = Sandbox::with_pets();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(conversation().as_bytes()).unwrap();
    ours.shutdown(Shutdown::Write).unwrap();
    let streams = [theirs.try_clone().unwrap().into(), theirs.into()];
    run(&sandbox, streams, Stdio::null());
    let mut heard = String::new();
    ours.read_to_string(&mut heard).unwrap();
    is_answered(&heard);
}

#[test]
fn files_at_both_ends() {
    let sandbox = Sandbox::with_pets();
    let [asked, told] = ["asked", "told"].map(|name| sandbox.path(name));
    std::fs::write(&asked, conversation()).unwrap();
    let streams = [
        File::open(&asked).unwrap().into(),
        File::create(&told).unwrap().into(),
    ];
    run(&sandbox, streams, Stdio::null());
    is_answered(&std::fs::read_to_string(&told).unwrap());
}

#[test]
fn errors_into_the_same_pipe() {
    let sandbox = Sandbox::with_pets();
    let (their_input, our_output) = pipe().unwrap();
    let (our_input, their_output) = pipe().unwrap();
    File::from(our_output)
        .write_all(conversation().as_bytes())
        .unwrap();
    let errors = Stdio::from(their_output.try_clone().unwrap());
    run(&sandbox, [their_input, their_output], errors);
    let mut heard = String::new();
    File::from(our_input).read_to_string(&mut heard).unwrap();
    is_answered(&heard);
}
