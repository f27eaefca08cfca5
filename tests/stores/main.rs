//! The contract of every store, tested for each, and the promise that records of every version stay readable.

mod append;
mod due;
mod lease;
mod list;
mod load;
mod nonces;
mod pieces;
mod postgres;
mod real_runs;
mod records;
mod sample_appends;
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
    };
}

every_store! {
    append::creates_and_adds,
    append::one_of_fifty_wins,
    append::one_of_fifty_creates,
    append::a_refused_append_changes_nothing,
    append::ten_megabytes,
    append::any_text_and_any_name,
    append::without_entries_only_the_head_changes,
    append::delete_takes_all_of_it,
    lease::one_worker_at_a_time,
    lease::one_of_twenty_gets_it,
    lease::an_older_token_is_fenced_off,
    lease::giving_back,
    lease::the_lease_of_a_deleted_run_is_refused,
    lease::for_ever,
    load::only_what_comes_after_the_snapshot,
    load::a_snapshot_moves_only_forward,
    load::a_snapshot_in_the_middle_of_an_append,
    load::reads_on,
    load::unknown_runs,
    list::runs_are_listed_by_owner_in_order_and_in_pages,
    list::changes_and_titles,
    list::real_runs_are_listed,
    waiting::by_principal,
    waiting::in_order_and_in_pages,
    waiting::closed_and_opened_again,
    due::expired_active_and_leased,
    due::the_longest_left_alone_comes_first,
    real_runs::a_run_goes_through_two_processes,
    real_runs::a_newer_record_is_refused,
    real_runs::many_runs_at_a_time,
}
