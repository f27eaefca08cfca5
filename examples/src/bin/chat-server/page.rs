//! The built page. It is part of the program, so that the program can be started in any folder.

use tool_server::{
    Router,
    axum::{http::header, response::IntoResponse, routing::get},
};

/// The policy for the page's content: it may load its own files only.
const POLICY: &str =
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

macro_rules! built {
    ($file:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/frontend/dist/", $file))
    };
}

/// The built files: their names, types and texts.
const FILES: [(&str, &str, &str); 4] = [
    ("index.html", "text/html", built!("index.html")),
    ("page.js", "text/javascript", built!("page.js")),
    ("ag-ui.js", "text/javascript", built!("ag-ui.js")),
    ("page.css", "text/css", built!("page.css")),
];

pub(crate) fn routes() -> Router {
    FILES.into_iter().fold(Router::new(), |router, (name, kind, text)| {
        let headers = [
            (header::CONTENT_TYPE, format!("{kind}; charset=utf-8")),
            (header::CONTENT_SECURITY_POLICY, POLICY.to_owned()),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
            // A newer server has another page under the same names.
            (header::CACHE_CONTROL, "no-cache".to_owned()),
        ];
        let path = if name == "index.html" { "/".to_owned() } else { format!("/{name}") };
        router.route(&path, get(move || async move { (headers, text).into_response() }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_file_is_served() {
        let dist = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/frontend/dist")).unwrap();
        let mut built: Vec<_> = dist.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        built.sort();
        let mut served = FILES.map(|(name, ..)| name);
        served.sort_unstable();
        assert_eq!(built, served);
    }
}
