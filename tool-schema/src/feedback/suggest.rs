//! Suggestions ("did you mean"): the known word that is nearest to a misspelt one.
//!
//! A near name can be the wrong one, so a suggestion is only offered, and never used automatically.

/// The maximum length of a compared word, in bytes. Comparing takes quadratic time, so very long words get no suggestion.
const MAX_LENGTH: usize = 256;

/// The least distance of words that share parts. Words of three letters or more that are near by edits have at most 33.
const DISTANCE_OF_PARTS: u32 = 34;

/// Returns the word of `known` that is nearest to `word`, if one is near. A near word is few edits away, or shares most of its
/// `_`-separated parts with `word`, in any order. Words of more than 256 bytes are never near.
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

/// Returns the distance of two words, which is below 100, or `None` if they are not similar.
fn distance(word: &str, candidate: &str) -> Option<u32> {
    if word.is_empty() || candidate.is_empty() || word.len().max(candidate.len()) > MAX_LENGTH {
        return None;
    }
    let (word, candidate) = (fold(word), fold(candidate));
    let longest = word.len().max(candidate.len());
    let percent = |part: usize, whole: usize| u32::try_from(part * 100 / whole).unwrap_or(100);
    let edits = count_edits(&word, &candidate);
    if edits <= 1.max(longest / 3) && edits < word.len().min(candidate.len()) {
        return Some(percent(edits, longest));
    }
    let (left, right) = (split_parts(&word), split_parts(&candidate));
    let shared = left.iter().filter(|part| right.contains(part)).count();
    let all = left.len() + right.len() - shared;
    (shared * 2 > all && shared > 1).then(|| DISTANCE_OF_PARTS + percent(all - shared, all) / 2)
}

/// Returns `word` in lower case, with `_` as the only separator of parts.
fn fold(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).map(|c| if c == '-' || c == ' ' || c == '.' { '_' } else { c }).collect()
}

fn split_parts(word: &[char]) -> Vec<&[char]> {
    word.split(|&c| c == '_').filter(|part| !part.is_empty()).collect()
}

/// Returns the edit distance, in which a swap of neighbours counts once.
fn count_edits(a: &[char], b: &[char]) -> usize {
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
    fn nothing_is_suggested_when_nothing_is_near() {
        assert_eq!(nearest("zebra", ["city", "unit"]), None);
        assert_eq!(nearest("", ["city"]), None);
        assert_eq!(nearest("x", ["y"]), None);
    }
}
