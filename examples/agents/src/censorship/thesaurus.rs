//! The English that the embedded model knows. It is not what the library holds.

const SYNONYMS: [&[&str]; 9] = [
    &["little", "small", "tiny", "petite", "minute", "diminutive", "miniature", "wee"],
    &["big", "large", "huge", "great", "enormous", "giant", "gigantic"],
    &["happy", "glad", "cheerful", "joyful", "merry"],
    &["sad", "unhappy", "sorrowful", "gloomy"],
    &["fast", "quick", "rapid", "swift"],
    &["slow", "sluggish", "tardy"],
    &["secret", "hidden", "covert", "confidential"],
    &["cold", "chilly", "icy", "frosty"],
    &["hot", "warm", "torrid", "scorching"],
];

/// Words that mean what `word` means, without itself.
pub(super) fn synonyms(word: &str) -> impl Iterator<Item = &'static str> {
    let known = |group: &&&[&str]| group.iter().any(|known| known.eq_ignore_ascii_case(word));
    let group = SYNONYMS.iter().find(known).copied().unwrap_or_default();
    group.iter().copied().filter(move |known| !known.eq_ignore_ascii_case(word))
}
