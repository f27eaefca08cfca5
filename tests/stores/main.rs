//! The contract of every store, tested for each, and the promise that records of every version stay readable.

mod append;
mod backup;
mod due;
mod lease;
mod list;
mod load;
mod memory_limits;
mod nonces;
mod pieces;
mod pooler;
mod postgres;
mod real_runs;
mod records;
mod sample_appends;
mod silent_server;
mod sqlite;
mod waiting;
mod watch;

/// Runs each check on each kind of store, with two handles if the store allows several processes.
macro_rules! every_store {
    ($($module:ident::$check:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $check() {
                crate::$module::$check(&tool_test_kit::stores::Stores::memory()).await;
            })*
        }
        mod sqlite_file {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $check() {
                let file = tool_test_kit::stores::File::new();
                crate::$module::$check(&file.stores()).await;
            })*
        }
        mod sqlite_memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $check() {
                crate::$module::$check(&tool_test_kit::stores::Stores::sqlite_memory()).await;
            })*
        }
        mod postgresql {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $check() {
                let schema = tool_test_kit::stores::Schema::new();
                crate::$module::$check(&schema.stores().await).await;
                schema.remove().await;
            })*
        }
        mod postgresql_behind_a_pooler {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $check() {
                let Some(schema) = tool_test_kit::stores::Schema::pooled("transaction") else { return };
                crate::$module::$check(&schema.stores().await).await;
                schema.remove().await;
            })*
        }
    };
}

every_store! {
    append::appends_create_a_run_and_add_to_it,
    append::one_of_fifty_wins,
    append::one_of_fifty_writers_creates_the_run,
    append::a_refused_append_changes_nothing,
    append::ten_megabytes_are_kept,
    append::any_text_and_any_name_are_kept,
    append::without_entries_only_the_head_changes,
    append::delete_removes_the_whole_run,
    lease::one_worker_at_a_time_has_the_lease,
    lease::one_of_twenty_workers_gets_the_lease,
    lease::an_older_token_is_fenced_off,
    lease::a_released_lease_is_free,
    lease::the_lease_of_a_deleted_run_is_refused,
    lease::a_lease_without_end_is_kept,
    load::load_returns_the_records_after_the_snapshot,
    load::a_snapshot_moves_only_forward,
    load::a_snapshot_in_the_middle_of_a_record_keeps_the_record,
    load::read_returns_the_records_after_a_revision,
    load::an_unknown_run_is_not_found,
    load::the_log_of_another_run_is_refused,
    list::runs_are_listed_by_owner_in_order_and_in_pages,
    list::changes_and_titles_are_listed,
    list::real_runs_are_listed,
    waiting::interrupts_are_listed_by_principal,
    waiting::interrupts_are_listed_in_order_and_in_pages,
    waiting::closed_interrupts_leave_the_list_until_they_open_again,
    due::due_runs_are_active_or_expired_and_not_leased,
    due::the_run_that_was_driven_longest_ago_comes_first,
    real_runs::a_run_is_driven_by_two_processes,
    real_runs::a_newer_record_is_refused,
    real_runs::many_runs_are_driven_at_once,
}
