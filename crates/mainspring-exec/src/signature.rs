//! Signatures of webhooks, by which a receiver knows who sent what, and that it is no replay.
//!
//! ```text
//! Mainspring-Signature: t=1767225600,v1=5257a869...     v1 = hex(HMAC-SHA256(secret, "1767225600." + body))
//! ```
//!
//! A receiver computes v1 over the time in the header, a dot, and the bytes of the body as they came,
//! compares it in constant time, and refuses a time that is more than five minutes away. Fields may be added
//! after a comma.
//!
//! Cost: two passes over the body.
//!
//! Does not hide the body: TLS does.
//!
//! Source: RFC 2104, <https://www.rfc-editor.org/rfc/rfc2104>; the header has the shape of Stripe's,
//! <https://docs.stripe.com/webhooks#verify-manually>.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use mainspring_action::secret::Secret;

/// The header that carries the signature.
pub const SIGNATURE_HEADER: &str = "Mainspring-Signature";

/// The value of the header for a body that is sent at `unix_s`, in seconds since 1970.
pub fn signature(secret: &Secret, unix_s: i64, body: &str) -> String {
    let signed = format!("{unix_s}.{body}");
    format!("t={unix_s},v1={}", hex_of_mac(secret.reveal().as_bytes(), signed.as_bytes()))
}

fn hex_of_mac(key: &[u8], text: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(text);
    let mut hex = String::new();
    for byte in mac.finalize().into_bytes() {
        write!(hex, "{byte:02x}").expect("a string can be written");
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mac_is_that_of_rfc_4231() {
        let cases: [(&[u8], &[u8], &str); 3] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, text, expected) in cases {
            assert_eq!(hex_of_mac(key, text), expected);
        }
    }

    #[test]
    fn the_header_names_the_time_that_was_signed() {
        let header = signature(&Secret::new("Jefe"), 12, "what");
        assert_eq!(header, format!("t=12,v1={}", hex_of_mac(b"Jefe", b"12.what")));
    }
}
