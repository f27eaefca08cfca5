//! "Did you mean": the nearest word of a few.

/// The known word that is at most a third of its length away from `word`.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = |candidate: &&'a str| {
        let edits = edits(word.as_bytes(), candidate.as_bytes());
        (edits <= 1.max(candidate.len() / 3) && edits < candidate.len()).then_some((edits, *candidate))
    };
    known.iter().filter_map(near).min_by_key(|(edits, _)| *edits).map(|(_, candidate)| candidate)
}

/// Returns how many letters must be added, left out, changed or swapped with their neighbour.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let change = rows[i][j] + usize::from(x != y);
            let mut least = change.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
