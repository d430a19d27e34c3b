//! Standard input and output as a client's transport.
//!
//! A client speaks through pipes or sockets, which can be waited for like any connection. The
//! runtime's own standard streams work with everything, but hand each read and write to a thread
//! and back, which takes longer than a script.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    os::unix::net,
};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use tokio::{
    io::{Stdin, Stdout},
    net::{UnixStream, unix::pipe},
};
use tokio_util::either::Either;

/// What a client writes to us.
type Input = Either<Either<pipe::Receiver, UnixStream>, Stdin>;
/// What it reads of us.
type Output = Either<Either<pipe::Sender, UnixStream>, Stdout>;

/// Leaves the streams as they were found: other programs may go on with them.
#[derive(Debug)]
pub(super) struct Borrowed {
    _flags: Vec<Flags>,
}

/// The streams of this process, until what comes with them is dropped.
pub(super) fn streams() -> ((Input, Output), Borrowed) {
    let (input, output) = (io::stdin(), io::stdout());
    let mut flags = Vec::new();
    let reads = match connection(input.as_fd(), pipe::Receiver::from_owned_fd) {
        Ok(Some((end, before))) => {
            flags.push(before);
            Either::Left(end)
        }
        Ok(None) | Err(_) => Either::Right(tokio::io::stdin()),
    };
    // Nobody who writes an error expects that it may have to wait.
    let written = if is_same(output.as_fd(), io::stderr().as_fd()) {
        Ok(None)
    } else {
        connection(output.as_fd(), pipe::Sender::from_owned_fd)
    };
    let writes = match written {
        Ok(Some((end, before))) => {
            flags.push(before);
            Either::Left(end)
        }
        Ok(None) | Err(_) => Either::Right(tokio::io::stdout()),
    };
    ((reads, writes), Borrowed { _flags: flags })
}

/// A stream that can be waited for. Terminals and files cannot: that takes a thread.
fn connection<P>(
    stream: BorrowedFd<'_>,
    pipe: impl FnOnce(OwnedFd) -> io::Result<P>,
) -> io::Result<Option<(Either<P, UnixStream>, Flags)>> {
    let before = Flags::of(stream)?;
    let end = stream.try_clone_to_owned()?;
    Ok(match FileType::from_raw_mode(fstat(stream)?.st_mode) {
        FileType::Fifo => Some((Either::Left(pipe(end)?), before)),
        FileType::Socket => {
            let stream = net::UnixStream::from(end);
            stream.set_nonblocking(true)?;
            Some((Either::Right(UnixStream::from_std(stream)?), before))
        }
        _ => None,
    })
}

fn is_same(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> bool {
    let identity = |stream| fstat(stream).map(|file| (file.st_dev, file.st_ino));
    identity(a).is_ok_and(|a| identity(b) == Ok(a))
}

/// The flags a stream had; they belong to everybody who holds the stream.
#[derive(Debug)]
struct Flags {
    stream: OwnedFd,
    before: OFlags,
}

impl Flags {
    fn of(stream: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self {
            stream: stream.try_clone_to_owned()?,
            before: fcntl_getfl(stream)?,
        })
    }
}

impl Drop for Flags {
    fn drop(&mut self) {
        // Whoever comes next copes with what it finds.
        fcntl_setfl(&self.stream, self.before).ok();
    }
}
