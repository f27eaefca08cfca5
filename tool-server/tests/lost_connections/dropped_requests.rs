//! Tests of a request that is dropped at each point at which it waits, and sent again.

use crate::lost_connections::{
    client::{Answer, Client, Protocol},
    world::World,
};

/// A limit that is greater than the number of points in a request.
const MAX_POLLS: usize = 2000;

/// The number of polls that are enough if other tasks get no turns: the request never gets past its first wait.
const STUCK: usize = 40;

/// A request whose connection was lost.
struct Lost {
    world: World,
    client: Client,
    body: String,
    at: String,
}

impl Lost {
    /// Answers the request about the tool `prompt`, loses the connection at each point in turn, and runs `check`.
    async fn at_every_point(
        is_sealed: bool,
        protocol: Protocol,
        prompt: &str,
        answer: Answer,
        check: impl AsyncFn(Self),
    ) {
        for yields in [0, 1, 3] {
            for polls in 1.. {
                assert!(polls < MAX_POLLS, "the response has no end");
                let world = World::new(is_sealed);
                let client = Client::begin(&world, protocol, prompt).await;
                let body = client.answer_body(answer, &[prompt]);
                let is_over = world.send_and_lose(protocol.path(), &body, polls, yields).await;
                let at = format!("{protocol:?}, sealed: {is_sealed}, {answer:?}, {polls} polls, {yields} turns");
                check(Self { world, client, body, at }).await;
                if is_over || yields == 0 && polls == STUCK {
                    assert!(polls > 3, "{polls} points are too few to be all");
                    break;
                }
            }
        }
    }

    /// Sends the request again. Returns the status.
    async fn send_again(&self) -> u16 {
        let response = self.world.post(self.client.protocol.path(), &self.body).await;
        self.world.settle().await;
        response.status
    }

    /// Sends a new message, and returns the messages that the model receives.
    async fn go_on(&self) -> String {
        let response = self.world.post(self.client.protocol.path(), &self.client.next_body()).await;
        assert_eq!(response.status, 200, "{}: {}", self.at, response.text);
        self.world.received()
    }
}

async fn runs_once(is_sealed: bool, protocol: Protocol, answer: Answer) {
    Lost::at_every_point(is_sealed, protocol, "pay", answer, async |lost| {
        let before = lost.world.counts.pay.runs();
        let status = lost.send_again().await;
        assert_eq!(lost.world.counts.pay.runs(), 1, "{}; it had run {before} times, then {status}", lost.at);
        let received = lost.go_on().await;
        let paid = if answer == Answer::Edit { "paid 4" } else { "paid 5" };
        // No client has the sealed run of a lost response.
        assert!(is_sealed || received.contains(paid), "{}: {received}", lost.at);
        assert_eq!(lost.world.counts.pay.runs(), 1, "{}", lost.at);
    })
    .await;
}

/// Defines each test for both modes and both protocols.
macro_rules! tests_everywhere {
    ($($test:ident: $check:ident($answer:ident);)*) => {
        $(mod $test {
            use super::{$check, Answer, Protocol};

            #[tokio::test]
            async fn stored_ai_sdk() {
                $check(false, Protocol::AiSdk, Answer::$answer).await;
            }

            #[tokio::test]
            async fn stored_ag_ui() {
                $check(false, Protocol::AgUi, Answer::$answer).await;
            }

            #[tokio::test]
            async fn sealed_ai_sdk() {
                $check(true, Protocol::AiSdk, Answer::$answer).await;
            }

            #[tokio::test]
            async fn sealed_ag_ui() {
                $check(true, Protocol::AgUi, Answer::$answer).await;
            }
        })*
    };
}

tests_everywhere! {
    an_approval: runs_once(Yes);
    an_edit: runs_once(Edit);
    an_approval_beside_a_prompt: runs_once(YesAndMore);
    a_denial: never_runs(No);
    a_result: counts_once(Result);
}

async fn never_runs(is_sealed: bool, protocol: Protocol, answer: Answer) {
    Lost::at_every_point(is_sealed, protocol, "pay", answer, async |lost| {
        lost.send_again().await;
        let received = lost.go_on().await;
        assert!(is_sealed || received.contains("denied"), "{}: {received}", lost.at);
        // A denied call cannot be approved afterwards.
        let yes = lost.client.answer_body(Answer::Yes, &["pay"]);
        lost.world.post(protocol.path(), &yes).await;
        lost.world.settle().await;
        assert_eq!(lost.world.counts.pay.runs(), 0, "{}", lost.at);
    })
    .await;
}

async fn counts_once(is_sealed: bool, protocol: Protocol, answer: Answer) {
    Lost::at_every_point(is_sealed, protocol, "Locate", answer, async |lost| {
        lost.send_again().await;
        let received = lost.go_on().await;
        assert!(is_sealed || received.matches("home").count() == 1, "{}: {received}", lost.at);
    })
    .await;
}
