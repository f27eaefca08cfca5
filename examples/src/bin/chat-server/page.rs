//! The page, as it was built: part of the program, so that it can be started from anywhere.

use tool_server::{
    Router,
    axum::{http::header, response::IntoResponse, routing::get},
};

/// What the page may load: its own files, and nothing of others.
const POLICY: &str =
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

macro_rules! built {
    ($file:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/frontend/dist/", $file))
    };
}

pub(crate) fn routes() -> Router {
    Router::new()
        .route("/", file("text/html", built!("index.html")))
        .route("/page.js", file("text/javascript", built!("page.js")))
        .route("/ag-ui.js", file("text/javascript", built!("ag-ui.js")))
        .route("/page.css", file("text/css", built!("page.css")))
}

fn file(kind: &'static str, text: &'static str) -> tool_server::axum::routing::MethodRouter {
    let headers = [
        (header::CONTENT_TYPE, format!("{kind}; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, POLICY.to_owned()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        // A newer server has another page under the same names.
        (header::CACHE_CONTROL, "no-cache".to_owned()),
    ];
    get(move || async move { (headers.clone(), text).into_response() })
}
