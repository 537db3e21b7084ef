//! An index over TLS with a certificate authority of its own, and a proxy that speaks CONNECT.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::index::Index;

/// A certificate authority in a directory, made by `openssl`.
pub struct Authority {
    directory: PathBuf,
}

impl Authority {
    /// None, with a printed reason, where there is no `openssl`.
    #[expect(clippy::print_stdout, reason = "a skipped test says so")]
    pub fn new(directory: &Path, name: &str) -> Option<Self> {
        if Command::new("openssl").arg("version").output().is_err() {
            println!("skipped: openssl is not installed");
            return None;
        }
        let authority = Self { directory: directory.to_owned() };
        std::fs::create_dir_all(directory).unwrap();
        authority.openssl("ecparam -name prime256v1 -genkey -noout -out ca.key");
        authority.openssl(&format!(
            "req -x509 -new -key ca.key -days 2 -subj /O=Corp/CN={name} -addext \
             basicConstraints=critical,CA:TRUE -out ca.pem"
        ));
        authority.openssl("ecparam -name prime256v1 -genkey -noout -out leaf.sec1");
        authority.openssl("pkcs8 -topk8 -nocrypt -in leaf.sec1 -out leaf.key");
        authority.openssl("req -new -key leaf.key -subj /CN=leaf -out leaf.csr");
        let names = "subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n";
        std::fs::write(directory.join("names"), names).unwrap();
        authority.openssl(
            "x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out leaf.pem",
        );
        Some(authority)
    }

    fn openssl(&self, line: &str) {
        let done = Command::new("openssl")
            .args(line.split_whitespace())
            .current_dir(&self.directory)
            .output()
            .unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// The file that users name.
    pub fn file(&self) -> PathBuf {
        self.directory.join("ca.pem")
    }

    /// An index whose certificate this authority issued.
    pub fn index(&self) -> Index {
        let chain: Vec<_> = CertificateDer::pem_file_iter(self.directory.join("leaf.pem"))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let key = PrivateKeyDer::from_pem_file(self.directory.join("leaf.key")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let config = Arc::new(config);
        Index::serve(
            "https",
            "127.0.0.1:0",
            Box::new(move |socket| {
                let session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
                Ok(Box::new(rustls::StreamOwned::new(session, socket)))
            }),
        )
    }
}

/// A proxy.
pub struct Proxy {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Connects to where it is asked to.
    pub fn start() -> Self {
        Self::serve(None)
    }

    /// Connects to `port` of this machine, whatever is asked for.
    pub fn to(port: u16) -> Self {
        Self::serve(Some(format!("127.0.0.1:{port}")))
    }

    fn serve(fixed: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (seen, fixed) = (Arc::clone(&seen), fixed.clone());
                thread::spawn(move || tunnel(socket, fixed, &seen));
            }
        });
        Self { port, heads }
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What was asked of it, one text a connection, in small letters.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn tunnel(mut client: TcpStream, fixed: Option<String>, seen: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    seen.lock().unwrap().push(head.to_lowercase());
    let asked = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let target = fixed.unwrap_or(asked);
    let Ok(server) = TcpStream::connect(&target) else {
        let _ = client.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n");
        return;
    };
    let _ = client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n");
    let (mut up, mut down) = (server.try_clone().unwrap(), server);
    let pipe = |mut from: Box<dyn std::io::Read + Send>, to: &mut TcpStream| {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Write);
    };
    thread::scope(|scope| {
        scope.spawn(move || pipe(Box::new(reader), &mut up));
        let back = down.try_clone().unwrap();
        pipe(Box::new(back), &mut client);
        let _ = down.flush();
    });
}
