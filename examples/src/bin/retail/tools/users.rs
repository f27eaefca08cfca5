//! Finding users and changing where they live.

use tool_runtime::tool;

use crate::error::RetailError;
use crate::store::{Address, Store, User};

/// Find user id by email. If the user is not found, the function will return an error message.
#[tool(effect = read_only)]
pub(crate) fn find_user_id_by_email(
    /// The email of the user, such as 'something@example.com'.
    email: String,
    #[state] store: &Store,
) -> Result<String, RetailError> {
    store.find_user(|user| same(&user.email, &email))
}

/// Find user id by first name, last name, and zip code. If the user is not found, the function will return an error
/// message. By default, find user id by email, and only call this function if the user is not found by email or cannot
/// remember email.
#[tool(effect = read_only)]
pub(crate) fn find_user_id_by_name_zip(
    /// The first name of the customer, such as 'John'.
    first_name: String,
    /// The last name of the customer, such as 'Doe'.
    last_name: String,
    /// The zip code of the customer, such as '12345'.
    zip: String,
    #[state] store: &Store,
) -> Result<String, RetailError> {
    store.find_user(|user| {
        same(&user.name.first_name, &first_name)
            && same(&user.name.last_name, &last_name)
            && user.address.zip() == Some(&zip)
    })
}

/// Get the details of a user, including their orders.
#[tool(effect = read_only)]
pub(crate) fn get_user_details(
    /// The user id, such as 'sara_doe_496'.
    user_id: String,
    #[state] store: &Store,
) -> Result<User, RetailError> {
    store.user(&user_id)
}

/// Modify the default address of a user. The agent needs to explain the modification detail and ask for explicit user
/// confirmation (yes/no) to proceed.
#[tool(approval = always, effect = write, idempotent)]
#[expect(clippy::too_many_arguments, reason = "an address has six lines")]
pub(crate) fn modify_user_address(
    /// The user id, such as 'sara_doe_496'.
    user_id: String,
    /// The first line of the address, such as '123 Main St'.
    address1: String,
    /// The second line of the address, such as 'Apt 1' or ''.
    address2: String,
    /// The city, such as 'San Francisco'.
    city: String,
    /// The state, such as 'CA'.
    state: String,
    /// The country, such as 'USA'.
    country: String,
    /// The zip code, such as '12345'.
    zip: String,
    #[state] store: &Store,
) -> Result<User, RetailError> {
    store.change_user(&user_id, |user| {
        user.address = Address::new([
            ("address1", address1),
            ("address2", address2),
            ("city", city),
            ("state", state),
            ("country", country),
            ("zip", zip),
        ]);
    })
}

/// People write their names and addresses with and without capitals.
fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}
