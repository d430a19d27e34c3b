//! Where scripts may go: to public addresses, and wherever the operator says.
//!
//! A name is looked up once and the connection goes to the addresses that were judged, so that a
//! name cannot mean one thing when it is judged and another when it is used.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::{
    Answer, Limits, Outbound, OutboundError, Refusal, Request, allow::AllowList, host_of, range,
};

/// Finds the addresses of names.
#[async_trait]
pub trait Lookup: Send + Sync {
    /// The addresses of a name, best first.
    async fn addresses(&self, name: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// Asks the system, as everything else on the machine does.
#[derive(Debug)]
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn addresses(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((name, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// The way out for scripts. Cheap to clone; connections are shared.
///
/// It uses no proxy: a proxy would look names up itself, and nobody could judge what it found.
#[derive(Clone)]
pub struct Guarded {
    /// For what the operator allows by name.
    open: Outbound,
    /// For everything else: connects to judged addresses only.
    strict: Result<reqwest::Client, OutboundError>,
    allow: Arc<AllowList>,
}

impl Guarded {
    pub(super) fn new(open: Outbound, allow: AllowList, lookup: Arc<dyn Lookup>) -> Self {
        let allow = Arc::new(allow);
        let judge = Judge {
            lookup,
            allow: allow.clone(),
        };
        Self {
            strict: super::builder()
                .and_then(|builder| super::build(builder.no_proxy().dns_resolver(Arc::new(judge)))),
            open,
            allow,
        }
    }

    /// Sends a request and reads the whole answer, whatever its status; like
    /// [`Outbound::send`], with every step of the way judged.
    pub async fn send(&self, request: &Request, limits: Limits) -> Result<Answer, OutboundError> {
        if !request.url.username().is_empty() || request.url.password().is_some() {
            return Err(refused(&request.url, Refusal::Userinfo));
        }
        super::follow(request, limits, |url| self.client(url)).await
    }

    /// The client that may go to an address.
    fn client(&self, url: &Url) -> Result<&reqwest::Client, OutboundError> {
        if self.allow.names(url) {
            return self.open.client(url);
        }
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            // The addresses of a name are judged when they are known.
            Some(Host::Domain(_)) | None => return self.strict.as_ref().map_err(Clone::clone),
        };
        self.allow
            .judge(address)
            .map_err(|refusal| refused(url, refusal))?;
        self.strict.as_ref().map_err(Clone::clone)
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded")
            .field("allow", &self.allow)
            .finish_non_exhaustive()
    }
}

fn refused(url: &Url, refusal: Refusal) -> OutboundError {
    OutboundError::Refused {
        host: host_of(url),
        refusal,
    }
}

impl AllowList {
    /// Whether an address may be connected to.
    fn judge(&self, address: IpAddr) -> Result<(), Refusal> {
        match range::refused(address) {
            Some(what) if !self.includes(address) => Err(Refusal::Address { address, what }),
            _ => Ok(()),
        }
    }
}

/// Looks names up and lets through the addresses a script may connect to.
struct Judge {
    lookup: Arc<dyn Lookup>,
    allow: Arc<AllowList>,
}

impl Resolve for Judge {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, allow) = (self.lookup.clone(), self.allow.clone());
        Box::pin(async move {
            let mut refusal = Refusal::Nowhere;
            let mut judged = Vec::new();
            for address in lookup.addresses(name.as_str()).await? {
                match allow.judge(address) {
                    Ok(()) => judged.push(SocketAddr::new(address, 0)),
                    Err(reason) => refusal = reason,
                }
            }
            if judged.is_empty() {
                return Err(refusal.into());
            }
            Ok(Box::new(judged.into_iter()) as Addrs)
        })
    }
}
