//! Where a reference inside a schema leads.

use std::collections::HashMap;

use serde_json::Value;

/// What can be referred to by name: resources by their `$id`, places by their anchors.
#[derive(Debug)]
pub(super) struct Names<'a> {
    /// The keyword that names a resource: `id` in draft 4, `$id` since.
    keyword: &'static str,
    root: &'a Value,
    /// The resource of each object that is not in the root's own, by address.
    homes: HashMap<usize, &'a Value>,
    resources: HashMap<&'a str, &'a Value>,
    /// By the address of the resource that holds them.
    anchors: HashMap<(usize, &'a str), &'a Value>,
    /// `$dynamicAnchor`s, wherever they are.
    dynamic: HashMap<&'a str, Vec<&'a Value>>,
}

/// The identity of a value inside one document that stays borrowed.
pub(in crate::schema) fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

impl<'a> Names<'a> {
    pub(super) fn of(root: &'a Value, keyword: &'static str) -> Self {
        let (homes, resources, anchors, dynamic) = Default::default();
        let mut names = Self { keyword, root, homes, resources, anchors, dynamic };
        names.collect(root, root);
        names
    }

    /// How many resources there are, without a nameless root.
    pub(super) fn resources(&self) -> usize {
        self.resources.len()
    }

    /// The resource that `value` belongs to: what `#` means inside it.
    pub(super) fn home(&self, value: &Value) -> &'a Value {
        self.homes.get(&address(value)).copied().unwrap_or(self.root)
    }

    fn collect(&mut self, value: &'a Value, resource: &'a Value) {
        match value {
            Value::Object(map) => {
                let id = self.id(value);
                let resource = if id.is_some() { value } else { resource };
                if let Some(id) = id {
                    self.resources.insert(id.trim_end_matches('#'), value);
                }
                if address(resource) != address(self.root) {
                    self.homes.insert(address(value), resource);
                }
                let text = |key| map.get(key).and_then(Value::as_str);
                let old = text(self.keyword).and_then(|id| id.strip_prefix('#'));
                for anchor in [text("$anchor"), text("$dynamicAnchor"), old].into_iter().flatten() {
                    self.anchors.insert((address(resource), anchor), value);
                }
                if let Some(anchor) = text("$dynamicAnchor") {
                    self.dynamic.entry(anchor).or_default().push(value);
                }
                map.values().for_each(|part| self.collect(part, resource));
            }
            Value::Array(items) => items.iter().for_each(|part| self.collect(part, resource)),
            _ => {}
        }
    }

    /// Where `reference` leads from inside `resource`.
    pub(super) fn find(&self, reference: &str, resource: &'a Value) -> Option<&'a Value> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if base.is_empty() { resource } else { self.by_id(base, resource)? };
        if fragment.is_empty() {
            return Some(resource);
        }
        if fragment.starts_with('/') {
            return resource.pointer(&percent_decoded(fragment)?);
        }
        self.anchors.get(&(address(resource), fragment)).copied()
    }

    /// Every place that `$dynamicRef` can lead to.
    pub(super) fn find_dynamic(&self, reference: &str, resource: &'a Value) -> Vec<&'a Value> {
        let anchored = reference.strip_prefix('#').and_then(|anchor| self.dynamic.get(anchor));
        anchored.cloned().unwrap_or_else(|| self.find(reference, resource).into_iter().collect())
    }

    fn by_id(&self, base: &str, resource: &'a Value) -> Option<&'a Value> {
        if let Some(found) = self.resources.get(base) {
            return Some(found);
        }
        // A relative name beside the resource's own.
        let (folder, _) = self.id(resource)?.rsplit_once('/')?;
        self.resources.get(format!("{folder}/{base}").as_str()).copied()
    }

    /// The name of a schema that is a resource of its own.
    fn id<'v>(&self, value: &'v Value) -> Option<&'v str> {
        let id = value.get(self.keyword)?.as_str()?;
        (!id.starts_with('#') && !id.is_empty()).then_some(id)
    }
}

fn percent_decoded(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}
