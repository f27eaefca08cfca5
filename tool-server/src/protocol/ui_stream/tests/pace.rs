//! How many pieces a long text is sent in, and how long a piece waits.

use std::time::Duration;

use crate::protocol::held::Held;

fn pieces(size: usize, piece: usize, gap: Duration) -> Vec<usize> {
    let (mut held, mut sent, text) = (Held::default(), Vec::new(), "x".repeat(piece));
    let mut now = Duration::ZERO;
    for _ in 0..size / piece {
        now += gap;
        held.push(&text, now, |text| sent.push(text.len()));
    }
    held.take(|text| sent.push(text.len()));
    assert_eq!(sent.iter().sum::<usize>(), size / piece * piece);
    sent
}

#[test]
fn arguments_are_sent_in_growing_pieces() {
    // A client that reads all it has with each piece reads 17 times the whole, not the square of it.
    let fast = |size| pieces(size, 20, Duration::ZERO);
    assert!(fast(100_000).len() < 130, "{}", fast(100_000).len());
    assert!(fast(1_000_000).len() < 170, "{}", fast(1_000_000).len());
    assert!(fast(1_000_000).windows(2).all(|pair| pair[1] <= pair[0].max(20) * 2));
    // Short ones come as they are written.
    assert_eq!(fast(300).len(), 15);
}

#[test]
fn nothing_waits_long_while_it_is_short() {
    let slow = pieces(10_000, 20, Duration::from_millis(20));
    assert!(slow.iter().all(|size| *size <= 80), "at most three gaps: {slow:?}");
    let mut held = Held::default();
    held.push(&"x".repeat(1_000), Duration::ZERO, |_| {});
    held.push("y", Duration::from_millis(7), |_| panic!("one of a thousand"));
    assert_eq!(held.due(), Some(Duration::from_millis(57)));
    held.push(&"x".repeat(20_000), Duration::from_millis(8), |_| {});
    held.push("y", Duration::from_millis(9), |_| panic!("one of twenty thousand"));
    assert_eq!(held.due(), None, "of a long text a piece waits for others");
    let mut gathered = Held::at_least(512);
    for _ in 0..25 {
        gathered.push(&"x".repeat(20), Duration::ZERO, |_| panic!("fewer than 512"));
    }
    assert_eq!(gathered.due(), Some(Duration::from_millis(50)));
    gathered.push(&"x".repeat(20), Duration::ZERO, |text| assert_eq!(text.len(), 520));
    assert_eq!(gathered.due(), None);
    let mut prose = Held::prose();
    prose.push(&"x".repeat(20_000), Duration::ZERO, |_| {});
    prose.push("y", Duration::ZERO, |_| panic!("one of twenty thousand"));
    assert_eq!(prose.due(), Some(Duration::from_millis(50)), "but a person reads it as it comes");
}
