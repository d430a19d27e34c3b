//! Files beneath a folder, and nothing outside it, whatever links say and whenever they change.
//!
//! The system itself walks from the open folder to the file and refuses every link on the way, so
//! there is no moment between a check and the use of what was checked.

use std::{io, path::Path};

/// The most entries a search of a folder looks at.
const MOST_ENTRIES: usize = 20_000;
/// How deep a search goes.
const DEEPEST: usize = 32;

/// Why something beneath a folder cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ConfinedError {
    /// The path could lead out of the folder.
    #[error(
        "`{0}` leads out of the folder: write a path below it, without `..` or a slash in front"
    )]
    Outside(String),
    /// There is a link on the way.
    #[error("`{0}` is a link or lies behind one, and links are not followed")]
    Link(String),
    /// Nothing is there.
    #[error("there is no `{0}`")]
    Missing(String),
    /// It is a folder, a device or the like.
    #[error("`{0}` is not an ordinary file")]
    NotAFile(String),
    /// It is too large.
    #[error("`{path}` has more than the {most} bytes allowed")]
    TooLarge {
        /// What.
        path: String,
        /// The limit.
        most: u64,
    },
    /// A search found no end.
    #[error("`{0}` has too many entries to list; name a folder further down")]
    TooMany(String),
    /// The system said no.
    #[error("`{path}` cannot be read: {cause}")]
    System {
        /// What.
        path: String,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

/// Something found in a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// The path from the folder that was searched, with slashes.
    pub path: String,
    /// Whether it is a folder itself.
    pub is_folder: bool,
}

/// Reads an ordinary file beneath `folder`. Blocks while it reads.
pub fn read(folder: &Path, path: &str, most: u64) -> Result<Vec<u8>, ConfinedError> {
    system::read(folder, path, &parts(path)?, most)
}

/// Everything in a folder beneath `folder`, and in the folders in it where `deep` says so, in
/// order. Links are left out. Blocks while it reads.
pub fn list(folder: &Path, path: &str, deep: Depth) -> Result<Vec<Found>, ConfinedError> {
    let mut found = system::list(folder, path, &parts(path)?, deep)?;
    found.sort();
    Ok(found)
}

/// How far a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The folder alone.
    Folder,
    /// The folders in it too.
    Everything,
}

/// The steps of a relative path.
fn parts(path: &str) -> Result<Vec<&str>, ConfinedError> {
    let outside = || ConfinedError::Outside(path.to_owned());
    if path.starts_with('/') || path.contains(['\0', '\\']) {
        return Err(outside());
    }
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if parts.contains(&"..") {
        return Err(outside());
    }
    Ok(parts)
}

#[cfg(unix)]
mod system {
    //! Unix: the system refuses links while it opens.

    use std::{
        fs::File,
        io::Read as _,
        os::fd::{AsFd, OwnedFd},
        path::Path,
    };

    use rustix::{
        fs::{self, Dir, FileType, Mode, OFlags},
        io::Errno,
    };

    use super::{ConfinedError, DEEPEST, Depth, Found, MOST_ENTRIES};

    /// A pipe nobody writes to must not hold us, and a terminal must not become ours.
    const FILE: OFlags = OFlags::RDONLY
        .union(OFlags::NONBLOCK)
        .union(OFlags::NOCTTY)
        .union(OFlags::NOFOLLOW)
        .union(OFlags::CLOEXEC);
    const FOLDER: OFlags = OFlags::RDONLY
        .union(OFlags::DIRECTORY)
        .union(OFlags::NOFOLLOW)
        .union(OFlags::CLOEXEC);

    pub(super) fn read(
        folder: &Path,
        path: &str,
        parts: &[&str],
        most: u64,
    ) -> Result<Vec<u8>, ConfinedError> {
        let system = |errno| refusal(path, errno);
        let opened = open(folder, parts, FILE).map_err(system)?;
        let about = fs::fstat(&opened).map_err(system)?;
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            return Err(ConfinedError::NotAFile(path.to_owned()));
        }
        let mut bytes = Vec::new();
        let read = File::from(opened).take(most + 1).read_to_end(&mut bytes);
        read.map_err(|cause| ConfinedError::System {
            path: path.to_owned(),
            cause,
        })?;
        if most < bytes.len() as u64 {
            return Err(ConfinedError::TooLarge {
                path: path.to_owned(),
                most,
            });
        }
        Ok(bytes)
    }

    pub(super) fn list(
        folder: &Path,
        path: &str,
        parts: &[&str],
        depth: Depth,
    ) -> Result<Vec<Found>, ConfinedError> {
        let system = |errno| refusal(path, errno);
        let mut found = Vec::new();
        let mut open_folders = vec![(
            open(folder, parts, FOLDER).map_err(system)?,
            String::new(),
            0,
        )];
        while let Some((opened, prefix, level)) = open_folders.pop() {
            for entry in Dir::read_from(&opened).map_err(system)? {
                let entry = entry.map_err(system)?;
                let Some(name) = entry
                    .file_name()
                    .to_str()
                    .ok()
                    .filter(|name| !is_dots(name))
                else {
                    continue;
                };
                let Some(kind) = kind(&opened, name, entry.file_type()) else {
                    continue;
                };
                if found.len() == MOST_ENTRIES {
                    return Err(ConfinedError::TooMany(path.to_owned()));
                }
                let is_folder = kind == FileType::Directory;
                let below = format!("{prefix}{name}");
                // What cannot be entered is listed all the same.
                if is_folder
                    && depth == Depth::Everything
                    && level < DEEPEST
                    && let Ok(inner) = fs::openat(&opened, name, FOLDER, Mode::empty())
                {
                    open_folders.push((inner, format!("{below}/"), level + 1));
                }
                found.push(Found {
                    path: below,
                    is_folder,
                });
            }
        }
        Ok(found)
    }

    fn is_dots(name: &str) -> bool {
        name == "." || name == ".."
    }

    /// What an entry is, where it is a file or a folder.
    fn kind(folder: &OwnedFd, name: &str, told: FileType) -> Option<FileType> {
        let kind = match told {
            // Some file systems do not say.
            FileType::Unknown => {
                let about = fs::statat(folder, name, fs::AtFlags::SYMLINK_NOFOLLOW).ok()?;
                FileType::from_raw_mode(about.st_mode)
            }
            told => told,
        };
        matches!(kind, FileType::RegularFile | FileType::Directory).then_some(kind)
    }

    /// Opens what stands beneath a folder. The folder itself may be reached by links: its path
    /// is the operator's.
    fn open(folder: &Path, parts: &[&str], flags: OFlags) -> Result<OwnedFd, Errno> {
        let root = fs::open(
            folder,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        if parts.is_empty() {
            return fs::openat(&root, ".", flags, Mode::empty());
        }
        #[cfg(target_os = "linux")]
        match in_one_step(&root, parts, flags) {
            // An old kernel, or a sandbox around us that does not know the call.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
            outcome => return outcome,
        }
        step_by_step(root, parts, flags)
    }

    #[cfg(target_os = "linux")]
    fn in_one_step(root: impl AsFd, parts: &[&str], flags: OFlags) -> Result<OwnedFd, Errno> {
        use rustix::fs::ResolveFlags;
        let rules = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        fs::openat2(root, parts.join("/"), flags, Mode::empty(), rules)
    }

    /// The same where the system cannot do it at once: each step starts from an open folder, and
    /// no step follows a link.
    pub(super) fn step_by_step(
        root: OwnedFd,
        parts: &[&str],
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        let Some((last, folders)) = parts.split_last() else {
            return Ok(root);
        };
        let mut at = root;
        for folder in folders {
            at = fs::openat(&at, *folder, FOLDER, Mode::empty())?;
        }
        fs::openat(&at, *last, flags, Mode::empty())
    }

    fn refusal(path: &str, errno: Errno) -> ConfinedError {
        let path = path.to_owned();
        match errno {
            Errno::LOOP | Errno::XDEV | Errno::MLINK => ConfinedError::Link(path),
            Errno::NOENT => ConfinedError::Missing(path),
            // A socket, or a device without a driver.
            Errno::NXIO => ConfinedError::NotAFile(path),
            other => ConfinedError::System {
                path,
                cause: other.into(),
            },
        }
    }

    #[cfg(test)]
    pub(super) fn read_step_by_step(folder: &Path, path: &str) -> Result<Vec<u8>, ConfinedError> {
        let root = fs::open(folder, FOLDER, Mode::empty()).unwrap();
        let parts = super::parts(path)?;
        let opened = step_by_step(root, &parts, FILE).map_err(|errno| refusal(path, errno))?;
        let mut bytes = Vec::new();
        let read = File::from(opened).read_to_end(&mut bytes);
        read.map_err(|cause| ConfinedError::System {
            path: path.to_owned(),
            cause,
        })?;
        Ok(bytes)
    }
}

#[cfg(not(unix))]
mod system {
    //! Elsewhere there is no way to open a file without following links, so nothing is opened.

    use std::{io, path::Path};

    use super::{ConfinedError, Depth, Found};

    pub(super) fn read(
        _folder: &Path,
        path: &str,
        _parts: &[&str],
        _most: u64,
    ) -> Result<Vec<u8>, ConfinedError> {
        Err(unsupported(path))
    }

    pub(super) fn list(
        _folder: &Path,
        path: &str,
        _parts: &[&str],
        _depth: Depth,
    ) -> Result<Vec<Found>, ConfinedError> {
        Err(unsupported(path))
    }

    fn unsupported(path: &str) -> ConfinedError {
        ConfinedError::System {
            path: path.to_owned(),
            cause: io::Error::from(io::ErrorKind::Unsupported),
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::{
        fs,
        os::unix::fs::symlink,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        thread,
    };
    use tempfile::TempDir;

    /// A folder with files in it, beside a secret outside it.
    struct Stage {
        around: TempDir,
    }

    impl Stage {
        fn new() -> Self {
            let around = TempDir::new().unwrap();
            let stage = Self { around };
            fs::create_dir_all(stage.folder().join("notes/deep")).unwrap();
            fs::write(stage.folder().join("a.txt"), "inside").unwrap();
            fs::write(stage.folder().join("notes/b.md"), "below").unwrap();
            fs::write(stage.folder().join("notes/deep/c.md"), "deeper").unwrap();
            fs::write(stage.around.path().join("secret"), "outside").unwrap();
            stage
        }

        fn folder(&self) -> std::path::PathBuf {
            self.around.path().join("tool")
        }

        fn read(&self, path: &str) -> Result<Vec<u8>, ConfinedError> {
            read(&self.folder(), path, 100)
        }

        #[track_caller]
        fn refused(&self, path: &str, words: &str) {
            let error = self.read(path).unwrap_err().to_string();
            assert!(error.contains(words), "{path}: {error}");
            let slowly = system::read_step_by_step(&self.folder(), path);
            assert_ne!(slowly.ok().as_deref(), Some(&b"outside"[..]), "{path}");
        }
    }

    #[test]
    fn what_lies_beneath_is_read() {
        let stage = Stage::new();
        assert_eq!(stage.read("a.txt").unwrap(), b"inside");
        assert_eq!(stage.read("./notes//b.md").unwrap(), b"below");
        let slowly = system::read_step_by_step(&stage.folder(), "notes/b.md");
        assert_eq!(slowly.unwrap(), b"below");
    }

    #[test]
    fn every_way_out_is_closed() {
        let stage = Stage::new();
        let secret = stage.around.path().join("secret");
        symlink(&secret, stage.folder().join("link")).unwrap();
        symlink("../secret", stage.folder().join("relative")).unwrap();
        symlink(stage.around.path(), stage.folder().join("up")).unwrap();
        symlink("a.txt", stage.folder().join("inner")).unwrap();
        stage.refused("../secret", "leads out");
        stage.refused("notes/../../secret", "leads out");
        stage.refused("notes/..", "leads out");
        stage.refused(&secret.display().to_string(), "leads out");
        stage.refused("/etc/passwd", "leads out");
        stage.refused("..\\secret", "leads out");
        stage.refused("a.txt\0", "leads out");
        stage.refused("link", "link");
        stage.refused("relative", "link");
        stage.refused("up/secret", "link");
        stage.refused("up", "link");
        stage.refused("inner", "link");
        stage.refused("/proc/self/root/etc/passwd", "leads out");
    }

    #[test]
    fn only_ordinary_files_are_read() {
        let stage = Stage::new();
        stage.refused("notes", "not an ordinary file");
        stage.refused("gone", "there is no `gone`");
        let pipe = std::process::Command::new("mkfifo")
            .arg(stage.folder().join("pipe"))
            .status();
        assert!(pipe.unwrap().success());
        let error = stage.read("pipe").unwrap_err().to_string();
        assert!(error.contains("not an ordinary file"), "{error}");
        fs::write(stage.folder().join("large"), "x".repeat(101)).unwrap();
        let error = stage.read("large").unwrap_err();
        assert!(matches!(error, ConfinedError::TooLarge { .. }), "{error}");
    }

    #[test]
    fn links_are_not_listed_and_not_entered() {
        let stage = Stage::new();
        symlink(stage.around.path(), stage.folder().join("up")).unwrap();
        symlink("/etc/passwd", stage.folder().join("notes/passwd")).unwrap();
        let paths = |path: &str, depth| -> Vec<String> {
            let found = list(&stage.folder(), path, depth).unwrap();
            found.into_iter().map(|found| found.path).collect()
        };
        assert_eq!(paths("", Depth::Folder), ["a.txt", "notes"]);
        assert_eq!(paths("notes", Depth::Folder), ["b.md", "deep"]);
        assert_eq!(
            paths(".", Depth::Everything),
            [
                "a.txt",
                "notes",
                "notes/b.md",
                "notes/deep",
                "notes/deep/c.md"
            ]
        );
        for path in ["up", "..", "/", "a.txt"] {
            assert!(
                list(&stage.folder(), path, Depth::Folder).is_err(),
                "{path}"
            );
        }
    }

    /// Swaps a file, and a folder on the way to one, for links to the outside while both are read.
    #[test]
    fn a_swap_between_check_and_use_gains_nothing() {
        let stage = Stage::new();
        let folder = stage.folder();
        fs::create_dir_all(stage.around.path().join("evil")).unwrap();
        fs::write(stage.around.path().join("evil/b.md"), "outside").unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let swapper = thread::spawn({
            let (done, folder, around) =
                (done.clone(), folder.clone(), stage.around.path().to_owned());
            move || {
                while !done.load(Ordering::Relaxed) {
                    symlink(around.join("secret"), folder.join("new")).unwrap();
                    fs::rename(folder.join("new"), folder.join("a.txt")).unwrap();
                    fs::write(folder.join("new"), "inside").unwrap();
                    fs::rename(folder.join("new"), folder.join("a.txt")).unwrap();
                    fs::rename(folder.join("notes"), folder.join("aside")).unwrap();
                    symlink(around.join("evil"), folder.join("notes")).unwrap();
                    fs::remove_file(folder.join("notes")).unwrap();
                    fs::rename(folder.join("aside"), folder.join("notes")).unwrap();
                }
            }
        });
        let (mut inside, mut refused) = (0, 0);
        for _ in 0..5_000 {
            for path in ["a.txt", "notes/b.md"] {
                for outcome in [
                    read(&folder, path, 100),
                    system::read_step_by_step(&folder, path),
                ] {
                    match outcome {
                        Ok(text) => {
                            assert_ne!(text, b"outside", "{path} led outside");
                            inside += 1;
                        }
                        Err(_) => refused += 1,
                    }
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
        assert!(0 < inside && 0 < refused, "{inside} {refused}");
    }
}
