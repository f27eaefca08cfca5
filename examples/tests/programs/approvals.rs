//! The example `approvals`, as several processes in sequence.

use std::{
    fs,
    path::PathBuf,
    process::{self, Command},
    sync::atomic::{AtomicU32, Ordering},
};

/// A shop whose runs are in a file of its own.
struct Shop(PathBuf);

struct Said {
    fine: bool,
    out: String,
    err: String,
}

impl Shop {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("tool-approvals-{}-{number}", process::id())))
    }

    fn run(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_approvals"));
        for model in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "DATABASE_URL", "APPROVALS_USER"] {
            command.env_remove(model);
        }
        let output = command.arg("--store").arg(self.0.join("runs.db")).args(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Said { fine: output.status.success(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Returns the program's output, and asserts its success.
    fn says(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert!(said.fine, "{arguments:?}: {}{}", said.out, said.err);
        said.out
    }

    /// Returns the program's output, and asserts its refusal.
    fn refuses(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert!(!said.fine, "{arguments:?}: {}", said.out);
        said.err
    }

    /// Returns the id of a waiting refund.
    fn waiting(&self) -> String {
        let said = self.says(&["ask", "refund 40 euros for order A102"]);
        let id = said.lines().find_map(|line| line.strip_prefix("waits for a decision: "));
        id.unwrap_or_else(|| panic!("{said}")).to_owned()
    }

    fn ledger(&self) -> Vec<String> {
        let text = fs::read_to_string(self.0.join("runs.ledger.txt")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn approved_by_one_process_and_paid_by_another_once() {
    let shop = Shop::new();
    let id = shop.waiting();
    assert!(shop.ledger().is_empty());
    assert!(shop.says(&["list"]).contains("Pay 40 euros back for order \"A102\"?"));
    let shown = shop.says(&["show", &id]);
    assert!(shown.contains("order: \"A102\"\n  amount: 40\n"), "{shown}");
    assert!(shop.says(&["resume"]).contains("0 runs"), "nobody decided yet");
    assert!(shop.ledger().is_empty());
    shop.says(&["approve", &id]);
    shop.says(&["approve", &id]);
    assert!(shop.says(&["list"]).contains("nothing waits for clerk"));
    let resumed = shop.says(&["resume"]);
    assert!(
        resumed.contains("40 euros were paid back to Grace") && resumed.contains("1 run was taken up"),
        "{resumed}"
    );
    shop.says(&["resume"]);
    shop.says(&["resume", id.split('/').next().unwrap()]);
    assert_eq!(shop.ledger().len(), 1, "{:?}", shop.ledger());
}

#[test]
fn edited_and_paid_as_edited() {
    let shop = Shop::new();
    let id = shop.waiting();
    let refused = shop.refuses(&["edit", &id, r#"{"order": "A102", "amount": 501, "why": "broken"}"#]);
    for part in ["it still waits", "`amount`", "500", "`why`"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert!(shop.refuses(&["edit", &id, "{order}"]).contains("not JSON"));
    // The beginning of the run's id is enough.
    let (run, call) = id.split_once('/').unwrap();
    shop.says(&["edit", &format!("{}/{call}", &run[..8]), r#"{"order": "A103", "amount": 30}"#]);
    shop.says(&["resume", run]);
    assert!(shop.ledger()[0].starts_with("A103 30 EUR"), "{:?}", shop.ledger());
}

#[test]
fn a_denial_reaches_the_model_with_its_reason() {
    let shop = Shop::new();
    let id = shop.waiting();
    shop.says(&["deny", &id, "it", "was", "worn"]);
    assert!(shop.says(&["resume"]).contains("it was worn"));
    assert!(shop.refuses(&["approve", &id]).contains("too late"));
    shop.says(&["resume"]);
    assert!(shop.ledger().is_empty());
}

#[test]
fn other_users_cannot_decide_and_unknown_ids_are_errors() {
    let shop = Shop::new();
    let id = shop.waiting();
    let run = id.split('/').next().unwrap();
    assert!(shop.says(&["list", "--as", "mallory"]).contains("nothing waits for mallory"));
    assert!(shop.says(&["list", "--as", "mallory", "--all"]).contains(&id));
    assert!(shop.refuses(&["approve", &id, "--as", "mallory"]).contains("mallory may not decide here"));
    assert!(shop.refuses(&["approve", &format!("{run}/call_9.1")]).contains("nothing waits, or waited"));
    assert!(shop.refuses(&["approve", "nowhere/call_1.1"]).contains("there is no run nowhere"));
    assert!(shop.refuses(&["approve", "call_1"]).contains("an id looks like RUN/CALL.1"));
    assert!(shop.refuses(&["resume", "nowhere"]).contains("there is no run nowhere"));
    shop.says(&["resume"]);
    assert!(shop.ledger().is_empty());
    assert!(shop.says(&["list"]).contains(&id), "it still waits");
}
