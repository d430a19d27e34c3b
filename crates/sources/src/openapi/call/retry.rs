//! When a request is tried again, and after how long.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::{Duration, SystemTime},
};

use http::{HeaderMap, Method, StatusCode, header};

use crate::outbound::{Answer, OutboundError};

/// How often and how patiently requests are repeated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retry {
    /// How many times at most, after the first.
    pub(super) most: u32,
    /// The pause before the first repetition; it doubles each time.
    pub(super) first_pause: Duration,
}

/// The longest pause, our own or one asked for: who wants us to wait longer gets the answer
/// passed on instead.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

impl Retry {
    pub(super) fn new(most: u32) -> Self {
        Self {
            most,
            first_pause: Duration::from_millis(250),
        }
    }

    /// How long to wait before the next attempt; `None` where this outcome is final. `attempt`
    /// counts from zero.
    pub(super) fn pause(
        &self,
        attempt: u32,
        method: &Method,
        outcome: &Result<Answer, OutboundError>,
    ) -> Option<Duration> {
        if attempt >= self.most || !is_worth_it(method, outcome) {
            return None;
        }
        let asked = outcome
            .as_ref()
            .ok()
            .and_then(|answer| retry_after(&answer.headers));
        let pause = asked.unwrap_or_else(|| self.own_pause(attempt));
        (pause <= LONGEST_PAUSE).then_some(pause)
    }

    /// Doubles each time, and between half and all of it: many callers that failed together
    /// should not come back together.
    fn own_pause(&self, attempt: u32) -> Duration {
        let whole = self
            .first_pause
            .saturating_mul(1 << attempt.min(10))
            .min(LONGEST_PAUSE / 2);
        whole / 2 + whole.mul_f64(random_fraction()) / 2
    }
}

/// Repeating must not do the work twice: either the method promises that, or nothing was sent.
fn is_worth_it(method: &Method, outcome: &Result<Answer, OutboundError>) -> bool {
    match outcome {
        Err(error) if error.is_unsent() => true,
        Err(error) => error.is_connection_failure() && is_idempotent(method),
        Ok(answer) => {
            let status = answer.status;
            let is_busy = matches!(
                status,
                StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
            );
            is_busy && is_idempotent(method)
        }
    }
}

fn is_idempotent(method: &Method) -> bool {
    let promised = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "QUERY"];
    promised.contains(&method.as_str())
}

/// `Retry-After` as seconds or as a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

fn random_fraction() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use url::Url;

    fn answer(status: u16, retry_after: Option<&str>) -> Answer {
        let mut headers = HeaderMap::new();
        if let Some(text) = retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_str(text).unwrap());
        }
        Answer {
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            body: bytes::Bytes::new(),
            url: Url::parse("https://a.io").unwrap(),
        }
    }

    fn connect() -> OutboundError {
        OutboundError::Connect {
            host: "a".into(),
            reason: "refused".into(),
        }
    }

    fn broken() -> OutboundError {
        OutboundError::Broken {
            host: "a".into(),
            reason: "reset".into(),
        }
    }

    #[track_caller]
    fn repeats(outcome: &Result<Answer, OutboundError>, methods: &[Method]) {
        for method in [
            Method::GET,
            Method::HEAD,
            Method::PUT,
            Method::DELETE,
            Method::OPTIONS,
            Method::POST,
            Method::PATCH,
        ] {
            let pause = Retry::new(2).pause(0, &method, outcome);
            assert_eq!(pause.is_some(), methods.contains(&method), "{method}");
        }
    }

    #[test]
    fn what_is_repeated() {
        let idempotent = [
            Method::GET,
            Method::HEAD,
            Method::PUT,
            Method::DELETE,
            Method::OPTIONS,
        ];
        let all = [idempotent.as_slice(), &[Method::POST, Method::PATCH]].concat();
        repeats(&Err(connect()), &all);
        repeats(&Err(broken()), &idempotent);
        repeats(&Ok(answer(429, None)), &idempotent);
        repeats(&Ok(answer(503, None)), &idempotent);
        for status in [200, 400, 401, 404, 500, 502, 504] {
            repeats(&Ok(answer(status, None)), &[]);
        }
        repeats(
            &Err(OutboundError::Timeout {
                host: "a".into(),
                after: Duration::ZERO,
            }),
            &[],
        );
        repeats(
            &Err(OutboundError::TooLarge {
                host: "a".into(),
                limit: 1,
            }),
            &[],
        );
    }

    #[test]
    fn attempts_come_to_an_end() {
        let retry = Retry::new(2);
        assert!(retry.pause(1, &Method::GET, &Err(connect())).is_some());
        assert!(retry.pause(2, &Method::GET, &Err(connect())).is_none());
        assert!(
            Retry::new(0)
                .pause(0, &Method::GET, &Err(connect()))
                .is_none()
        );
    }

    #[test]
    fn pauses_grow_and_scatter() {
        let retry = Retry::new(30);
        for (attempt, most) in [(0, 250), (1, 500), (2, 1000), (20, 30_000)] {
            let pause = retry
                .pause(attempt, &Method::GET, &Err(connect()))
                .unwrap()
                .as_millis();
            assert!((most / 2..=most).contains(&pause), "{attempt}: {pause}");
        }
    }

    #[test]
    fn the_server_may_say_when() {
        let pause = |text: &str| Retry::new(1).pause(0, &Method::GET, &Ok(answer(429, Some(text))));
        assert_eq!(pause("3"), Some(Duration::from_secs(3)));
        assert_eq!(pause("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(30));
        assert!(pause(&soon).is_some_and(|pause| pause > Duration::from_secs(20)));
        assert_eq!(pause("3600"), None);
        assert!(pause("soon").is_some());
    }
}
