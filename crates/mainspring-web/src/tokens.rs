//! The file of tokens: who may ask over HTTP, and what.
//!
//! ```text
//! DATA/tokens, mode 0600:  NAME SCOPE SHA-256
//!                          mara operate fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9
//! ```
//!
//! A token is 256 random bits, shown once when it is made. The file has its hash alone, so that who reads a
//! copy of the file signs in nowhere. It is read again when it changes: a token that is taken out of it is
//! good no longer.
//!
//! Cost: one look at the file for each request that has a token or a session of one. A change waits until the
//! change before it is made.
//!
//! Does not stretch tokens: 256 bits cannot be guessed, however fast.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use mainspring_host::regular::open_regular;
use mainspring_job::{JobName, MAX_NAME_CHARS};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::server::login_codes::random_text;
use sha2::{Digest, Sha256};

use crate::scope::Scope;

/// How many random bytes a token has.
pub const TOKEN_BYTES: usize = 32;

/// The most tokens: people and programs of one machine.
const MAX_TOKENS: usize = 1_000;

/// The longest file: that many lines of the longest name.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// How many digits a hash has.
pub const HASH_CHARS: usize = 64;

const _: () = assert!(
    MAX_TOKENS * (MAX_NAME_CHARS + " operate ".len() + HASH_CHARS + 1) <= MAX_FILE_BYTES as usize,
    "what is written can be read again",
);

/// The permission bits of others, one of which is too many.
const OF_OTHERS: u32 = 0o077;

/// Who has a token.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token {
    /// Whose it is.
    pub name: String,
    /// What it allows.
    pub scope: Scope,
    /// The SHA-256 of it, in hexadecimal digits.
    pub hash: String,
}

/// What tells one version of the file from the next.
type Version = (u64, u64, i64, i64, u64);

/// The tokens as the file has them.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    version: Option<Version>,
    tokens: Vec<Token>,
}

/// Where the tokens of a data directory are.
pub fn path(data: &DataDirectory) -> PathBuf {
    data.directory().join("tokens")
}

/// The SHA-256 of a text or of bytes, in hexadecimal digits.
pub fn hash(text: impl AsRef<[u8]>) -> String {
    let digits = hexadecimal(&Sha256::digest(text));
    debug_assert_eq!(digits.len(), HASH_CHARS);
    digits
}

/// Bytes in hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn wrong(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

impl Tokens {
    /// Reads the file. There need not be one.
    ///
    /// # Errors
    ///
    /// When it cannot be read, another may read or could have written it, or a line of it is wrong.
    pub fn open(path: PathBuf) -> io::Result<Tokens> {
        let mut tokens = Tokens { path, version: None, tokens: Vec::new() };
        tokens.refresh()?;
        Ok(tokens)
    }

    /// Reads the file again if it is another one now.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open). No token is good then.
    pub fn refresh(&mut self) -> io::Result<()> {
        let version = match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (self.version, self.tokens) = (None, Vec::new());
                return Ok(());
            }
            found => {
                let found = found?;
                (found.dev(), found.ino(), found.ctime(), found.ctime_nsec(), found.len())
            }
        };
        if self.version == Some(version) {
            return Ok(());
        }
        (self.version, self.tokens) = (None, Vec::new());
        self.tokens = read(&self.path)?;
        self.version = Some(version);
        Ok(())
    }

    /// The owner of a token, if it is one.
    pub fn find(&self, token: &str) -> Option<&Token> {
        let hash = hash(token);
        self.tokens.iter().find(|known| known.hash == hash)
    }

    /// Whether a token is still there, with what it allows.
    pub fn has(&self, token: &Token) -> bool {
        self.tokens.contains(token)
    }

    /// All of them.
    pub fn all(&self) -> &[Token] {
        &self.tokens
    }
}

/// The text of a file that no other user may read or could have written.
///
/// # Errors
///
/// When one of that is not so, it is longer than this, or cannot be read.
pub fn private_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    let opened = open_regular(path)?;
    opened.judge(None)?;
    if opened.ownership.mode & OF_OTHERS != 0 {
        let text = format!(
            "its mode {:04o} lets others read who may sign in: take that away with chmod go= {}",
            opened.ownership.mode,
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    let text = io::read_to_string(opened.file.take(bytes_max + 1))?;
    if bytes_max < text.len() as u64 {
        return Err(wrong(format!("it is longer than {bytes_max} bytes")));
    }
    Ok(text)
}

fn read(path: &Path) -> io::Result<Vec<Token>> {
    let text = private_text(path, MAX_FILE_BYTES)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let tokens: Vec<Token> = lines
        .map(|(index, line)| parse(line).map_err(|why| wrong(format!("line {}: {why}", index + 1))))
        .collect::<Result<_, _>>()?;
    if MAX_TOKENS < tokens.len() {
        return Err(wrong(format!("there are more than {MAX_TOKENS} tokens")));
    }
    Ok(tokens)
}

fn parse(line: &str) -> Result<Token, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, scope, hash] = words[..] else { return Err("expected name, scope and hash".to_owned()) };
    JobName::new(name).map_err(|error| error.to_string())?;
    let is_hash =
        hash.len() == HASH_CHARS && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hash {
        return Err("the hash has 64 digits of 0-9 and a-f".to_owned());
    }
    Ok(Token { name: name.to_owned(), scope: scope.parse()?, hash: hash.to_owned() })
}

/// Makes a token for somebody, and returns it. It is nowhere else.
///
/// # Errors
///
/// When the name is none or has one already, or the file cannot be read or written.
pub fn add(data: &DataDirectory, name: &str, scope: Scope) -> io::Result<String> {
    JobName::new(name).map_err(|error| wrong(error.to_string()))?;
    let path = path(data);
    let _lock = lock(&path)?;
    let mut tokens = Tokens::open(path.clone())?.tokens;
    if tokens.iter().any(|token| token.name == name) {
        let text = format!("`{name}` has a token already: mainspring token remove {name} takes it away");
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    if MAX_TOKENS <= tokens.len() {
        return Err(wrong(format!("there are {MAX_TOKENS} tokens already, which is the limit")));
    }
    let token = random_text(TOKEN_BYTES)?;
    tokens.push(Token { name: name.to_owned(), scope, hash: hash(&token) });
    write(&path, &tokens)?;
    Ok(token)
}

/// Takes somebody's token away. Returns whether there was one.
///
/// # Errors
///
/// When the file cannot be read or written.
pub fn remove(data: &DataDirectory, name: &str) -> io::Result<bool> {
    let path = path(data);
    if !path.exists() {
        return Ok(false);
    }
    let _lock = lock(&path)?;
    let mut tokens = Tokens::open(path.clone())?.tokens;
    let count = tokens.len();
    tokens.retain(|token| token.name != name);
    if tokens.len() == count {
        return Ok(false);
    }
    write(&path, &tokens)?;
    Ok(true)
}

/// Keeps others from changing the file until it is dropped: a change that is read from an older file would
/// undo theirs. It is the folder that is locked, because each change puts another file in the place.
fn lock(path: &Path) -> io::Result<File> {
    let folder = File::open(folder(path))?;
    folder.lock()?;
    Ok(folder)
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// Writes all of the file, or nothing.
fn write(path: &Path, tokens: &[Token]) -> io::Result<()> {
    assert!(tokens.len() <= MAX_TOKENS);
    let new = path.with_extension(format!("new-{}", std::process::id()));
    // One that a process of the same number left behind.
    let _ = fs::remove_file(&new);
    let text: String =
        tokens.iter().map(|token| format!("{} {} {}\n", token.name, token.scope, token.hash)).collect();
    debug_assert!(text.lines().map(parse).eq(tokens.iter().cloned().map(Ok)), "it is read as it was written");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let renamed = written.and_then(|()| fs::rename(&new, path));
    if renamed.is_err() {
        let _ = fs::remove_file(&new);
    }
    renamed?;
    File::open(folder(path))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::thread;

    fn data(name: &str) -> DataDirectory {
        let folder = scratch::path(&format!("tokens-{name}"));
        let data = DataDirectory::find(Some(&folder));
        data.make().unwrap();
        data
    }

    #[test]
    fn a_token_is_good_from_when_it_is_made_until_it_is_taken_away() {
        let data = data("life");
        let mut tokens = Tokens::open(path(&data)).unwrap();
        assert!(tokens.all().is_empty());
        let mara = add(&data, "mara", Scope::Operate).unwrap();
        let nagios = add(&data, "nagios", Scope::Metrics).unwrap();
        assert_eq!(tokens.find(&mara), None, "it was not read yet");
        tokens.refresh().unwrap();
        let found = tokens.find(&mara).unwrap().clone();
        assert_eq!((found.name.as_str(), found.scope), ("mara", Scope::Operate));
        assert_eq!(tokens.find(&nagios).unwrap().scope, Scope::Metrics);
        assert_eq!(tokens.find(&found.hash), None, "the hash is no token");
        assert!(add(&data, "mara", Scope::Look).unwrap_err().to_string().contains("already"));
        assert!(add(&data, "no name", Scope::Look).is_err());
        assert!(remove(&data, "mara").unwrap());
        assert!(!remove(&data, "mara").unwrap());
        tokens.refresh().unwrap();
        assert!(!tokens.has(&found));
        assert_eq!(fs::metadata(path(&data)).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn changes_at_once_undo_no_other() {
        let data = data("at-once");
        let names: Vec<String> = (0..8).map(|number| format!("t{number}")).collect();
        add(&data, "old", Scope::Look).unwrap();
        thread::scope(|scope| {
            for name in &names {
                scope.spawn(|| add(&data, name, Scope::Look).unwrap());
            }
            scope.spawn(|| assert!(remove(&data, "old").unwrap()));
        });
        let tokens = Tokens::open(path(&data)).unwrap();
        let mut found: Vec<&str> = tokens.all().iter().map(|token| token.name.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, names);
    }

    #[test]
    fn a_file_that_others_may_read_or_that_is_a_link_is_refused() {
        let data = data("open");
        let token = add(&data, "mara", Scope::Look).unwrap();
        let mut tokens = Tokens::open(path(&data)).unwrap();
        fs::set_permissions(path(&data), Permissions::from_mode(0o640)).unwrap();
        assert!(tokens.refresh().unwrap_err().to_string().contains("chmod go="));
        assert_eq!(tokens.find(&token), None, "what was read before is forgotten");
        assert!(Tokens::open(path(&data)).is_err());
    }

    #[test]
    fn a_line_that_is_wrong_is_named() {
        let data = data("wrong");
        let good = format!("a look {}\n", hash("x"));
        for bad in ["b\n", "b look 1234\n", "b all 1\n", "../b look 1\n"] {
            write(&path(&data), &[]).unwrap();
            fs::write(path(&data), format!("{good}{bad}")).unwrap();
            let error = Tokens::open(path(&data)).unwrap_err().to_string();
            assert!(error.starts_with("line 2: "), "{bad}: {error}");
        }
    }
}
