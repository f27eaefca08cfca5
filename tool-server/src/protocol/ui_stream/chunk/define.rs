//! What is made of the table of all chunks.

/// The table of all chunks: a variant, its type on the wire, the level since which there is one, and its fields.
macro_rules! chunks {
    ($(
        $(#[$doc:meta])*
        $name:ident = $kind:literal since $level:ident {
            $( $(#[$field_doc:meta])* $field:ident: $type:ty = $key:literal since $field_level:ident, )*
        }
    )*) => {
        /// A chunk of the UI message stream. Optional fields that are `None` are left out, never `null`.
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub enum Chunk<'a> {
            $( $(#[$doc])* $name { $( $(#[$field_doc])* $field: $type, )* }, )*
            /// Data of the application, as a part of the message: `data-<name>`.
            Data {
                /// The name.
                name: &'a str,
                /// Data of one name and id replaces earlier data.
                id: Option<&'a str>,
                /// The data.
                data: Json<'a>,
                /// Whether it is not kept in the message.
                transient: Option<bool>,
            },
        }

        impl Chunk<'_> {
            /// The type of the chunk on the wire; of data `data`.
            pub fn kind(&self) -> &'static str {
                match self {
                    $( Self::$name { .. } => $kind, )*
                    Self::Data { .. } => "data",
                }
            }

            /// Since which level there are such chunks: a client of an earlier one gives the whole answer up.
            pub fn since(&self) -> Level {
                match self {
                    $( Self::$name { .. } => Level::$level, )*
                    Self::Data { .. } => Level::V6,
                }
            }

            /// Writes the chunk as JSON. Nothing, and `false`, if clients of `level` do not know it.
            pub fn write(&self, level: Level, out: &mut Vec<u8>) -> bool {
                if self.since() > level {
                    return false;
                }
                match *self {
                    $( Self::$name { $( $field, )* } => {
                        out.extend_from_slice(concat!("{\"type\":\"", $kind, "\"").as_bytes());
                        $( if Level::$field_level <= level {
                            $field.field(concat!(",\"", $key, "\":"), level, out);
                        } )*
                    } )*
                    Self::Data { name, id, data, transient } => {
                        out.extend_from_slice(b"{\"type\":");
                        text(&["data-", name], out);
                        id.field(",\"id\":", level, out);
                        data.field(",\"data\":", level, out);
                        transient.field(",\"transient\":", level, out);
                    }
                }
                out.push(b'}');
                true
            }
        }
    };
}

pub(super) use chunks;
