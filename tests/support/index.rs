//! A loopback index: the Simple API in both forms over wheels in memory or on disk, with byte ranges, validators,
//! request counting, and faults by name.
//!
//! It speaks plain HTTP/1.1 over std alone, one thread a connection, so that every byte on the wire is this file's own
//! doing. [`Options`] says what kind of mirror it is, [`Fault`] what goes wrong with the answers to some requests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use cuenv::domain::digest::Digest;
use sha2::Digest as _;

use super::wheel::Wheel;

/// What kind of mirror this is.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a kind of mirror, and they combine")]
pub struct Options {
    /// Lists in HTML only, whatever is asked for.
    pub html_only: bool,
    /// Answers 406 to everyone who asks for JSON.
    pub refuse_json: bool,
    /// Sends lists without a content type.
    pub no_content_type: bool,
    /// Sends lists as this type instead of the right one.
    pub content_type: Option<String>,
    /// Knows no ranges.
    pub no_range: bool,
    /// Knows no range that counts from the end.
    pub no_suffix_range: bool,
    /// Lists no digests.
    pub no_hashes: bool,
    /// Lists no sizes.
    pub no_sizes: bool,
    /// Promises a metadata file beside each wheel, and has it.
    pub metadata: bool,
    /// Promises a metadata file beside each wheel, and does not have it.
    pub metadata_missing: bool,
    /// Sends an ETag with every answer and honours `If-None-Match` and `If-Range`.
    pub etag: bool,
    /// Compresses lists for who accepts it.
    pub gzip: bool,
    /// Asks for this user and password.
    pub auth: Option<(String, String)>,
    /// Where the links of a list lead; empty for links relative to the page.
    pub files_at: Option<String>,
    /// HTML lists carry a `<base>` with this address.
    pub base: Option<String>,
}

/// What goes wrong with an answer. The first fault whose pattern is in the path applies.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The connection ends after so many bytes of the body.
    DropAfter(u64),
    /// The connection stays silent after so many bytes of the body.
    StallAfter(u64),
    /// This status, with a `Retry-After` if one is given.
    Status(u16, Option<String>),
    /// The byte at this offset of the file is flipped.
    WrongByte(u64),
    /// So many bytes at a time, with a pause between.
    Slow(usize, Duration),
    /// A redirect; `{path}` in the address is replaced by the path asked for.
    Redirect(String),
}

struct Planned {
    pattern: String,
    fault: Fault,
    /// How many more requests it applies to.
    left: usize,
}

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    /// Names in small letters.
    pub headers: BTreeMap<String, String>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

#[derive(Clone)]
enum Content {
    Bytes(Arc<Vec<u8>>),
    File(PathBuf, u64),
}

#[derive(Clone)]
struct Entry {
    file: String,
    content: Content,
    digest: Option<Digest>,
    yanked: Option<String>,
    uploaded: Option<String>,
    metadata: Option<String>,
}

#[derive(Default)]
struct State {
    options: Options,
    projects: BTreeMap<String, Vec<Entry>>,
    faults: Vec<Planned>,
    requests: Vec<Request>,
    connections: usize,
}

/// Anything that can carry a conversation: a socket, or TLS over one.
pub trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// Turns an accepted socket into a conversation.
pub type Wrap = Box<dyn Fn(TcpStream) -> io::Result<Box<dyn Stream>> + Send + Sync>;

/// A running server. It stops answering when dropped; its threads end with the process.
pub struct Index {
    scheme: &'static str,
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Index {
    pub fn start() -> Self {
        Self::start_on("127.0.0.1:0")
    }

    pub fn start_on(address: &str) -> Self {
        Self::serve("http", address, Box::new(|socket| Ok(Box::new(socket))))
    }

    /// Serves with `wrap` between socket and conversation, for TLS.
    pub fn serve(scheme: &'static str, address: &str, wrap: Wrap) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::downgrade(&state);
        let wrap = Arc::new(wrap);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let Some(state) = shared.upgrade() else { return };
                state.lock().unwrap().connections += 1;
                let wrap = Arc::clone(&wrap);
                thread::spawn(move || {
                    let _ = socket.set_nodelay(true);
                    if let Ok(mut stream) = wrap(socket) {
                        let _ = converse(&mut *stream, &state);
                    }
                });
            }
        });
        Self { scheme, port, state }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address without a path.
    pub fn origin(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }

    /// The index's own address.
    pub fn url(&self) -> String {
        format!("{}/simple", self.origin())
    }

    pub fn set(&self, change: impl FnOnce(&mut Options)) {
        change(&mut self.state.lock().unwrap().options);
    }

    pub fn add(&self, wheel: &Wheel) {
        self.add_with(wheel, None, None);
    }

    /// Adds a wheel that is withdrawn, or has a date.
    pub fn add_with(&self, wheel: &Wheel, yanked: Option<&str>, uploaded: Option<&str>) {
        let entry = Entry {
            file: wheel.file.clone(),
            digest: Some(wheel.digest()),
            content: Content::Bytes(Arc::new(wheel.bytes.clone())),
            yanked: yanked.map(str::to_owned),
            uploaded: uploaded.map(str::to_owned),
            metadata: Some(wheel.metadata.clone()),
        };
        self.insert(&wheel.distribution, entry);
    }

    /// Adds any bytes under any name, listed under `distribution`.
    pub fn add_bytes(&self, distribution: &str, file: &str, bytes: &[u8]) {
        let entry = Entry {
            file: file.to_owned(),
            digest: Some(Digest::of(bytes)),
            content: Content::Bytes(Arc::new(bytes.to_vec())),
            yanked: None,
            uploaded: None,
            metadata: None,
        };
        self.insert(distribution, entry);
    }

    /// Adds a file of this machine; its digest is read from `<path>.sha256` or computed and written there.
    pub fn add_file(&self, path: &Path) {
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let distribution = file.split('-').next().unwrap().replace('_', "-").to_lowercase();
        let size = std::fs::metadata(path).unwrap().len();
        let entry = Entry {
            file,
            digest: Some(file_digest(path)),
            content: Content::File(path.to_owned(), size),
            yanked: None,
            uploaded: None,
            metadata: None,
        };
        self.insert(&distribution, entry);
    }

    /// Every file in memory, by name.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let state = self.state.lock().unwrap();
        let entries = state.projects.values().flatten();
        entries
            .filter_map(|entry| match &entry.content {
                Content::Bytes(bytes) => Some((entry.file.clone(), bytes.to_vec())),
                Content::File(..) => None,
            })
            .collect()
    }

    /// Removes every file of a distribution, and the distribution.
    pub fn remove(&self, distribution: &str) {
        self.state.lock().unwrap().projects.remove(distribution);
    }

    fn insert(&self, distribution: &str, entry: Entry) {
        let mut state = self.state.lock().unwrap();
        state.projects.entry(distribution.to_owned()).or_default().push(entry);
    }

    /// Applies a fault to the next `times` requests whose path holds `pattern`.
    pub fn fault(&self, pattern: &str, times: usize, fault: Fault) {
        let planned = Planned { pattern: pattern.to_owned(), fault, left: times };
        self.state.lock().unwrap().faults.push(planned);
    }

    /// Plans no fault any more.
    pub fn clear_faults(&self) {
        self.state.lock().unwrap().faults.clear();
    }

    /// Every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().unwrap().requests.clone()
    }

    /// How many requests had `pattern` in their path.
    pub fn count(&self, pattern: &str) -> usize {
        self.requests().iter().filter(|request| request.path.contains(pattern)).count()
    }

    /// How many connections were made, refused ones of other protocols included.
    pub fn connections(&self) -> usize {
        self.state.lock().unwrap().connections
    }

    /// Forgets the requests so far.
    pub fn forget(&self) {
        let mut state = self.state.lock().unwrap();
        state.requests.clear();
        state.connections = 0;
    }
}

fn file_digest(path: &Path) -> Digest {
    let note = PathBuf::from(format!("{}.sha256", path.display()));
    if let Some(known) =
        std::fs::read_to_string(&note).ok().and_then(|text| text.trim().parse().ok())
    {
        return known;
    }
    let mut hasher = sha2::Sha256::new();
    let mut file = std::fs::File::open(path).unwrap();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer).unwrap() {
            0 => break,
            count => hasher.update(&buffer[..count]),
        }
    }
    let digest = Digest::from_bytes(hasher.finalize().into());
    let _ = std::fs::write(note, digest.to_string());
    digest
}

/// What is sent back.
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    content: Content,
    /// The part of the content that is sent.
    part: (u64, u64),
}

impl Answer {
    fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), content: Content::Bytes(Arc::default()), part: (0, 0) }
    }

    fn text(text: String) -> Self {
        let end = text.len() as u64;
        let content = Content::Bytes(Arc::new(text.into_bytes()));
        Self { status: 200, headers: Vec::new(), content, part: (0, end) }
    }
}

fn converse(stream: &mut dyn Stream, state: &Mutex<State>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader)? {
        let (answer, fault) = {
            let mut state = state.lock().unwrap();
            state.requests.push(request.clone());
            let fault = take_fault(&mut state.faults, &request.path);
            (answer(&state, &request, fault.as_ref()), fault)
        };
        if !send(*reader.get_mut(), &answer, fault.as_ref())?
            || request.header("connection") == Some("close")
        {
            return Ok(());
        }
    }
    Ok(())
}

fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    // What a proxy is asked begins with the whole address.
    let path = match path.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/".to_owned(), |at| rest[at..].to_owned()),
        None => path,
    };
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.insert(name.to_lowercase(), value.trim().to_owned());
            }
            None => return Ok(Some(Request { path, headers })),
        }
    }
}

fn take_fault(faults: &mut [Planned], path: &str) -> Option<Fault> {
    let planned =
        faults.iter_mut().find(|planned| planned.left > 0 && path.contains(&planned.pattern))?;
    planned.left -= 1;
    Some(planned.fault.clone())
}

fn answer(state: &State, request: &Request, fault: Option<&Fault>) -> Answer {
    match fault {
        Some(Fault::Status(status, retry_after)) => {
            let mut answer = Answer::empty(*status);
            answer.headers.extend(retry_after.clone().map(|value| ("retry-after", value)));
            return answer;
        }
        Some(Fault::Redirect(to)) => {
            let mut answer = Answer::empty(302);
            answer.headers.push(("location", to.replace("{path}", &request.path)));
            return answer;
        }
        _ => {}
    }
    if let Some((user, password)) = &state.options.auth {
        let expected = format!("Basic {}", base64(format!("{user}:{password}").as_bytes()));
        if request.header("authorization") != Some(&expected) {
            let mut answer = Answer::empty(401);
            answer.headers.push(("www-authenticate", "Basic realm=\"index\"".to_owned()));
            return answer;
        }
    }
    let path = request.path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts[..] {
        ["simple", project] if !path.ends_with('/') => {
            let mut answer = Answer::empty(308);
            answer.headers.push(("location", format!("/simple/{project}/")));
            answer
        }
        ["simple", project] => match state.projects.get(project) {
            Some(entries) => listing(state, project, entries, request),
            None => Answer::empty(404),
        },
        ["files", file] => file_answer(state, file, request),
        _ => Answer::empty(404),
    }
}

fn listing(state: &State, project: &str, entries: &[Entry], request: &Request) -> Answer {
    let options = &state.options;
    let wants_json = request.header("accept").is_some_and(|types| types.contains("simple.v1+json"));
    if options.refuse_json && wants_json {
        return Answer::empty(406);
    }
    let json = wants_json && !options.html_only;
    let text =
        if json { json_page(options, project, entries) } else { html_page(options, entries) };
    let kind =
        if json { "application/vnd.pypi.simple.v1+json" } else { "text/html; charset=UTF-8" };
    let tag = format!("\"{}\"", Digest::of(text.as_bytes()).short());
    let mut answer = if options.etag && request.header("if-none-match") == Some(&tag) {
        Answer::empty(304)
    } else if options.gzip
        && request.header("accept-encoding").is_some_and(|list| list.contains("gzip"))
    {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        let bytes = encoder.finish().unwrap();
        let end = bytes.len() as u64;
        let headers = vec![("content-encoding", "gzip".to_owned())];
        Answer { status: 200, headers, content: Content::Bytes(Arc::new(bytes)), part: (0, end) }
    } else {
        Answer::text(text)
    };
    if options.etag {
        answer.headers.push(("etag", tag));
    }
    if !options.no_content_type {
        answer
            .headers
            .push(("content-type", options.content_type.clone().unwrap_or(kind.to_owned())));
    }
    answer
}

fn link(options: &Options, file: &str) -> String {
    match &options.files_at {
        Some(origin) => format!("{origin}/files/{file}"),
        None => format!("../../files/{file}"),
    }
}

fn json_page(options: &Options, project: &str, entries: &[Entry]) -> String {
    let files: Vec<_> = entries
        .iter()
        .map(|entry| {
            let mut file = serde_json::json!({
                "filename": entry.file,
                "url": link(options, &entry.file),
                "hashes": {},
                "requires-python": ">=3",
                "yanked": match entry.yanked.as_deref() {
                    None => serde_json::json!(false),
                    Some("") => serde_json::json!(true),
                    Some(reason) => serde_json::json!(reason),
                },
            });
            if let Some(digest) = entry.digest.filter(|_| !options.no_hashes) {
                file["hashes"]["sha256"] = digest.to_string().into();
            }
            if !options.no_sizes {
                file["size"] = size(&entry.content).into();
            }
            if let Some(uploaded) = &entry.uploaded {
                file["upload-time"] = uploaded.as_str().into();
            }
            if let Some(digest) = metadata_digest(options, entry) {
                file["core-metadata"] = serde_json::json!({ "sha256": digest.to_string() });
            }
            file
        })
        .collect();
    serde_json::json!({ "meta": { "api-version": "1.1" }, "name": project, "files": files })
        .to_string()
}

fn html_page(options: &Options, entries: &[Entry]) -> String {
    let mut page = String::from("<!DOCTYPE html>\n<html><head><title>Links</title>");
    if let Some(base) = &options.base {
        let _ = write!(page, "<base href=\"{base}\">");
    }
    page.push_str("</head><body>\n");
    for entry in entries {
        let mut href = link(options, &entry.file);
        if let Some(digest) = entry.digest.filter(|_| !options.no_hashes) {
            let _ = write!(href, "#sha256={digest}");
        }
        let _ = write!(page, "<a href=\"{href}\" data-requires-python=\"&gt;=3\"");
        if let Some(reason) = &entry.yanked {
            let _ = write!(page, " data-yanked=\"{reason}\"");
        }
        if let Some(digest) = metadata_digest(options, entry) {
            let _ = write!(page, " data-core-metadata=\"sha256={digest}\"");
        }
        let _ = writeln!(page, ">{}</a><br>", entry.file);
    }
    page.push_str("</body></html>\n");
    page
}

fn metadata_digest(options: &Options, entry: &Entry) -> Option<Digest> {
    let promised = options.metadata || options.metadata_missing;
    entry.metadata.as_ref().filter(|_| promised).map(|text| Digest::of(text.as_bytes()))
}

fn file_answer(state: &State, file: &str, request: &Request) -> Answer {
    let options = &state.options;
    let entries = || state.projects.values().flatten();
    if let Some(wheel) = file.strip_suffix(".metadata") {
        let found =
            entries().find(|entry| entry.file == wheel).and_then(|entry| entry.metadata.clone());
        return match found.filter(|_| options.metadata) {
            Some(text) => Answer::text(text),
            None => Answer::empty(404),
        };
    }
    let Some(entry) = entries().find(|entry| entry.file == file) else { return Answer::empty(404) };
    let total = size(&entry.content);
    let content = entry.content.clone();
    let mut answer = Answer { status: 200, headers: Vec::new(), content, part: (0, total) };
    let tag = entry.digest.map(|digest| format!("\"{}\"", digest.short())).filter(|_| options.etag);
    answer.headers.extend(tag.clone().map(|tag| ("etag", tag)));
    answer.headers.push(("content-type", "application/octet-stream".to_owned()));
    // Without a validator of its own, a server takes every `If-Range` for another file's.
    let changed = request.header("if-range").is_some_and(|asked| Some(asked) != tag.as_deref());
    if let Some(range) = request.header("range").filter(|_| !options.no_range && !changed) {
        let suffix = range.starts_with("bytes=-");
        if !(suffix && options.no_suffix_range) {
            if let Some((start, end)) = span(range, total) {
                let sent = format!("bytes {start}-{}/{total}", end - 1);
                answer.status = 206;
                answer.part = (start, end);
                answer.headers.push(("content-range", sent));
            } else {
                answer = Answer::empty(416);
                answer.headers.push(("content-range", format!("bytes */{total}")));
            }
        }
    }
    answer
}

fn span(range: &str, total: u64) -> Option<(u64, u64)> {
    let (start, end) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (start, end) = match (start.parse::<u64>().ok(), end.parse::<u64>().ok()) {
        (Some(start), Some(last)) => (start, last.saturating_add(1).min(total)),
        (Some(start), None) => (start, total),
        (None, Some(count)) => (total.saturating_sub(count), total),
        (None, None) => return None,
    };
    (start < end).then_some((start, end))
}

fn size(content: &Content) -> u64 {
    match content {
        Content::Bytes(bytes) => bytes.len() as u64,
        Content::File(_, size) => *size,
    }
}

/// Sends the answer; false if the connection must end here.
fn send(stream: &mut dyn Write, answer: &Answer, fault: Option<&Fault>) -> io::Result<bool> {
    let (start, end) = answer.part;
    let mut head = format!("HTTP/1.1 {} X\r\ncontent-length: {}\r\n", answer.status, end - start);
    for (name, value) in &answer.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    let (limit, chunk, pause) = match fault {
        Some(Fault::DropAfter(bytes) | Fault::StallAfter(bytes)) => (*bytes, 1 << 18, None),
        Some(Fault::Slow(bytes, pause)) => (u64::MAX, *bytes, Some(*pause)),
        _ => (u64::MAX, 1 << 18, None),
    };
    let flipped = match fault {
        Some(Fault::WrongByte(at)) => Some(*at),
        _ => None,
    };
    let mut at = start;
    let mut file = match &answer.content {
        Content::File(path, _) => {
            let mut file = std::fs::File::open(path)?;
            file.seek(SeekFrom::Start(start))?;
            Some(file)
        }
        Content::Bytes(_) => None,
    };
    let stop = end.min(start.saturating_add(limit));
    let mut buffer = vec![0; chunk];
    while at < stop {
        let length = buffer.len().min(usize::try_from(stop - at).unwrap_or(usize::MAX));
        let part = &mut buffer[..length];
        match (&mut file, &answer.content) {
            (Some(file), _) => file.read_exact(part)?,
            (None, Content::Bytes(bytes)) => {
                let from = usize::try_from(at).unwrap();
                part.copy_from_slice(&bytes[from..from + length]);
            }
            (None, Content::File(..)) => unreachable!("the file was opened above"),
        }
        if let Some(flip) = flipped.filter(|flip| (at..at + length as u64).contains(flip)) {
            part[usize::try_from(flip - at).unwrap()] ^= 0x20;
        }
        stream.write_all(part)?;
        at += length as u64;
        if let Some(pause) = pause {
            stream.flush()?;
            thread::sleep(pause);
        }
    }
    stream.flush()?;
    if let Some(Fault::StallAfter(_)) = fault {
        thread::sleep(Duration::from_mins(1));
    }
    Ok(stop == end)
}

/// Base64 with padding, for the `Authorization` header.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = (0..3)
            .fold(0_u32, |word, at| word << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let letter = char::from(LETTERS[(word >> (18 - 6 * at) & 63) as usize]);
            text.push(if at <= chunk.len() { letter } else { '=' });
        }
    }
    text
}
