//! Networks of proxies: which addresses are in one, and whether strangers are among them.
//!
//! | text | is |
//! |---|---|
//! | `10.0.0.0/8` | a network of IPv4 |
//! | `::ffff:10.0.0.0/104` | the same: addresses of IPv4 as a socket of IPv6 shows them |
//! | `64:ff9b::10.0.0.0/104` | of IPv6, and as wide as that of IPv4 in it |
//!
//! Cost: some comparisons.
//!
//! Does not know which networks an operator has.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The fewest bits of a network of a proxy. The widest private networks have as many: 10.0.0.0/8 and
/// fd00::/8. Each network with fewer has addresses of strangers in it, who would connect without encryption.
const MIN_PREFIX: u32 = 8;

/// The bits from which on a network of public addresses may be one of the proxy's own: those of the widest
/// that an operator is given, for IPv4 and IPv6.
const PUBLIC_PREFIXES: [u32; 2] = [16, 32];

const _: () = assert!(0 < MIN_PREFIX, "`Network::has` shifts by less than all bits");
const _: () = assert!(MIN_PREFIX <= PUBLIC_PREFIXES[0]);
const _: () = assert!(PUBLIC_PREFIXES[0] <= u32::BITS);
const _: () = assert!(PUBLIC_PREFIXES[1] <= u128::BITS);

/// The networks whose addresses belong to no host on the Internet: of RFC 1918, 6598, 4193, and this
/// machine's own.
const PRIVATE: [Network; 6] = [
    Network { address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), prefix: 8 },
    Network { address: IpAddr::V4(Ipv4Addr::new(100, 64, 0, 0)), prefix: 10 },
    Network { address: IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), prefix: 8 },
    Network { address: IpAddr::V4(Ipv4Addr::new(172, 16, 0, 0)), prefix: 12 },
    Network { address: IpAddr::V4(Ipv4Addr::new(192, 168, 0, 0)), prefix: 16 },
    Network { address: IpAddr::V6(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0)), prefix: 7 },
];

/// The networks of IPv6 in which all of IPv4 is, and how many bits stand there before the address of IPv4:
/// addresses that are mapped (which are read as those of IPv4) and compatible (RFC 4291), translated by NAT64
/// (RFC 6052) and tunnelled by 6to4 (RFC 3056).
const WITH_IPV4: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96),
    (Ipv6Addr::UNSPECIFIED, 96),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
];

/// A range of addresses of one site. One that was read has at least 8 bits, also of the addresses of IPv4 in
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u32,
}

impl Network {
    /// Whether an address is in it.
    pub fn has(&self, address: IpAddr) -> bool {
        // A shift by all bits would be one by none, and the network another one.
        assert!(0 < self.prefix);
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                (u32::from(ours) ^ u32::from(other)) >> (32 - self.prefix) == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => {
                (u128::from(ours) ^ u128::from(other)) >> (128 - self.prefix) == 0
            }
            _ => false,
        }
    }

    /// Whether so many public addresses are in it that those of strangers must be among them.
    pub fn is_public(&self) -> bool {
        let meant = self.meant();
        let is_wide = meant.prefix < PUBLIC_PREFIXES[usize::from(meant.address.is_ipv6())];
        is_wide && !PRIVATE.iter().any(|own| own.prefix <= meant.prefix && own.has(meant.address))
    }

    /// A network of mapped addresses as that of IPv4 which it is: so a connection from it is seen.
    fn canonical(self) -> Network {
        match self.address {
            IpAddr::V6(address) if 96 <= self.prefix => address
                .to_ipv4_mapped()
                .map_or(self, |mapped| Network { address: mapped.into(), prefix: self.prefix - 96 }),
            _ => self,
        }
    }

    /// The network of IPv4 whose addresses are in this one of IPv6; else itself. It has at least one bit.
    fn meant(self) -> Network {
        let IpAddr::V6(address) = self.address else { return self };
        let bits = u128::from(address);
        let meets = |(start, before): &&(Ipv6Addr, u32)| {
            (bits ^ u128::from(*start)) >> (128 - self.prefix.min(*before)) == 0
        };
        WITH_IPV4.iter().find(meets).map_or(self, |&(start, before)| {
            debug_assert!(before + u32::BITS <= u128::BITS, "an address of IPv4 stands behind them");
            let inner = if before <= self.prefix { bits } else { start.into() };
            let inner = Ipv4Addr::from_bits((inner << before >> 96) as u32);
            Network { address: inner.into(), prefix: self.prefix.saturating_sub(before).min(32) }
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Network, String> {
        let wrong = || "expected a network such as 10.0.0.0/8".to_owned();
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let prefix: u32 = prefix.parse().map_err(|_| wrong())?;
        let max = if address.is_ipv4() { 32 } else { 128 };
        if max < prefix {
            return Err(wrong());
        }
        let network = Network { address, prefix }.canonical();
        if network.prefix < MIN_PREFIX || network.meant().prefix < MIN_PREFIX {
            return Err(format!(
                "strangers are in {text}, who would connect without a proxy: name the network of the proxy, with at \
                 least {MIN_PREFIX} bits of its own"
            ));
        }
        Ok(network)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_a_proxy_is_not_the_whole_world() {
        let network = |text: &str| text.parse::<Network>();
        let whole = ["0.0.0.0/0", "::/0", "0.0.0.0/1", "128.0.0.0/1", "10.0.0.0/7", "fc00::/7", "2000::/3"];
        let of_ipv4 = [
            "::ffff:0:0/96",
            "::ffff:0:0/95",
            "::ffff:0:0/90",
            "::ffff:128.0.0.0/97",
            "::/96",
            "::/8",
            "64:ff9b::/96",
            "64:ff9b::8.0.0.0/100",
            "64:ff9b::/64",
            "2002::/16",
            "2003::/15",
            "2002:a00::/23",
        ];
        for wide in whole.into_iter().chain(of_ipv4) {
            assert!(network(wide).unwrap_err().contains("strangers"), "{wide}");
        }
        for public in [
            "8.0.0.0/8",
            "172.16.0.0/11",
            "192.168.0.0/15",
            "100.64.0.0/9",
            "203.0.0.0/15",
            "2001::/16",
            "2001:db8::/31",
            "::ffff:8.0.0.0/104",
            "64:ff9b::8.0.0.0/104",
            "2002:800::/24",
        ] {
            assert!(network(public).unwrap().is_public(), "{public}");
        }
        let private =
            ["10.0.0.0/8", "172.16.0.0/12", "127.0.0.0/8", "fd00::/8", "203.0.0.0/16", "2001:db8::/32"];
        let of_ipv4 = ["::ffff:10.0.0.0/104", "64:ff9b::10.0.0.0/104", "2002:a00::/24", "::1/128"];
        for own in private.into_iter().chain(of_ipv4) {
            assert!(!network(own).unwrap().is_public(), "{own}");
        }
        let ends = |text: &str, inside: &str, outside: &str| {
            let network = network(text).unwrap();
            assert!(network.has(inside.parse().unwrap()) && !network.has(outside.parse().unwrap()), "{text}");
        };
        ends("10.0.0.0/8", "10.255.255.255", "11.0.0.0");
        ends("10.0.0.1/32", "10.0.0.1", "10.0.0.2");
        ends("fd00::/8", "fdff::1", "fe00::1");
        ends("::1/128", "::1", "::2");
        ends("::ffff:10.0.0.0/104", "::ffff:10.1.2.3", "11.0.0.0");
        ends("64:ff9b::10.0.0.0/104", "64:ff9b::10.1.2.3", "10.1.2.3");
    }
}
