//! Where a redirect leads, and what goes along.

use http::{HeaderMap, Method, StatusCode, header};
use url::Url;

use super::{OutboundError, RedirectProblem, Request, host_of};

/// How many redirects in a row are followed.
pub(super) const MOST_STEPS: usize = 5;

/// The request that follows a redirect; `None` where the answer is to be taken as it is.
pub(super) fn next(
    request: &Request,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Request>, OutboundError> {
    let Some(location) = headers.get(header::LOCATION) else {
        return Ok(None);
    };
    let Some(method) = method_after(&request.method, status) else {
        return Ok(None);
    };
    let refused = |problem| OutboundError::Redirect {
        host: host_of(&request.url),
        problem,
    };
    let location = location
        .to_str()
        .map_err(|_| refused(RedirectProblem::Nowhere))?;
    let url = target(&request.url, location).map_err(refused)?;
    let mut next = Request {
        method,
        headers: request.headers.clone(),
        body: None,
        url,
    };
    if next.method == request.method {
        next.body.clone_from(&request.body);
    } else {
        for name in [header::CONTENT_TYPE, header::CONTENT_ENCODING] {
            next.headers.remove(name);
        }
    }
    if next.url.origin() != request.url.origin() {
        leave_behind(&mut next);
    }
    Ok(Some(next))
}

/// What the next request is; `None` where repeating this one could do the work twice.
fn method_after(method: &Method, status: StatusCode) -> Option<Method> {
    let harmless = *method == Method::GET || *method == Method::HEAD;
    match status {
        StatusCode::SEE_OTHER if !harmless => Some(Method::GET),
        StatusCode::MOVED_PERMANENTLY
        | StatusCode::FOUND
        | StatusCode::SEE_OTHER
        | StatusCode::TEMPORARY_REDIRECT
        | StatusCode::PERMANENT_REDIRECT
            if harmless =>
        {
            Some(method.clone())
        }
        _ => None,
    }
}

fn target(from: &Url, location: &str) -> Result<Url, RedirectProblem> {
    let mut url = from.join(location).map_err(|_| RedirectProblem::Nowhere)?;
    match (from.scheme(), url.scheme()) {
        ("https", "http") => return Err(RedirectProblem::Downgrade),
        (_, "https" | "http") => {}
        _ => return Err(RedirectProblem::Nowhere),
    }
    // A user and password in there would be sent as if they were ours.
    let stripped = url.set_username("").and_then(|()| url.set_password(None));
    stripped.map_err(|()| RedirectProblem::Nowhere)?;
    Ok(url)
}

/// Another origin gets to know what we can read and nothing else: any other header may be a
/// credential, a cookie or a matter between the first host and us.
fn leave_behind(request: &mut Request) {
    request.body = None;
    let accept = request.headers.remove(header::ACCEPT);
    request.headers.clear();
    if let Some(accept) = accept {
        request.headers.insert(header::ACCEPT, accept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn request(method: Method, url: &str) -> Request {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("accept", "a/b"),
            ("authorization", "x"),
            ("cookie", "y"),
            ("x-team", "z"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Request {
            method,
            url: Url::parse(url).unwrap(),
            headers,
            body: None,
        }
    }

    fn follow(
        method: Method,
        status: u16,
        from: &str,
        to: &str,
    ) -> Result<Option<Request>, OutboundError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::LOCATION, HeaderValue::from_str(to).unwrap());
        next(
            &request(method, from),
            StatusCode::from_u16(status).unwrap(),
            &headers,
        )
    }

    #[track_caller]
    fn leads(from: &str, to: &str, expected: &str, headers: usize) {
        let next = follow(Method::GET, 302, from, to).unwrap().unwrap();
        assert_eq!(next.url.as_str(), expected);
        assert_eq!(next.headers.len(), headers, "{:?}", next.headers);
    }

    #[test]
    fn the_same_origin_keeps_all_headers() {
        leads("https://a.io/x/y", "/z", "https://a.io/z", 4);
        leads("https://a.io/x/y", "z?q=1", "https://a.io/x/z?q=1", 4);
        leads("https://a.io/x", "https://a.io:443/y", "https://a.io/y", 4);
    }

    #[test]
    fn another_origin_gets_only_accept() {
        leads("https://a.io/x", "https://b.io/x", "https://b.io/x", 1);
        leads(
            "https://a.io/x",
            "https://a.io:8443/x",
            "https://a.io:8443/x",
            1,
        );
        leads("http://a.io/x", "https://a.io/x", "https://a.io/x", 1);
        leads("http://a.io/x", "//b.io/x", "http://b.io/x", 1);
    }

    #[test]
    fn a_user_in_the_address_is_not_taken_over() {
        leads(
            "https://a.io/x",
            "https://eve:pw@a.io/y",
            "https://a.io/y",
            4,
        );
    }

    #[test]
    fn some_ways_are_not_taken() {
        let problem = |from, to| match follow(Method::GET, 302, from, to) {
            Err(OutboundError::Redirect { problem, .. }) => problem,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            problem("https://a.io", "http://a.io"),
            RedirectProblem::Downgrade
        );
        assert_eq!(
            problem("https://a.io", "file:///etc/passwd"),
            RedirectProblem::Nowhere
        );
        assert_eq!(
            problem("https://a.io", "https://"),
            RedirectProblem::Nowhere
        );
    }

    #[test]
    fn only_what_repeats_nothing_is_followed() {
        let method = |method, status| {
            let next = follow(method, status, "https://a.io", "/b").unwrap();
            next.map(|request| request.method)
        };
        for status in [301, 302, 303, 307, 308] {
            assert_eq!(method(Method::GET, status), Some(Method::GET), "{status}");
            assert_eq!(method(Method::HEAD, status), Some(Method::HEAD), "{status}");
        }
        for status in [301, 302, 307, 308] {
            assert_eq!(method(Method::POST, status), None, "{status}");
            assert_eq!(method(Method::DELETE, status), None, "{status}");
        }
        assert_eq!(method(Method::POST, 303), Some(Method::GET));
        for status in [200, 201, 300, 304] {
            assert_eq!(method(Method::GET, status), None, "{status}");
        }
    }
}
