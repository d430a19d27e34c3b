//! `Rate`: how often something may be done, such as `10/minute`.

use std::{fmt, num::NonZeroU32, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

/// How often something may be done. Written `10/minute`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    /// How many times.
    pub count: NonZeroU32,
    /// In what time.
    pub per: Period,
}

/// The time a rate counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
}

/// A text that is not a rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a rate: write how many times per `second`, `minute`, `hour` or `day`, such as `10/minute`"
)]
pub struct BadRate(String);

impl Period {
    const ALL: [Self; 4] = [Self::Second, Self::Minute, Self::Hour, Self::Day];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    /// How long it lasts.
    pub fn duration(self) -> Duration {
        match self {
            Self::Second => Duration::from_secs(1),
            Self::Minute => Duration::from_mins(1),
            Self::Hour => Duration::from_hours(1),
            Self::Day => Duration::from_hours(24),
        }
    }
}

impl FromStr for Rate {
    type Err = BadRate;

    fn from_str(text: &str) -> Result<Self, BadRate> {
        let bad = || BadRate(text.to_owned());
        let (count, per) = text.split_once('/').ok_or_else(bad)?;
        let per = per.trim();
        let known = Period::ALL.into_iter().find(|period| period.word() == per);
        Ok(Self {
            count: count.trim().parse().map_err(|_| bad())?,
            per: known.ok_or_else(bad)?,
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.per.word())
    }
}

impl TryFrom<String> for Rate {
    type Error = BadRate;

    fn try_from(text: String) -> Result<Self, BadRate> {
        text.parse()
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_reads_back() {
        for text in ["1/second", "10/minute", "3/hour", "1000/day"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        assert_eq!(" 5 / minute ".parse::<Rate>().unwrap().count.get(), 5);
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for text in [
            "",
            "10",
            "0/minute",
            "-1/minute",
            "10/week",
            "1.5/day",
            "/day",
            "10/",
        ] {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{text}` is not a rate")),
                "{error}"
            );
        }
    }
}
