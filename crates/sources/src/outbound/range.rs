//! Ranges of addresses, and those that are not the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses that share their first bits with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    first: IpAddr,
    bits: u8,
}

impl Range {
    /// A range; `None` where an address has fewer bits.
    pub(super) fn new(first: IpAddr, bits: u8) -> Option<Self> {
        let most = if first.is_ipv4() { 32 } else { 128 };
        (bits <= most).then_some(Self { first, bits })
    }

    /// The range of one address.
    pub(super) fn of(address: IpAddr) -> Self {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        Self {
            first: address,
            bits,
        }
    }

    pub(super) fn contains(&self, address: IpAddr) -> bool {
        let differ = match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                u128::from(first.to_bits() ^ address.to_bits()) << 96
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => first.to_bits() ^ address.to_bits(),
            _ => return false,
        };
        differ.leading_zeros() >= u32::from(self.bits)
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Range {
    Range {
        first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        bits,
    }
}

const fn v6(a: u16, b: u16, c: u16, bits: u8) -> Range {
    Range {
        first: IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)),
        bits,
    }
}

/// What is not the public internet, by the registries of special addresses.
const SPECIAL: &[(Range, &str)] = &[
    (v4(0, 0, 0, 0, 8), "this network itself"),
    (v4(10, 0, 0, 0, 8), "a private network"),
    (v4(100, 64, 0, 0, 10), "a provider's inner network"),
    (v4(127, 0, 0, 0, 8), "this machine"),
    // The address of a cloud's own service for its machines, in the midst of public ones.
    (v4(168, 63, 129, 16, 32), "a cloud's metadata service"),
    (v4(169, 254, 0, 0, 16), "the local link"),
    (v4(172, 16, 0, 0, 12), "a private network"),
    (v4(192, 0, 0, 0, 24), "a protocol's own range"),
    (v4(192, 0, 2, 0, 24), "a range for documentation"),
    (v4(192, 88, 99, 0, 24), "a relay between protocols"),
    (v4(192, 168, 0, 0, 16), "a private network"),
    (v4(198, 18, 0, 0, 15), "a range for measurements"),
    (v4(198, 51, 100, 0, 24), "a range for documentation"),
    (v4(203, 0, 113, 0, 24), "a range for documentation"),
    (v4(224, 0, 0, 0, 4), "a multicast group"),
    (v4(240, 0, 0, 0, 4), "a reserved range"),
    (v6(0x64, 0xff9b, 0, 32), "an IPv4 address in disguise"),
    (v6(0xfc00, 0, 0, 7), "a private network"),
    (v6(0xfe80, 0, 0, 10), "the local link"),
    (v6(0xfec0, 0, 0, 10), "a private network"),
    (v6(0xff00, 0, 0, 8), "a multicast group"),
    // Within the public part of IPv6:
    (v6(0x2001, 0, 0, 23), "a protocol's own range"),
    (v6(0x2001, 0xdb8, 0, 32), "a range for documentation"),
    (v6(0x2002, 0, 0, 16), "an IPv4 address in disguise"),
    (v6(0x3fff, 0, 0, 20), "a range for documentation"),
];

/// The one part of IPv6 that is handed out to the public.
const PUBLIC_V6: Range = v6(0x2000, 0, 0, 3);

/// Why an address is not on the public internet; `None` where it is.
pub(super) fn refused(address: IpAddr) -> Option<&'static str> {
    let special = SPECIAL.iter().find(|(range, _)| range.contains(address));
    if let Some((_, what)) = special {
        return Some(what);
    }
    let IpAddr::V6(six) = address else {
        return None;
    };
    if six.is_loopback() {
        return Some("this machine");
    }
    if six.to_ipv4().is_some() {
        return Some("an IPv4 address in disguise");
    }
    (!PUBLIC_V6.contains(address)).then_some("a reserved range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: Option<&str>) {
        assert_eq!(refused(address.parse().unwrap()), expected, "{address}");
    }

    #[test]
    fn public_addresses_are_public() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "2001:200::1",
        ] {
            check(address, None);
        }
    }

    #[test]
    fn the_borders_of_ranges_belong_to_them() {
        check("10.255.255.255", Some("a private network"));
        check("172.31.255.255", Some("a private network"));
        check("100.127.255.255", Some("a provider's inner network"));
        check("169.254.169.254", Some("the local link"));
        check("255.255.255.255", Some("a reserved range"));
        check("fdff:ffff::1", Some("a private network"));
        check("fd00:ec2::254", Some("a private network"));
        check("febf::1", Some("the local link"));
        check("::", Some("an IPv4 address in disguise"));
        check("::1", Some("this machine"));
        check("::ffff:8.8.8.8", Some("an IPv4 address in disguise"));
        check("::7f00:1", Some("an IPv4 address in disguise"));
        check("64:ff9b::808:808", Some("an IPv4 address in disguise"));
        check("2002:7f00:1::", Some("an IPv4 address in disguise"));
        check("2001:0:5ef5:79fd::1", Some("a protocol's own range"));
        check("4000::1", Some("a reserved range"));
    }

    #[test]
    fn a_range_has_as_many_bits_as_its_addresses() {
        let v4: IpAddr = "10.0.0.0".parse().unwrap();
        assert!(Range::new(v4, 33).is_none());
        let all = Range::new(v4, 0).unwrap();
        assert!(all.contains("1.2.3.4".parse().unwrap()));
        assert!(!all.contains("::1".parse().unwrap()));
        let six = Range::new("fd00::".parse().unwrap(), 8).unwrap();
        assert!(six.contains("fd12::1".parse().unwrap()));
        assert!(!six.contains("fe12::1".parse().unwrap()));
    }
}
