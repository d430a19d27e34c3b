//! The formats of text we are sure about; every other format passes.

use std::net::{Ipv4Addr, Ipv6Addr};

/// What a text of this format must be, where the given one is not.
pub(super) fn complaint(format: &str, text: &str) -> Option<&'static str> {
    let (fits, rule) = match format {
        "date-time" => (is_date_time(text), "a time such as `2026-01-31T12:00:00Z`"),
        "date" => (is_date(text), "a date such as `2026-01-31`"),
        "uuid" => (
            is_uuid(text),
            "a UUID such as `00000000-0000-4000-8000-000000000000`",
        ),
        "email" => (is_email(text), "an e-mail address"),
        "ipv4" => (text.parse::<Ipv4Addr>().is_ok(), "an IPv4 address"),
        "ipv6" => (text.parse::<Ipv6Addr>().is_ok(), "an IPv6 address"),
        _ => return None,
    };
    (!fits).then_some(rule)
}

fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let (Some(year), Some(month), Some(day), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    year.len() == 4
        && digits(year).is_some()
        && two_digits(month).is_some_and(|month| (1..=12).contains(&month))
        && two_digits(day).is_some_and(|day| (1..=31).contains(&day))
}

/// RFC 3339, and the same without a zone, which many servers take.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else {
        return false;
    };
    if !is_date(date) {
        return false;
    }
    let zone = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone);
    is_clock(clock) && is_zone(zone)
}

fn is_clock(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let parts: Vec<&str> = whole.split(':').collect();
    let in_range = |part: &str, most| two_digits(part).is_some_and(|number| number <= most);
    digits(fraction).is_some()
        && match parts.as_slice() {
            [hours, minutes] => in_range(hours, 23) && in_range(minutes, 59),
            [hours, minutes, seconds] => {
                in_range(hours, 23) && in_range(minutes, 59) && in_range(seconds, 60)
            }
            _ => false,
        }
}

fn is_zone(text: &str) -> bool {
    match text.strip_prefix(['+', '-']) {
        Some(offset) => digits(&offset.replace(':', "")).is_some() && 2 <= offset.len(),
        None => text.is_empty() || text.eq_ignore_ascii_case("z"),
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12]
        && groups
            .iter()
            .all(|group| group.chars().all(|c| c.is_ascii_hexdigit()))
}

fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.rsplit_once('@') else {
        return false;
    };
    !name.is_empty()
        && !host.is_empty()
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

fn two_digits(text: &str) -> Option<u64> {
    (text.len() == 2).then(|| digits(text)).flatten()
}

/// The number a text of digits alone stands for; very long ones count as large.
fn digits(text: &str) -> Option<u64> {
    let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().unwrap_or(u64::MAX))
}
