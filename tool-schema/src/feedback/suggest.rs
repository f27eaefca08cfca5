//! Suggestions ("did you mean"): the known word that is nearest to a misspelt one.
//!
//! A near name can be the wrong one, so a suggestion is only offered, and never used automatically.

/// The maximum length of a compared name, in bytes.
const MAX_NAME_LENGTH: usize = 256;

/// Returns the word of `known` that is nearest to `word`, if one is near. A near word is few edits away, or consists of the same
/// parts in another order or number (`search_flights` for `flight_search`).
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(u32, &'a str)> = None;
    for candidate in known {
        let Some(cost) = distance(word, candidate) else { continue };
        if best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns the distance of two words, in hundredths of the longer one, or `None` if they are not similar.
fn distance(word: &str, candidate: &str) -> Option<u32> {
    // Longer words are not names, and comparing them would take quadratic time.
    if word.is_empty() || candidate.is_empty() || word.len().max(candidate.len()) > MAX_NAME_LENGTH {
        return None;
    }
    let (word, candidate) = (fold(word), fold(candidate));
    let longest = word.len().max(candidate.len());
    let percent = |part: usize, whole: usize| u32::try_from(part * 100 / whole).unwrap_or(100);
    let edits = edits(&word, &candidate);
    if edits <= 1.max(longest / 3) && edits < word.len().min(candidate.len()) {
        return Some(percent(edits, longest));
    }
    let (left, right) = (parts(&word), parts(&candidate));
    let shared = left.iter().filter(|part| right.contains(part)).count();
    let all = left.len() + right.len() - shared;
    (shared * 2 > all && shared > 1).then(|| 34 + percent(all - shared, all) / 2)
}

fn fold(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).map(|c| if c == '-' || c == ' ' || c == '.' { '_' } else { c }).collect()
}

fn parts(word: &[char]) -> Vec<&[char]> {
    word.split(|&c| c == '_').filter(|part| !part.is_empty()).collect()
}

/// Returns the edit distance, in which a swap of neighbours counts once.
fn edits(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut before = vec![0; width];
    let mut row: Vec<usize> = (0..width).collect();
    for i in 1..=a.len() {
        let mut next = vec![i; width];
        for j in 1..width {
            let change = usize::from(a[i - 1] != b[j - 1]);
            next[j] = (row[j] + 1).min(next[j - 1] + 1).min(row[j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                next[j] = next[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_a_swap_a_typo_and_another_order() {
        assert_eq!(nearest("ctiy", ["unit", "city"]), Some("city"));
        assert_eq!(nearest("celcius", ["celsius", "fahrenheit"]), Some("celsius"));
        assert_eq!(nearest("flight_search_all", ["search_flight_all", "book"]), Some("search_flight_all"));
        assert_eq!(nearest("maxResults", ["max_results"]), Some("max_results"));
    }

    #[test]
    fn stays_silent_when_nothing_is_near() {
        assert_eq!(nearest("zebra", ["city", "unit"]), None);
        assert_eq!(nearest("", ["city"]), None);
        assert_eq!(nearest("x", ["y"]), None);
    }
}
