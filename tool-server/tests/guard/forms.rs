//! Tests of requests that a page of another site can send without a preflight.

use std::sync::atomic::Ordering;

use crate::guard::kit::{chat, chat_approval, listen, post, run, run_approval, send, server};

/// Old browsers send a form without `Origin` and `Sec-Fetch-Site`, and `enctype="text/plain"` lets it look like JSON.
#[tokio::test]
async fn a_form_can_neither_prompt_nor_approve() {
    let (server, deleted) = server();
    let address = listen(server.router()).await;
    let host = address.to_string();
    let forms = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"];
    let asked = [("/api/chat", chat()), ("/api/v6/chat", chat()), ("/agent", run())];
    for (path, message) in &asked {
        for kind in forms {
            let headers = [("host", &*host), ("content-type", kind)];
            let response = send(address, &format!("POST {path}"), &headers, &message.to_string()).await;
            response.assert_refused(415, "unsupported_media_type", &[]);
        }
    }
    // The user sends the prompt, and the page knows everything that it could guess.
    for (path, message) in asked {
        let response = post(address, path, &host, &message).await;
        let approval = if path == "/agent" { run_approval(&response) } else { chat_approval(&response) };
        for kind in forms {
            let headers = [("host", &*host), ("content-type", kind)];
            let response = send(address, &format!("POST {path}"), &headers, &approval.to_string()).await;
            response.assert_refused(415, "unsupported_media_type", &[]);
        }
        let before = deleted.load(Ordering::SeqCst);
        assert_eq!(post(address, path, &host, &approval).await.status, 200, "{path}");
        assert_eq!(deleted.load(Ordering::SeqCst), before + 1, "only the user's own approval counts");
    }
    assert_eq!(deleted.load(Ordering::SeqCst), 3);
}

/// `stop` has no body, so a program may send it without a type. A browser marks a request for another site with a header.
#[tokio::test]
async fn a_request_without_a_body_needs_no_type() {
    let address = listen(server().0.router()).await;
    let stop = async |headers: &[(&str, &str)]| {
        let headers = [&[("host", "localhost")], headers].concat();
        send(address, "POST /api/chat/c/stop", &headers, "").await
    };
    for headers in [
        &[][..],
        &[("content-length", "0")],
        &[("content-type", "application/json")],
        &[("origin", "http://localhost")],
        &[("sec-fetch-site", "same-origin")],
        &[("sec-fetch-site", "none")],
    ] {
        assert_eq!(stop(headers).await.status, 204, "{headers:?}");
    }
    for site in ["cross-site", "same-site"] {
        stop(&[("sec-fetch-site", site)]).await.assert_refused(415, "unsupported_media_type", &[]);
        stop(&[("sec-fetch-site", site), ("origin", "http://evil.example")]).await.assert_refused(
            403,
            "invalid_origin",
            &[],
        );
    }
}
