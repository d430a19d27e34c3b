//! Where scripts may go and where they may not: every disguise of an inner address we know.

#![expect(clippy::unwrap_used, reason = "a step that fails must stop the test")]

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use http::{HeaderMap, HeaderValue, Method};
use toolscript_sources::outbound::{
    AllowList, Answer, Guarded, Limits, Lookup, Outbound, OutboundError, Refusal, Request,
};
use toolscript_testkit::{Canned, Server, canned};
use url::Url;

/// Names and where they lead; every other name leads to a public address nobody has.
const NAMES: &[(&str, &[&str])] = &[
    ("localhost", &["127.0.0.1", "::1"]),
    ("inner.example", &["10.0.0.5"]),
    ("router.example", &["192.168.1.1"]),
    ("office.example", &["172.20.0.9"]),
    ("metadata.google.internal", &["169.254.169.254"]),
    ("metadata.azure.example", &["168.63.129.16"]),
    ("provider.example", &["100.100.100.200"]),
    ("six.example", &["::1"]),
    ("mapped.example", &["::ffff:127.0.0.1"]),
    ("unique.example", &["fd00:ec2::254"]),
    ("link.example", &["fe80::1"]),
    ("nat64.example", &["64:ff9b::7f00:1"]),
    ("zero.example", &["0.0.0.0"]),
    ("group.example", &["224.0.0.1"]),
    ("nowhere.example", &[]),
    ("127.0.0.1.nip.example", &["127.0.0.1"]),
    ("both.example", &["10.0.0.5", "127.0.0.1"]),
];

/// What has to be refused, however it is written.
const REFUSED: &[&str] = &[
    // The machine itself.
    "http://127.0.0.1/",
    "http://127.0.0.1:8080/",
    "https://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.255.255.254/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://0x7f.1/",
    "http://127.0.0.1./",
    "http://127.0.0.1.:80/",
    "http://127%2e0%2e0%2e1/",
    "http://%31%32%37.0.0.1/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://①②⑦.0.0.1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://00000000/",
    "http://0x0/",
    "http:127.0.0.1/",
    "http:/127.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "HTTP://127.0.0.1/",
    "http://\t127.0.0.1/",
    "http://[::1]/",
    "http://[::1]:8080/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[0000::0001]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    // Inner networks.
    "http://10.0.0.1/",
    "http://167772161/",
    "http://012.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://192.168.257/",
    "http://0xc0a80001/",
    "http://100.64.0.1/",
    "http://198.18.0.1/",
    "http://[fd00::1]/",
    "http://[fc00::1]/",
    "http://[fec0::1]/",
    "http://[fe80::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[::ffff:192.168.1.1]/",
    // The metadata services of clouds.
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[fd00:ec2::254]/",
    "http://168.63.129.16/",
    "http://100.100.100.200/",
    "http://192.0.0.192/",
    // What is nobody's.
    "http://192.0.2.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://240.0.0.1/",
    "http://[ff02::1]/",
    "http://[2001::1]/",
    "http://[100::1]/",
    // Names that lead there.
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://localhost:6379/",
    "http://ⓛocalhost/",
    "http://inner.example/",
    "http://router.example/",
    "http://office.example/",
    "http://metadata.google.internal/",
    "http://metadata.azure.example/",
    "http://provider.example/",
    "http://six.example/",
    "http://mapped.example/",
    "http://unique.example/",
    "http://link.example/",
    "http://nat64.example/",
    "http://zero.example/",
    "http://group.example/",
    "http://nowhere.example/",
    "http://127.0.0.1.nip.example/",
    "https://both.example/",
    // A user in front of the host, which is meant to be taken for the host.
    "http://public.example@127.0.0.1/",
    "http://user:pw@public.example/",
    "http://user@public.example/",
    "http://:pw@public.example/",
    "http://127.0.0.1%2f@public.example/",
];

/// What is no address for this client at all.
const NO_ADDRESS: &[&str] = &[
    "file:///etc/passwd",
    "file://127.0.0.1/etc/passwd",
    "ftp://public.example/",
    "gopher://127.0.0.1:70/_x",
    "data:text/plain,x",
    "javascript:alert(1)",
    "unix:/run/docker.sock",
    "ws://127.0.0.1/",
];

/// What does not even read as an address.
const UNREADABLE: &[&str] = &[
    "http://[fe80::1%25eth0]/",
    "http://[::1%lo]/",
    "http://[::1/",
    "http://127.0.0.1:99999/",
    "http://256.0.0.1/",
    "http://0x7f.0.0.0.1/",
    "http://[::ffff:127.0.0.1.]/",
    "http://127.0.0.1%00.public.example/",
    "//127.0.0.1/",
    "http://",
];

struct Names {
    asked: AtomicUsize,
}

#[async_trait]
impl Lookup for Names {
    async fn addresses(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let plain = name.trim_end_matches('.');
        let known = NAMES.iter().find(|(known, _)| *known == plain);
        let addresses = known.map_or(&["198.51.100.7"][..], |(_, addresses)| addresses);
        Ok(addresses.iter().map(|text| text.parse().unwrap()).collect())
    }
}

fn guarded(allow: &[&str]) -> (Guarded, Arc<Names>) {
    let names = Arc::new(Names {
        asked: AtomicUsize::new(0),
    });
    let outbound = Outbound::with_lookup(names.clone());
    (outbound.guarded(AllowList::parse(allow).unwrap()), names)
}

fn request(url: &Url) -> Request {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", HeaderValue::from_static("Bearer s3cret"));
    headers.insert("cookie", HeaderValue::from_static("session=s3cret"));
    headers.insert("x-api-key", HeaderValue::from_static("s3cret"));
    Request {
        method: Method::GET,
        url: url.clone(),
        headers,
        body: None,
    }
}

async fn send(guarded: &Guarded, url: &str) -> Result<Answer, OutboundError> {
    let limits = Limits {
        max_bytes: 1_000,
        timeout: Duration::from_secs(10),
    };
    guarded
        .send(&request(&Url::parse(url).unwrap()), limits)
        .await
}

fn host(server: &Server) -> &str {
    server.url().strip_prefix("http://").unwrap()
}

fn port(server: &Server) -> &str {
    server.url().rsplit_once(':').unwrap().1
}

#[tokio::test]
async fn every_disguise_of_an_inner_address_is_refused() {
    let (guarded, _) = guarded(&[]);
    for url in REFUSED {
        let error = send(&guarded, url).await.unwrap_err();
        let refused = matches!(error, OutboundError::Refused { .. });
        assert!(refused, "{url}: {error}");
    }
    for url in NO_ADDRESS {
        let error = send(&guarded, url).await.unwrap_err();
        assert!(
            matches!(error, OutboundError::Scheme { .. }),
            "{url}: {error}"
        );
    }
    for url in UNREADABLE {
        assert!(Url::parse(url).is_err(), "{url} reads as an address");
    }
    assert!(100 <= REFUSED.len() + NO_ADDRESS.len() + UNREADABLE.len());
}

#[tokio::test]
async fn what_the_operator_allows_is_reached() {
    let server = canned::start([Canned::body(200, "text/plain", "hello")]).await;
    let (host, port) = (host(&server), port(&server));
    for (rule, url) in [
        (host.to_owned(), server.url().to_owned()),
        ("127.0.0.1".to_owned(), server.url().to_owned()),
        ("127.0.0.0/8".to_owned(), server.url().to_owned()),
        ("127.0.0.1".to_owned(), format!("http://2130706433:{port}/")),
        (
            format!("localhost:{port}"),
            format!("http://localhost:{port}/"),
        ),
        ("localhost".to_owned(), format!("http://LOCALHOST:{port}/")),
        (
            "127.0.0.1/32".to_owned(),
            format!("http://127.0.0.1.nip.example:{port}/"),
        ),
    ] {
        let (guarded, _) = guarded(&[&rule]);
        let answer = send(&guarded, &url).await;
        assert!(answer.is_ok(), "{rule} {url}: {answer:?}");
        let elsewhere = send(&guarded, "http://169.254.169.254/").await.unwrap_err();
        assert!(
            matches!(elsewhere, OutboundError::Refused { .. }),
            "{elsewhere}"
        );
    }
    let (guarded, _) = guarded(&["127.0.0.1:1"]);
    let other_port = send(&guarded, server.url()).await.unwrap_err();
    assert_eq!(
        other_port.to_string(),
        format!(
            "`{host}` is out of reach for scripts: `127.0.0.1` is this machine; \
             to allow it, add the host to `allow_hosts`"
        )
    );
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_only_judged_addresses_are_used() {
    let server = canned::start([Canned::status(204)]).await;
    // One of the two addresses is allowed; nobody answers at the other.
    let (guarded, names) = guarded(&["127.0.0.1/32"]);
    let url = format!("http://both.example:{}/", port(&server));
    assert_eq!(send(&guarded, &url).await.unwrap().status, 204);
    assert_eq!(names.asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn redirects_are_judged_step_by_step() {
    let inner = canned::start([Canned::body(200, "text/plain", "inner")]).await;
    for target in [
        inner.url().to_owned(),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "//[::ffff:127.0.0.1]/".to_owned(),
        "http://metadata.google.internal/".to_owned(),
        format!("http://localhost:{}/", port(&inner)),
    ] {
        let outer = canned::start([Canned::status(302).header("location", &target)]).await;
        let (guarded, _) = guarded(&[host(&outer)]);
        let error = send(&guarded, outer.url()).await.unwrap_err();
        assert!(
            matches!(
                error,
                OutboundError::Refused {
                    refusal: Refusal::Address { .. },
                    ..
                }
            ),
            "{target}: {error}"
        );
    }
    let outer = canned::start([Canned::status(302).header("location", "file:///etc/passwd")]).await;
    let (guarded, _) = guarded(&[host(&outer)]);
    let error = send(&guarded, outer.url()).await.unwrap_err();
    assert!(matches!(error, OutboundError::Redirect { .. }), "{error}");
    assert!(inner.requests().is_empty());
}

#[tokio::test]
async fn credentials_stay_at_home() {
    let other = canned::start([Canned::body(200, "text/plain", "there")]).await;
    let first = canned::start([Canned::status(302).header("location", other.url())]).await;
    let (guarded, _) = guarded(&["127.0.0.1"]);
    send(&guarded, first.url()).await.unwrap();
    assert_eq!(first.only_request().header("x-api-key"), Some("s3cret"));
    let arrived = format!("{:?}", other.only_request());
    assert!(!arrived.contains("s3cret"), "{arrived}");
}

#[tokio::test]
async fn sizes_and_times_are_limited() {
    let large = canned::start([Canned::body(200, "text/plain", "x".repeat(1_001))]).await;
    let (guarded, _) = guarded(&["127.0.0.1"]);
    let error = send(&guarded, large.url()).await.unwrap_err();
    assert!(matches!(error, OutboundError::TooLarge { .. }), "{error}");
    let slow = canned::start([Canned::status(200).after(Duration::from_mins(1))]).await;
    let limits = Limits {
        max_bytes: 1_000,
        timeout: Duration::from_millis(50),
    };
    let request = request(&Url::parse(slow.url()).unwrap());
    let error = guarded.send(&request, limits).await.unwrap_err();
    assert!(matches!(error, OutboundError::Timeout { .. }), "{error}");
}
