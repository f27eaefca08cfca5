//! "Did you mean": the nearest word of a few.

/// The known word that is at most a third of its length away from `word`.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = |candidate: &&'a str| {
        let edits = edits(word.as_bytes(), candidate.as_bytes());
        (edits <= 1.max(candidate.len() / 3) && edits < candidate.len()).then_some((edits, *candidate))
    };
    known.iter().filter_map(near).min_by_key(|(edits, _)| *edits).map(|(_, candidate)| candidate)
}

fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}
