//! A JSON object, where a type alone would be read of a list too.
//!
//! serde reads a struct of a list of its fields in their order as well: `[null,null]` would be a pause of
//! everything, and what a field means would depend on where it stands.
//!
//! Cost: none of its own.
//!
//! Does not know what is in it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// What was read of an object.
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Object<T>, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields)).map(Object)
            }
        }
        from.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// Reads a list of objects.
///
/// # Errors
///
/// What is wrong with one of them.
pub fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let items = Vec::<Object<T>>::deserialize(from)?;
    Ok(items.into_iter().map(|Object(item)| item).collect())
}

/// Reads an object or null.
///
/// # Errors
///
/// What is wrong with it.
pub fn optional<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<Object<T>>::deserialize(from)?.map(|Object(found)| found))
}
