//! `allow_hosts`: what an operator lets scripts reach besides the public internet.

use std::net::IpAddr;

use url::{Host, Url};

use super::range::Range;

/// The hosts and ranges an operator allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowList {
    hosts: Vec<HostRule>,
    ranges: Vec<Range>,
}

/// A host by its name or address, perhaps on one port only.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HostRule {
    /// In the form URLs have after parsing, without a dot at the end.
    host: String,
    /// Every name below `host`, and not `host` itself.
    below: bool,
    port: Option<u16>,
}

/// A rule that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a host: write `host`, `host:port`, `*.domain`, an address, or a range such as `10.0.0.0/8`"
)]
pub struct BadRule(String);

impl AllowList {
    /// Reads the rules of a configuration.
    pub fn parse(rules: &[impl AsRef<str>]) -> Result<Self, BadRule> {
        let mut list = Self::default();
        for rule in rules {
            let rule = rule.as_ref().trim();
            list.add(rule).ok_or_else(|| BadRule(rule.to_owned()))?;
        }
        Ok(list)
    }

    fn add(&mut self, rule: &str) -> Option<()> {
        if let Some((first, bits)) = rule.split_once('/') {
            let range = Range::new(first.parse().ok()?, bits.parse().ok()?)?;
            self.ranges.push(range);
            return Some(());
        }
        if let Ok(address) = rule.parse::<IpAddr>() {
            self.ranges.push(Range::of(address));
            return Some(());
        }
        let (host, port) = split_port(rule)?;
        let (host, below) = match host.strip_prefix("*.") {
            Some(domain) => (domain, true),
            None => (host, false),
        };
        let host = normal(host)?;
        self.hosts.push(HostRule { host, below, port });
        Some(())
    }

    /// Whether the host of an address is allowed as it is written, wherever it leads.
    pub(super) fn names(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else {
            return false;
        };
        let host = host.trim_end_matches('.');
        let port = url.port_or_known_default();
        self.hosts.iter().any(|rule| {
            let fits = match host.strip_suffix(rule.host.as_str()) {
                Some(rest) if rule.below => rest.ends_with('.') && 1 < rest.len(),
                Some(rest) => rest.is_empty(),
                None => false,
            };
            fits && (rule.port.is_none() || rule.port == port)
        })
    }

    /// Whether an address is in an allowed range.
    pub(super) fn includes(&self, address: IpAddr) -> bool {
        let plain = address.to_canonical();
        let contains = |range: &Range| range.contains(address) || range.contains(plain);
        self.ranges.iter().any(contains)
    }
}

/// A host and its port, where it has one.
fn split_port(rule: &str) -> Option<(&str, Option<u16>)> {
    match rule.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => Some((host, Some(port.parse().ok()?))),
        _ => Some((rule, None)),
    }
}

/// A host in the form URLs have after parsing.
fn normal(host: &str) -> Option<String> {
    let is_plain = |c: char| !c.is_whitespace() && !"/\\?#@*%".contains(c);
    if host.is_empty() || !host.chars().all(is_plain) {
        return None;
    }
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    if url.port().is_some() {
        return None;
    }
    match url.host()? {
        Host::Domain(domain) => Some(domain.trim_end_matches('.').to_owned()),
        literal => Some(literal.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(rule: &str) -> AllowList {
        AllowList::parse(&[rule]).unwrap()
    }

    #[track_caller]
    fn names(rule: &str, url: &str, expected: bool) {
        let url = Url::parse(url).unwrap();
        assert_eq!(list(rule).names(&url), expected, "{rule} {url}");
    }

    #[test]
    fn hosts_are_allowed_as_they_are_written() {
        names("intra.example", "http://intra.example/x", true);
        names("intra.example", "https://INTRA.example.:8443/x", true);
        names("intra.example", "http://x.intra.example", false);
        names("intra.example", "http://notintra.example", false);
        names("intra.example:8080", "http://intra.example:8080", true);
        names("intra.example:8080", "http://intra.example", false);
        names("intra.example:80", "http://intra.example", true);
        names("*.intra.example", "http://a.b.intra.example", true);
        names("*.intra.example", "http://intra.example", false);
        names("*.intra.example", "http://evilintra.example", false);
        names("127.0.0.1:8080", "http://2130706433:8080", true);
        names("127.0.0.1:8080", "http://127.0.0.1:8081", false);
        names("[::1]:8080", "http://[0:0::1]:8080", true);
        names("[::1]", "http://[::1]:9", true);
    }

    #[test]
    fn ranges_are_allowed_by_address() {
        let includes = |rule: &str, address: &str| list(rule).includes(address.parse().unwrap());
        assert!(includes("10.0.0.0/8", "10.1.2.3"));
        assert!(includes("10.0.0.0/8", "::ffff:10.1.2.3"));
        assert!(!includes("10.0.0.0/8", "11.1.2.3"));
        assert!(includes("192.168.1.7", "192.168.1.7"));
        assert!(includes("fd00::/8", "fd12::1"));
        assert!(includes("::1", "::1"));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for rule in [
            "",
            "*",
            "*.*",
            "http://x.example",
            "x.example/path",
            "a@b.example",
            "10.0.0.0/33",
            "x/8",
            "host:port",
            "host:99999",
            "a b",
            "h%6fst",
        ] {
            let error = AllowList::parse(&[rule]).unwrap_err().to_string();
            assert!(error.contains("is not a host"), "{rule}: {error}");
        }
    }
}
