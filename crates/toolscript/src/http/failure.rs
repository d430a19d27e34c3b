//! `Failure`: every answer that is no result, as `{"error": {"code", "message"}}`.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use toolscript_catalog::CallError;

/// Why a request got no result.
#[derive(Debug)]
pub(super) enum Failure {
    /// The call failed.
    Call(CallError),
    /// The body is not what a call looks like.
    BadRequest(String),
    /// Nobody said who they are, or not well enough.
    Unauthorized {
        /// Whether a token was shown.
        is_wrong: bool,
    },
    /// Whoever asks may not ask from there.
    Forbidden(String),
    /// Nothing is at that address.
    NoPath,
    /// Something is there, but not for this method.
    Method,
    /// The body is too large.
    TooLarge {
        /// How large it may be.
        most: usize,
    },
    /// The body is not JSON.
    MediaType,
}

impl Failure {
    fn status(&self) -> StatusCode {
        match self {
            Self::Call(error) => StatusCode::from_u16(error.code().http_status())
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Unauthorized { .. } => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NoPath => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Call(error) => error.code().word(),
            Self::BadRequest(_) => "bad_request",
            Self::Unauthorized { .. } => "unauthorized",
            Self::Forbidden(_) => "denied",
            Self::NoPath => "not_found",
            Self::Method => "method_not_allowed",
            Self::TooLarge { .. } => "too_large",
            Self::MediaType => "unsupported_media_type",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Call(error) => error.to_string(),
            Self::BadRequest(problem) | Self::Forbidden(problem) => problem.clone(),
            Self::Unauthorized { is_wrong: true } => "the token is not the right one".to_owned(),
            Self::Unauthorized { is_wrong: false } => {
                "this needs a token: send `Authorization: Bearer …`".to_owned()
            }
            Self::NoPath => {
                "nothing is here; there are /tools/list, /tools/{name}, /mcp, /api/openapi.json, /health, /ready".to_owned()
            }
            Self::Method => "that method is not for this address; see the `Allow` header".to_owned(),
            Self::TooLarge { most } => {
                format!("the body may have {most} bytes; send less, or raise `server.max_body_bytes`")
            }
            Self::MediaType => {
                "the body has to be JSON: send `Content-Type: application/json`".to_owned()
            }
        }
    }

    /// The body of the answer.
    pub(super) fn body(&self) -> Value {
        json!({"error": {"code": self.code(), "message": self.message()}})
    }

    /// The header that says what to do next, where there is one.
    fn header(&self) -> Option<(header::HeaderName, HeaderValue)> {
        match self {
            Self::Call(CallError::RateLimited { retry_after_s, .. }) => {
                Some((header::RETRY_AFTER, HeaderValue::from(*retry_after_s)))
            }
            Self::Unauthorized { is_wrong } => {
                let challenge = if *is_wrong {
                    "Bearer realm=\"toolscript\", error=\"invalid_token\""
                } else {
                    "Bearer realm=\"toolscript\""
                };
                Some((
                    header::WWW_AUTHENTICATE,
                    HeaderValue::from_static(challenge),
                ))
            }
            _ => None,
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(self.body())).into_response();
        if let Some((name, value)) = self.header() {
            response.headers_mut().insert(name, value);
        }
        response
    }
}
