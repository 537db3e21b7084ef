//! The client against a scripted loopback server: one canned answer a connection.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use super::{ByteRange, Config, Credentials, Error, Http, Retry, Url};

/// Serves `answers` one by one, each on a new connection, and hands over the requests it got.
fn serve(answers: Vec<String>) -> (Url, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = format!("http://{}/", listener.local_addr().expect("address"));
    let (sender, requests) = channel();
    thread::spawn(move || {
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let _ = sender.send(read_head(&mut stream));
            let (sent, hold) =
                answer.strip_suffix("HOLD").map_or((&*answer, false), |cut| (cut, true));
            let _ = stream.write_all(sent.as_bytes());
            // `HOLD` keeps the connection open in silence, everything else closes it.
            if hold {
                thread::sleep(Duration::from_secs(2));
            }
        }
    });
    (Url::parse(&address).expect("address"), requests)
}

fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).to_lowercase()
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}

fn client(times: u32) -> Http {
    Http::new(Config {
        idle_timeout: Duration::from_millis(400),
        retry: Retry { times, first: Duration::from_millis(1), ..Retry::default() },
        ..Config::default()
    })
}

#[test]
fn offline_never_builds_a_client() {
    let http = Http::new(Config { offline: true, ..Config::default() });
    let url = Url::parse("http://127.0.0.1:9/x").expect("address");
    assert!(matches!(http.get(&url, &[]), Err(Error::Offline { .. })));
    assert!(!http.is_used());
}

#[test]
fn transient_answers_are_tried_again_and_lasting_ones_are_not() {
    let (url, requests) = serve(vec![
        answer("503 Busy", "", ""),
        answer("429 Slow", "retry-after: 0\r\n", ""),
        answer("200 OK", "", "hello"),
    ]);
    assert_eq!(client(4).get(&url, &[]).expect("third try").text(10).expect("text"), "hello");
    assert_eq!(requests.iter().count(), 3);

    let (url, requests) = serve(vec![answer("404 No", "", ""), answer("200 OK", "", "")]);
    let error = client(4).get(&url, &[]).expect_err("missing");
    assert!(error.is_not_found(), "{error}");
    assert!(requests.try_iter().count() == 1);
}

#[test]
fn tries_end() {
    let (url, requests) = serve((0..9).map(|_| answer("500 Oops", "", "")).collect());
    let error = client(2).get(&url, &[]).expect_err("always failing");
    assert_eq!(error.status(), Some(500));
    assert_eq!(requests.try_iter().count(), 3);
}

#[test]
fn a_redirect_to_another_host_carries_no_credentials() {
    let (files, file_requests) = serve(vec![answer("200 OK", "", "bytes")]);
    let elsewhere = format!("http://localhost:{}/file", files.port().expect("port"));
    let (index, index_requests) =
        serve(vec![answer("302 Found", &format!("location: {elsewhere}\r\n"), "")]);
    let mut credentials = Credentials::default();
    let mut with_user = index.clone();
    with_user.set_username("bob").expect("user");
    with_user.set_password(Some("hunter2")).expect("password");
    credentials.add_from_url(&with_user);
    let http = Http::new(Config { credentials, ..Config::default() });

    let mut response = http.get(&index, &[]).expect("followed");
    assert_eq!(response.url().as_str(), elsewhere);
    assert_eq!(response.text(10).expect("text"), "bytes");
    assert!(index_requests.recv().expect("asked").contains("authorization: basic"));
    assert!(!file_requests.recv().expect("asked").contains("authorization"));
}

#[test]
fn redirect_loops_end_with_an_error() {
    let (url, _requests) = serve(vec![
        answer("302 Found", "location: /a\r\n", ""),
        answer("302 Found", "location: /\r\n", ""),
    ]);
    assert!(matches!(client(0).get(&url, &[]), Err(Error::Redirects { .. })));
}

#[test]
fn a_silent_server_is_given_up_after_the_idle_timeout() {
    let (url, _requests) = serve(vec!["HOLD".to_owned()]);
    assert!(matches!(client(0).get(&url, &[]), Err(Error::Timeout { .. })));

    let slow = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabcdHOLD".to_owned();
    let (url, _requests) = serve(vec![slow]);
    let error = client(0).get(&url, &[]).expect("headers").text(100).expect_err("silence");
    assert!(
        matches!(error, Error::Interrupted { received: 4, expected: Some(100), .. }),
        "{error}"
    );
    assert!(error.is_transient());
}

#[test]
fn a_body_that_breaks_off_is_an_error_not_an_end() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc".to_owned();
    let (url, _requests) = serve(vec![cut]);
    let error = client(0).get(&url, &[]).expect("headers").text(100).expect_err("cut");
    assert!(matches!(error, Error::Interrupted { received: 3, .. }), "{error}");
}

#[test]
fn ranges_are_checked_and_a_whole_answer_is_recognised() {
    let (url, requests) = serve(vec![
        answer("206 Part", "content-range: bytes 2-4/9\r\n", "cde"),
        answer("206 Part", "content-range: bytes 0-2/9\r\n", "abc"),
        answer("200 OK", "", "abcdefghi"),
        answer("416 No", "content-range: bytes */9\r\n", ""),
    ]);
    let http = client(0);
    let mut part = http.get_range(&url, ByteRange::Span(2, 5), Some("\"tag\"")).expect("part");
    assert!(part.is_partial());
    assert_eq!(part.total_size(), Some(9));
    assert_eq!(part.text(9).expect("text"), "cde");
    let head = requests.recv().expect("asked");
    assert!(head.contains("range: bytes=2-4") && head.contains("if-range: \"tag\""), "{head}");

    let wrong = http.get_range(&url, ByteRange::Span(2, 5), None);
    assert!(matches!(wrong, Err(Error::BadRange { .. })));
    let whole = http.get_range(&url, ByteRange::Span(2, 5), None).expect("whole");
    assert!(!whole.is_partial());
    assert_eq!(whole.total_size(), Some(9));
    let beyond = http.get_range(&url, ByteRange::From(99), None);
    assert!(matches!(beyond, Err(Error::Unsatisfiable { total: Some(9), .. })));
}

#[test]
fn a_text_beyond_the_limit_is_refused() {
    let (url, _requests) = serve(vec![answer("200 OK", "", "0123456789")]);
    let error = client(0).get(&url, &[]).expect("headers").text(9).expect_err("too large");
    assert!(matches!(error, Error::TooLarge { limit: 9, .. }), "{error}");
}

#[test]
fn an_unreachable_host_is_named_without_its_password() {
    let url = Url::parse("http://bob:hunter2@127.0.0.1:1/x").expect("address");
    let error = client(0).get(&url, &[]).expect_err("nobody listens");
    let text = format!("{error} {error:?}");
    assert!(text.contains("127.0.0.1:1") && text.contains("refused"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn a_proxy_gets_its_own_credentials_and_keeps_them_secret() {
    let (proxy, requests) = serve(vec![answer("200 OK", "", "via proxy")]);
    let address = format!("http://bob:hunter2@127.0.0.1:{}", proxy.port().expect("port"));
    let config = Config {
        http_proxy: Some(address),
        retry: Retry { times: 0, ..Retry::default() },
        ..Config::default()
    };
    let http = Http::new(config);
    let url = Url::parse("http://index.example/simple/").expect("address");
    assert_eq!(http.get(&url, &[]).expect("proxied").text(20).expect("text"), "via proxy");
    let head = requests.recv().expect("asked");
    assert!(head.starts_with("get http://index.example/simple/"), "{head}");
    assert!(head.contains("proxy-authorization: basic"), "{head}");
    // The script is over: the next connection finds nobody.
    let error = http.get(&url, &[]).expect_err("proxy is gone");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
}

#[test]
fn a_missing_authority_file_is_named_with_the_setting_that_asked_for_it() {
    let mut config = Config::default();
    let file = "/nonexistent/corp-ca.pem";
    config.authorities.files.push((file.into(), "SSL_CERT_FILE".to_owned()));
    let url = Url::parse("https://127.0.0.1:1/x").expect("address");
    let http = Http::new(config);
    let text = http.get(&url, &[]).expect_err("no such file").to_string();
    assert!(text.contains(file) && text.contains("SSL_CERT_FILE"), "{text}");
    // Plain requests do not care.
    let (url, _requests) = serve(vec![answer("200 OK", "", "plain")]);
    assert_eq!(http.get(&url, &[]).expect("no TLS").text(9).expect("text"), "plain");
}

#[test]
#[ignore = "a measurement, not a test"]
fn cost_of_the_first_request() {
    let begun = std::time::Instant::now();
    let http = Http::new(Config::default());
    println!("Http::new: {:?}", begun.elapsed());
    let secure = Url::parse("https://index.example/").expect("address");
    let plain = Url::parse("http://index.example/").expect("address");
    let begun = std::time::Instant::now();
    http.built(&plain).expect("a client");
    println!("plain client: {:?}", begun.elapsed());
    let begun = std::time::Instant::now();
    http.built(&secure).expect("a client");
    println!("client with trust roots: {:?}", begun.elapsed());
    let mut config = Config::default();
    config.authorities.directories.push("/etc/ssl/certs".into());
    let begun = std::time::Instant::now();
    Http::new(config).built(&secure).expect("a client");
    println!("the same with a directory of roots: {:?}", begun.elapsed());
}
