// Made by `npm run docs` of the OpenAPI document: do not edit.

export interface paths {
    "/capture": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the file of a capture by a signed link
         * @description For links in emails and pages: the query contains the options of POST /capture and a signature, made with a secret of POST /keys/{id}/signing-secret, in place of an API key. Fields of objects are dotted (viewport.width=800), lists are repeated (hide=.a&hide=.b), and other objects are JSON. responseCache.enabled is true. The options responseType, background, webhook, persistence, extract and html, and those that a link would make public, are not allowed. A page is captured with the first request; later ones are answered from the cache. Errors are sent as PNG, with the code in X-Error-Code, if Accept names image types and neither text/html nor application/json.
         */
        get: operations["getCaptureLink"];
        put?: never;
        /**
         * Capture a page
         * @description Renders a page and responds when the capture has completed, with metadata, or with the file when responseType is "file". When background is true, the capture is queued and the response is sent immediately; use GET /captures/{uuid} or a webhook to get the result. With the header "Accept: text/event-stream", and responseType "json", the response is a stream of server-sent events from the moment when the capture is queued: an event progress for each step, whose data is {uuid, region, step} and step is queued, rendering or storing, and at last an event result, whose data is the JSON response, or an event error, whose data is {code, message}; what fails before is answered with its status. A capture costs one token, or two with antiBot. Failed captures and responses from the cache (responseCache) cost nothing.
         */
        post: operations["createCapture"];
        delete?: never;
        options?: never;
        /**
         * Get the headers of the file of a signed link
         * @description For links in emails and pages: the query contains the options of POST /capture and a signature, made with a secret of POST /keys/{id}/signing-secret, in place of an API key. Fields of objects are dotted (viewport.width=800), lists are repeated (hide=.a&hide=.b), and other objects are JSON. responseCache.enabled is true. The options responseType, background, webhook, persistence, extract and html, and those that a link would make public, are not allowed. A page is captured with the first request; later ones are answered from the cache. Errors are sent as PNG, with the code in X-Error-Code, if Accept names image types and neither text/html nor application/json.
         */
        head: operations["getCaptureLink-head"];
        patch?: never;
        trace?: never;
    };
    "/captures/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Capture many pages in the background
         * @description Queues up to 1000 background captures, and responds with their UUIDs. All requests are validated, and the limits of the account checked for all of them, before the first is queued: an error means that none was accepted, and its message names the request. A batch counts as one request of the rate limit, and each capture for itself against the token quota and the other limits. Each capture costs as much as one of POST /capture, when it completes. A request that the response cache answers costs nothing.
         */
        post: operations["createBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the sessions of the account, newest first
         * @description Requires the scope read. An account has at most 100 sessions. Their cookies and storage are never shown.
         */
        get: operations["listSessions"];
        put?: never;
        /**
         * Log in and keep the session
         * @description Requires the scope capture. Captures a page, usually with steps that log in, and keeps the cookies of all sites, and the localStorage and sessionStorage of the origins that the page was on, sealed. Captures of the account use them with the option session until they expire. It is a capture like any other: it costs as many tokens, counts against the same limits, and GET /captures/{sessionId} returns its picture, which shows whether the login succeeded.
         */
        post: operations["createSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pdf/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Merge PDFs
         * @description Merges captures of the account and new captures into one PDF, with a bookmark for each document, and returns it. The merged PDF is not stored. All documents are validated before the first page is captured. Each request is a capture: it costs as much as one of POST /capture, even if the merge fails, and GET /captures lists it. The message of an error names the document.
         */
        post: operations["mergePdf"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Model Context Protocol
         * @description The Model Context Protocol over streamable HTTP, for agents: one JSON-RPC message in, one out, without sessions. Tools: capture_page, extract_page, capture_pdf, get_capture, list_regions. A tool that fails returns a result with isError, whose text begins with an error code. Captures cost the same tokens, and have the same limits, as those of POST /capture.
         */
        post: operations["mcp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/captures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the captures of the account, newest first
         * @description Requires the scope read. A page can have fewer items than limit, or none, and still have a nextCursor, because one request searches a limited number of days and captures. The list ends when nextCursor is null. The parameter status selects captures by their current status; a completed capture whose file has expired has the status expired.
         */
        get: operations["listCaptures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/captures/{uuid}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the state and the result of a capture
         * @description Requires the scope read. The status is queued, rendering, completed or failed; it becomes expired when the file is removed, and deleted when the capture is deleted. A failed capture is returned with 200; its error contains the reason. A capture that a client waits for is not found (404) until it has ended.
         */
        get: operations["getCapture"];
        put?: never;
        post?: never;
        /**
         * Delete a capture, or cancel a queued capture
         * @description Requires the scope capture. Removes the file and the cache entry immediately and stops refreshes. The record is kept for 90 days with the status deleted, and its tokens stay charged. A capture that is being rendered cannot be deleted until it has ended (409).
         */
        delete: operations["deleteCapture"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/captures/{uuid}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the request options, refreshes, earlier files and webhook deliveries of a capture
         * @description Requires the scope read. Returns at most 20 refreshes, 100 earlier files and 20 delivery attempts, newest first.
         */
        get: operations["getCaptureHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/captures/{uuid}/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refresh a capture
         * @description Requires the scope capture. Captures the page again into the same fileUrl. The response is sent immediately; the status of the capture stays completed, and the object refresh shows the progress. A refresh costs as many tokens as the capture, when it completes. The file is replaced only when the refresh completes. While a refresh is in progress, another request does not start a second one.
         */
        post: operations["refreshCapture"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a session
         * @description Requires the scope read. The cookies and the storage of a session are never shown.
         */
        get: operations["getSession"];
        put?: never;
        post?: never;
        /**
         * Delete a session
         * @description Requires the scope capture. Later captures and refreshes cannot use the session. Captures that are already queued use it. The site is not informed.
         */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/batches/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the state of a batch
         * @description Requires the scope read. Returns the number of captures by status, and all captures in the order of the requests. A batch is kept for 90 days after its last file has expired.
         */
        get: operations["getBatch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/batches/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow a batch
         * @description Requires the scope read. Server-sent events: first an event batch, whose data is {id, status, counts}; an event capture after each change of a capture of the batch, whose data is {index, uuid, status, counts}; and an event batch when all captures have ended, with which the stream ends. The limits, the errors and the comments are those of GET /events.
         */
        get: operations["streamBatchEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/batches/{id}/zip": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download the files of a batch
         * @description Requires the scope read. A zip archive of the files of all captures that have completed so far, named by index and UUID, and of manifest.json, which lists all captures with their errors. The files are not compressed further. A front sends at most 2 archives of an account at once.
         */
        get: operations["getBatchZip"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/captures/{uuid}/diagnostics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the diagnostics of a capture
         * @description Requires the scope read. Returns the console messages, requests, steps and waits of the latest rendering of the capture. Captures that failed in the browser have diagnostics, and captures with diagnostics: true; others return 404. With format har, the response is an HTTP Archive (HAR 1.2) without an envelope.
         */
        get: operations["getDiagnostics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/captures/{uuid}/diagnostics/picture": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the last picture of a failed capture
         * @description Requires the scope read. Returns what the page showed when its capture failed: a JPEG of at most 1280 pixels on a side. Returns 404 when diagnostics.picture is null.
         */
        get: operations["getLastPicture"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/files/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the file of a capture
         * @description No API key is required, because the name contains 128 random bits.
         */
        get: operations["getFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        /**
         * Get the headers of the file of a capture
         * @description No API key is required, because the name contains 128 random bits.
         */
        head: operations["getFile-head"];
        patch?: never;
        trace?: never;
    };
    "/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the API keys of the account, newest first
         * @description Requires the scope manage. The list includes revoked and expired keys. The keys themselves are not shown.
         */
        get: operations["listKeys"];
        put?: never;
        /**
         * Create an API key
         * @description Requires the scope manage. The new key can have only scopes of the key that creates it, and expires no later; without expiresAt it expires with it.
         */
        post: operations["createKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/keys/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate an API key
         * @description Requires the scope manage. Creates a key with the same name, scopes and lifetime. The old key stops working after graceSeconds, and the key that it replaced stops at once. Rotating an old key again replaces the key that was created the first time.
         */
        post: operations["rotateKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API key
         * @description Requires the scope manage. The key stops working within a second. A key can revoke itself. With cascade=true, all keys that were created with it are revoked too, except the key that sends the request and what that key created; up to 1000 keys in one request.
         */
        delete: operations["revokeKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/keys/{id}/signing-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create or rotate the signing secret of an API key
         * @description Requires the scope manage. The secret signs links (GET /capture), which capture on behalf of the key, within its scopes and limits, as long as the key is valid. A new secret replaces the previous one; links that were signed with earlier secrets work for another graceSeconds. The key can have only scopes of the key that sends the request, and must not expire later.
         */
        post: operations["rotateSigningSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the webhook secret
         * @description Requires the scope manage. Webhook events are signed with this secret according to Standard Webhooks (standardwebhooks.com). The secret is created with the first request or the first event.
         */
        get: operations["getWebhookSecret"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/secret/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the webhook secret
         * @description Requires the scope manage. For graceSeconds, events are signed with the new secret and with the earlier ones, so that receivers can switch without rejecting an event. With 0 the earlier secrets end immediately.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the latest delivery attempts of all webhooks
         * @description Requires the scope read. The last 100 attempts of the account are kept, including those of test events. An attempt is listed a second after it has ended.
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test event
         * @description Requires the scope manage. Sends an event webhook.test to the URL, signed with the webhook secret, under the same egress policy and the same limits as all events. There is one attempt; GET /webhooks/deliveries shows its result within seconds. An account can send 10 test events a minute.
         */
        post: operations["testWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/captures/{uuid}/webhook/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deliver the latest event of a capture again
         * @description Requires the scope capture. Sends the latest event of the capture to its webhook again, whether or not it was delivered, with the same webhook-id and all attempts. Returns 409 when the capture has no webhook, has no event yet, or was deleted.
         */
        post: operations["redeliverWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the usage, quota and limits of the account
         * @description Requires the scope read. Failed captures and responses from the cache cost nothing.
         */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/usage/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the usage of the account by day and by API key
         * @description Requires the scope read, which also shows the names and IDs of the keys of the account here. Fronts write their counts every ten seconds; counts that a front had not written before it was killed are missing. GET /usage is exact.
         */
        get: operations["getUsageHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the captures of the account
         * @description Requires the scope read. Server-sent events: an event capture after each change of a capture of the account; its data is {uuid, status, refresh}, where refresh is the state of the latest refresh, or null. After a refresh with persistence.compare, it also has changedShare. There is no replay: read GET /captures after the stream has begun. When the API key becomes invalid, or when events may have been missed, the stream ends with an event error, whose data is {code, message}; it also ends when its front shuts down. A comment is sent every 15 seconds. An API key can have at most 5 concurrent streams on each front, and an account 20; an account can open 20 at once, and then one a second. A client that does not read is disconnected.
         */
        get: operations["streamEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List all accounts, newest first
         * @description Includes suspended accounts. The list ends when nextCursor is null.
         */
        get: operations["listAccounts"];
        put?: never;
        /**
         * Create an account
         * @description Limits that are not set default to those of the operator. The account cannot be used until it has an API key.
         */
        post: operations["createAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/accounts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Update, suspend or resume an account
         * @description Changes the given fields: name, limits, isolation, allowIgnoreTlsErrors, suspended. Changes take effect within a second. The API keys of a suspended account work again when the account is resumed.
         */
        patch: operations["changeAccount"];
        trace?: never;
    };
    "/admin/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create an API key for an account
         * @description The first API key of an account has all scopes unless the request names others.
         */
        post: operations["createAccountKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API key of any account
         * @description The API key stops working within a second. With cascade=true, all keys that were created with it are revoked too; up to 1000 keys in one request.
         */
        delete: operations["revokeAccountKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the renderers, slots and queues of all regions
         * @description From the heartbeats of renderers, which are sent every two seconds.
         */
        get: operations["getOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the renderers, slots and queues of all regions
         * @description Server-sent events. An event overview every two seconds, the first one immediately; its data is that of GET /admin/overview. At most 20 concurrent streams on each front. A stream ends when its front shuts down.
         */
        get: operations["streamOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/captures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the slowest or the failed captures of the last 24 hours
         * @description Covers all accounts. Fronts write ended captures every ten seconds, so the newest ones are missing until then. The service keeps the 50 slowest and the last 50 failed captures of every hour, and only the host of each page.
         */
        get: operations["listNotableCaptures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs that were given up
         * @description Jobs that no renderer completed in three deliveries, or that were terminated. Their captures have failed.
         */
        get: operations["listDeadLetters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the usage of all accounts, and their most frequent errors
         * @description Accounts with the most tokens first. The numbers are those of GET /usage/history: up to ten seconds old, and without counts that a killed front had not written.
         */
        get: operations["getUsageByAccount"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the status of the service
         * @description For status pages and monitoring: the worst status of all components, and each component. Needs no API key and has no envelope. Responds with 503 unless the service is operational.
         */
        get: operations["getStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/status/engine": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the status of the screenshot engine
         * @description The component engine of GET /status: the renderers of all regions. Needs no API key and has no envelope. Responds with 503 unless the engine is operational.
         */
        get: operations["getEngineStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/status/history.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the history of the status
         * @description Returns the states and incidents of the last 90 days. Days and times are in UTC. Needs no API key; caches may keep the response for half a minute.
         */
        get: operations["getStatusHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/status/feed.xml": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the incidents as an Atom feed
         * @description Returns the last 50 incidents. An entry keeps its id while it is updated. Needs no API key.
         */
        get: operations["getStatusFeed"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the devices
         * @description Returns the devices that the option device of POST /capture knows. Needs no API key; caches may keep the response for an hour.
         */
        get: operations["listDevices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/captures/{uuid}/thumbnail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a thumbnail of a capture
         * @description Requires the scope read. Returns a small WebP of the file of a completed capture. It is never larger than the file. A picture that is more than one and a half times as tall as it is wide is cut off at the bottom. Returns 404 when there is no file (the capture is not completed, was deleted, or has expired), and for a PDF.
         */
        get: operations["getThumbnail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get this OpenAPI document
         * @description OpenAPI 3.1, for generators of clients and for tools. GET /docs shows it to people.
         */
        get: operations["getOpenapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that this front answers
         * @description For health checks of load balancers: returns 200 while the front can answer, independent of the state of the service. It needs no key and has no rate limit. GET /status returns the state of the service.
         */
        get: operations["getHealthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/llms.txt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Describe the service for language models
         * @description What the service is, its endpoints, and the tools of POST /mcp. Needs no API key.
         */
        get: operations["getLlmsTxt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    capture: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Event of a capture
         * @description Sent to webhook.url and signed according to Standard Webhooks (standardwebhooks.com); GET /webhooks/secret returns the secret. A delivery attempt fails unless the receiver responds with a 2xx status within 10 seconds; a redirect is a failure. There are up to eight attempts over 24 hours; the status 410 ends them. An event may be delivered more than once, and events may arrive out of order.
         */
        post: operations["captureNotice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    batch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End of a batch
         * @description Sent to webhook.url of POST /captures/batch when all captures of the batch have ended, and signed and repeated like the events of captures. GET /batches/{id} returns the captures.
         */
        post: operations["batchNotice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    test: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test event
         * @description Sent once to the URL in POST /webhooks/test, and signed like the events of captures. Receivers that know only those should respond with a 2xx status to types that they do not know.
         */
        post: operations["testNotice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        Account: {
            id: string;
            name: string;
            /** Format: date-time */
            createdAt: string;
            /** @description Tokens that the account may use in a calendar month (UTC). */
            tokenQuota: number;
            /** @description Requests to POST /capture per minute. */
            ratePerMinute: number;
            /** @description Requests that may be sent at once before the rate applies. Defaults to ratePerMinute. */
            burst: number;
            /** @description Maximum number of captures that clients may wait for at the same time. */
            maxInFlight: number;
            /** @description Maximum number of background captures that have not ended. */
            maxQueued: number;
            /** @description Maximum bytes of HTML of background captures that have not ended. */
            maxQueuedBytes: number;
            /** @description Maximum bytes of files that expire. */
            maxStoredBytes: number;
            /** @description Maximum bytes of files of captures with persistence, and of the HTML that is kept with them. */
            maxPersistedBytes: number;
            /**
             * @description Isolation from the captures of other accounts. `context` (default): captures share browsers, and each capture has its own browser context with its own cookies, storage, cache and connections. `browser`: each capture has its own browser, whose processes end with the capture. `browser` takes up to a second and about 150 MB more for each capture. `account`: as `context`, but a capture may reuse the page of an earlier capture of the same account after cookies and storage were wiped, while the HTTP cache stays; it makes small pages about a third cheaper, and is for accounts that render their own templates.
             * @enum {string}
             */
            isolation: "context" | "browser" | "account";
            /** @description Whether requests of the account may set ignoreTlsErrors, if the service allows it, too (WEBCAPTURE_ALLOW_IGNORE_TLS_ERRORS). Default: false. */
            allowIgnoreTlsErrors: boolean;
            suspended: boolean;
            suspendedAt: string | null;
        };
        AccountList: {
            items: components["schemas"]["Account"][];
            /** @description Cursor of the next page, or null if this is the last page. */
            nextCursor: string | null;
        };
        AccountUsage: {
            /** @description ID of the account. */
            account: string;
            /** @description Name of the account; null if it no longer exists. */
            name: string | null;
            /** @description Tokens charged for captures and refreshes that completed. */
            tokens: number;
            /** @description Captures and refreshes that completed. */
            completed: number;
            /** @description Captures and refreshes that failed. */
            failed: number;
            /** @description Requests that were answered from the cache. */
            cached: number;
            /** @description The most frequent errors, at most 5. */
            failures: {
                /** @enum {string} */
                code: "VALIDATION_ERROR" | "URL_BLOCKED" | "SESSION_NOT_FOUND" | "UNAUTHORIZED" | "API_KEY_EXPIRED" | "API_KEY_REVOKED" | "QUOTA_EXCEEDED" | "FORBIDDEN" | "NOT_FOUND" | "CAPTURE_NOT_FOUND" | "CONFLICT" | "RATE_LIMIT_EXCEEDED" | "QUEUE_FULL" | "NAVIGATION_FAILED" | "CAPTURE_TIMEOUT" | "CAPTURE_FAILED" | "PAGE_TOO_LARGE" | "REGION_UNAVAILABLE" | "STORAGE_FAILED" | "INTERNAL_ERROR";
                /** @description Captures and refreshes that failed with it. */
                count: number;
            }[];
        };
        AdminCapture: {
            /** Format: uuid */
            uuid: string;
            /** @description ID of the account. */
            account: string;
            /** @description Host of the page, or about:blank for supplied HTML. */
            host: string;
            /** @enum {string} */
            region: "us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast";
            /** @description Error code of a failed capture. */
            code: ("VALIDATION_ERROR" | "URL_BLOCKED" | "SESSION_NOT_FOUND" | "UNAUTHORIZED" | "API_KEY_EXPIRED" | "API_KEY_REVOKED" | "QUOTA_EXCEEDED" | "FORBIDDEN" | "NOT_FOUND" | "CAPTURE_NOT_FOUND" | "CONFLICT" | "RATE_LIMIT_EXCEEDED" | "QUEUE_FULL" | "NAVIGATION_FAILED" | "CAPTURE_TIMEOUT" | "CAPTURE_FAILED" | "PAGE_TOO_LARGE" | "REGION_UNAVAILABLE" | "STORAGE_FAILED" | "INTERNAL_ERROR") | null;
            /** @description Error message of a failed capture. */
            message: string | null;
            /** @description Duration as in the latencies of GET /usage/history. */
            durationMs: number;
            /**
             * Format: date-time
             * @description Time at which the capture, or the refresh, ended.
             */
            endedAt: string;
        };
        AdminCaptureList: {
            captures: components["schemas"]["AdminCapture"][];
        };
        AdminUsage: {
            /** @description Accounts with usage, those with the most tokens first. */
            accounts: components["schemas"]["AccountUsage"][];
            totals: {
                /** @description Accounts with usage. */
                accounts: number;
                /** @description Tokens charged for captures and refreshes that completed. */
                tokens: number;
                /** @description Captures and refreshes that completed. */
                completed: number;
                /** @description Captures and refreshes that failed. */
                failed: number;
                /** @description Requests that were answered from the cache. */
                cached: number;
            };
        };
        ApiKey: {
            id: string;
            accountId: string;
            name: string;
            scopes: ("capture" | "read" | "manage")[];
            /** @enum {string} */
            status: "active" | "expired" | "revoked";
            /** Format: date-time */
            createdAt: string;
            /** @description ID of the API key that created or rotated this one; null if the operator created it, or if it was created before this was recorded. */
            createdBy: string | null;
            expiresAt: string | null;
            revokedAt: string | null;
        };
        ApiKeyList: {
            items: components["schemas"]["ApiKey"][];
            /** @description Cursor of the next page, or null if this is the last page. */
            nextCursor: string | null;
        };
        /** @description User name and password for HTTP basic and digest authentication. Sent to the origin of the page only. */
        BasicAuth: {
            username: string;
            password: string;
        };
        Batch: {
            /**
             * Format: uuid
             * @description Identifier of the batch (UUIDv7).
             */
            id: string;
            /**
             * @description accepting: the request is being processed. processing: some captures have not ended. completed: all captures have ended, some of them perhaps as failed.
             * @enum {string}
             */
            status: "accepting" | "processing" | "completed";
            /**
             * Format: date-time
             * @description Time of the request.
             */
            createdAt: string;
            /** @description Time at which the last capture ended; null before. */
            endedAt: string | null;
            counts: components["schemas"]["BatchCounts"];
            /** @description Tokens charged for the captures of the batch that have completed so far. */
            tokensCharged: number;
            webhook?: components["schemas"]["CaptureWebhook"];
            /** @description The captures, in the order of the requests. */
            captures: components["schemas"]["BatchCapture"][];
        };
        BatchCapture: {
            /**
             * Format: uuid
             * @description UUID of the capture, for GET /captures/{uuid}.
             */
            uuid: string;
            /** @description Requested URL, about:blank for supplied HTML, or null for a capture without a record. */
            url: string | null;
            /** @enum {string} */
            status: "queued" | "rendering" | "completed" | "failed" | "expired" | "deleted";
            /** @description Whether it is an earlier capture from the response cache, at no cost. */
            fromCache: boolean;
            /** @description URL of the file; null unless the capture has completed. */
            fileUrl: string | null;
            /** @description Why the capture failed. */
            error: {
                /** @enum {string} */
                code: "VALIDATION_ERROR" | "URL_BLOCKED" | "SESSION_NOT_FOUND" | "UNAUTHORIZED" | "API_KEY_EXPIRED" | "API_KEY_REVOKED" | "QUOTA_EXCEEDED" | "FORBIDDEN" | "NOT_FOUND" | "CAPTURE_NOT_FOUND" | "CONFLICT" | "RATE_LIMIT_EXCEEDED" | "QUEUE_FULL" | "NAVIGATION_FAILED" | "CAPTURE_TIMEOUT" | "CAPTURE_FAILED" | "PAGE_TOO_LARGE" | "REGION_UNAVAILABLE" | "STORAGE_FAILED" | "INTERNAL_ERROR";
                message: string;
            } | null;
        };
        /** @description Number of captures by status. */
        BatchCounts: {
            /** @description Captures of the batch. */
            total: number;
            /** @description Captures that wait for a renderer. */
            queued: number;
            /** @description Captures that are being rendered. */
            rendering: number;
            /** @description Captures with a file. */
            completed: number;
            /** @description Captures that failed. */
            failed: number;
            /** @description Captures whose file has expired. */
            expired: number;
            /** @description Captures that were deleted. */
            deleted: number;
        };
        /** @description Options of all requests: those of POST /capture, except url, html, responseType and background. A request overrides them, field by field also in nested objects such as viewport. */
        BatchOptions: {
            viewport?: components["schemas"]["Viewport"];
            /**
             * @description Name of a device (GET /devices lists them): its viewport, scale, touch screen, mobile layout and user agent. Fields of viewport and a userAgent of the request take precedence.
             * @example iPhone 15
             */
            device?: string;
            /**
             * @description Value of the media feature prefers-color-scheme.
             * @default light
             * @enum {string}
             */
            colorScheme?: "light" | "dark" | "no-preference";
            /**
             * @description Media type of the style sheets that apply. Without it: screen for images, print for PDF.
             * @enum {string}
             */
            media?: "screen" | "print";
            /**
             * @description Value of the media feature prefers-reduced-motion: reduce if true.
             * @default false
             */
            reducedMotion?: boolean;
            /**
             * @description Format of the file. none: no picture is taken, which saves time, and the file contains the parts of extract and extractFields as JSON.
             * @default png
             * @enum {string}
             */
            format?: "png" | "jpeg" | "webp" | "pdf" | "none";
            /**
             * @description Image quality of jpeg and webp. Ignored for other formats.
             * @default 80
             */
            quality?: number;
            /**
             * @description Capture the full scrollable page. Overrides the height of the viewport. A PDF then has a single page. With format none, the page is scrolled through before it is read.
             * @default false
             */
            isFullPage?: boolean;
            /** @description CSS selector. It also matches in open shadow roots, and frame >> element matches in frames of the origin of the page. Captures the first visible element that matches, whole, in place of the viewport. What covers it is hidden. The capture fails if there is none within 5 seconds after load. */
            selector?: string;
            /**
             * @description CSS pixels of the page to show around the element of selector, as far as the page goes.
             * @default 0
             */
            elementPadding?: number;
            clip?: components["schemas"]["Clip"];
            resize?: components["schemas"]["Resize"];
            /**
             * @description Transparent where the page paints nothing. With format png or webp only.
             * @default false
             */
            omitBackground?: boolean;
            pdf?: components["schemas"]["PdfOptions"];
            /**
             * @description Event that ends the navigation. With load and networkidle, the capture then waits up to 2.5 seconds, or up to 5 seconds while content is added, for what the page's scripts are about to change in view. If load or networkidle does not occur in time, the page is captured nevertheless, and report.softTimeouts names the event.
             * @default load
             * @enum {string}
             */
            waitUntil?: "load" | "domcontentloaded" | "networkidle" | "commit";
            /**
             * @description Navigation timeout in milliseconds. Time in the queue does not count.
             * @default 30000
             */
            timeout?: number;
            /**
             * @description Maximum time to wait for images, in milliseconds. The wait ends when all images have loaded.
             * @default 3000
             */
            imageTimeout?: number;
            /**
             * @description Additional time to wait after the page has loaded, in milliseconds.
             * @default 0
             */
            delay?: number;
            waitFor?: components["schemas"]["WaitFor"];
            /**
             * @description HTTP request headers. Sent to the origin of the page only, and to the origins of headersFor. Not allowed: Host, Cookie, User-Agent, Accept-Language, and headers of the connection or of proxies.
             * @example {
             *       "Authorization": "Bearer …"
             *     }
             */
            headers?: {
                [key: string]: string;
            };
            /** @description Other origins that are sent the headers of the request, such as https://cdn.example.com. */
            headersFor?: string[];
            /** @description Cookies that are set before the page is opened. */
            cookies?: components["schemas"]["Cookie"][];
            /**
             * @description ID of a session of the account (POST /sessions): the cookies and the storage that its login left are set before the page is opened. The cookies of the request take precedence.
             * @example 0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77
             */
            session?: string;
            auth?: components["schemas"]["BasicAuth"];
            block?: components["schemas"]["Block"];
            /** @description Elements that are not shown but keep their place, also those that are added later: up to 100 CSS selectors. */
            hide?: string[];
            /** @description Elements that are left out and take no place, also those that are added later: up to 100 CSS selectors. */
            remove?: string[];
            /** @description Elements to click after load and before waitFor, in order, up to 10 CSS selectors. The browser waits for each element for up to 5 seconds, and if the click opens a page, for the rest of timeout until that has loaded. The capture fails if one cannot be clicked. */
            click?: string[];
            /** @description Actions on the page after load and before waitFor, in order, up to 30. Each has one action. An element is awaited for up to 5 seconds, navigations within the site of url are followed, all of them for up to timeout. The capture fails, at no cost, if a step fails; the message has its number. Excludes click. */
            steps?: {
                /** @description Absolute http or https URL of the next page, on the site of url. */
                goto?: string;
                /** @description CSS selector of the element to click. */
                click?: string;
                /** @description Enter a text into a field. */
                type?: {
                    /** @description CSS selector of the field. */
                    selector: string;
                    /** @description Text that replaces the content of the field. It is secret. */
                    text: string;
                };
                /** @description Press a key. */
                press?: {
                    /** @description CSS selector of the element to focus first. Without it: the element that has the focus. */
                    selector?: string;
                    /**
                     * @description Enter, Tab, Shift+Tab, Escape, Backspace, Delete, Space, ArrowUp, ArrowDown, ArrowLeft, ArrowRight, Home, End, PageUp, PageDown, or a character of ASCII.
                     * @example Enter
                     */
                    key: string;
                };
                /** @description Choose an option of a select element. */
                select?: {
                    /** @description CSS selector of the select element. */
                    selector: string;
                    /** @description Value or label of the option to choose. It is secret. */
                    value: string;
                };
                /** @description CSS selector of the element to move the pointer to. */
                hover?: string;
                /** @description Scroll the page, or an element. */
                scroll?: {
                    /** @description CSS selector of the element to scroll into view, or whose content by or to scrolls. */
                    selector?: string;
                    /** @description CSS pixels to scroll down; up if negative. */
                    by?: number;
                    /**
                     * @description End to scroll to. Excludes by.
                     * @enum {string}
                     */
                    to?: "top" | "bottom";
                };
                /** @description Wait for an element, for up to 10 seconds. */
                waitFor?: string | {
                    /** @description CSS selector of the element. */
                    selector: string;
                    /**
                     * @description As in the option waitFor; visible if not set.
                     * @enum {string}
                     */
                    state?: "visible" | "attached" | "hidden";
                };
                /** @description Milliseconds to wait; up to 30 seconds in all steps. */
                wait?: number;
            }[];
            /**
             * @description false: scripts of the page and its frames do not run, and noscript is shown.
             * @default true
             */
            javaScript?: boolean;
            /** @description Make captures of an unchanged page equal, for visual comparison: stop the clock, seed the random numbers, run loops of frames for 60 frames, stop animations at a fixed time, and hide the text cursor. */
            freeze?: {
                /**
                 * @description Time at which Date and performance are stopped, ISO 8601 with an offset. Timers run as usual.
                 * @default 2026-01-01T00:00:00.000Z
                 * @example 2026-01-01T00:00:00Z
                 */
                time?: string;
                /**
                 * @description Seed of Math.random, whose numbers are then the same in each frame and capture.
                 * @default 1
                 */
                random?: number;
            };
            /** @description Style sheet that is added to the page: up to 64 KiB. */
            css?: string;
            /** @description JavaScript that runs in the page after load, and before click, steps and waitFor: up to 64 KiB. It is the body of an async function and may take up to 5 seconds. Its error is in report.scriptError. */
            script?: string;
            /** @description Parts of the page to return as data.extracted, in the state of the page at the time of the capture: any of text, html, markdown, links and metadata, at most 1 MiB each. They are stored as long as the file. Frames are left out. */
            extract?: ("html" | "links" | "markdown" | "metadata" | "text")[];
            /**
             * @description Fields to return as data.extracted.fields, by name: a CSS selector, whose first match gives the text, or {selector, attribute, list, fields}. Up to 50 fields, 3 levels and 1 MiB in all. A field that matches nothing is null, or an empty list.
             * @example {
             *       "title": "h1",
             *       "prices": {
             *         "selector": ".price",
             *         "list": true
             *       }
             *     }
             */
            extractFields?: {
                [key: string]: string | {
                    /** @description CSS selector, which matches within the element around the field, also in open shadow roots. Without it: that element, or the root of the document. */
                    selector?: string;
                    /** @description Name of the attribute to return instead of the text. href and src are returned as absolute URLs. Excludes fields. */
                    attribute?: string;
                    /** @description Return a list with a value for each element that matches, up to 1000. Without it: the value of the first one. */
                    list?: boolean;
                    /** @description Fields to read within each element. */
                    fields?: {
                        [key: string]: string | {
                            /** @description CSS selector, which matches within the element around the field, also in open shadow roots. Without it: that element, or the root of the document. */
                            selector?: string;
                            /** @description Name of the attribute to return instead of the text. href and src are returned as absolute URLs. Excludes fields. */
                            attribute?: string;
                            /** @description Return a list with a value for each element that matches, up to 1000. Without it: the value of the first one. */
                            list?: boolean;
                            /** @description Fields to read within each element. */
                            fields?: {
                                [key: string]: string | {
                                    /** @description CSS selector, which matches within the element around the field, also in open shadow roots. Without it: that element, or the root of the document. */
                                    selector?: string;
                                    /** @description Name of the attribute to return instead of the text. href and src are returned as absolute URLs. Excludes fields. */
                                    attribute?: string;
                                    /** @description Return a list with a value for each element that matches, up to 1000. Without it: the value of the first one. */
                                    list?: boolean;
                                };
                            };
                        };
                    };
                };
            };
            /**
             * @description Region in which the page is rendered. auto prefers the home region of the operator and falls back to another region.
             * @default auto
             * @enum {string}
             */
            region?: "auto" | "us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast";
            /**
             * @description Render with a browser that avoids bot detection. Costs one more token.
             * @default false
             */
            antiBot?: boolean;
            /**
             * @description Language of the visitor, a BCP 47 language tag without extensions: decides Accept-Language, navigator.language and how Intl formats numbers and dates.
             * @example de-DE
             */
            locale?: string;
            /**
             * @description Time zone of the visitor, a name of the IANA time zone database.
             * @example Europe/Berlin
             */
            timezone?: string;
            geolocation?: components["schemas"]["Geolocation"];
            /**
             * @description User agent of the header and of navigator.userAgent. navigator.platform and the client hints agree with it; one that names no Chrome has no client hints.
             * @example Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36
             */
            userAgent?: string;
            /**
             * @description Capture the page and all that it loads although certificates are expired, self-signed or for another name. Only where the operator allows it, for the service and for the account.
             * @default false
             */
            ignoreTlsErrors?: boolean;
            responseCache?: components["schemas"]["ResponseCacheOptions"];
            /**
             * @description Time for which the file is kept, in seconds. Ignored when persistence is enabled.
             * @default 86400
             */
            cdnTtl?: number;
            persistence?: components["schemas"]["PersistenceOptions"];
            webhook?: components["schemas"]["WebhookOptions"];
            failOn?: components["schemas"]["FailOn"];
            /**
             * @description Keep console messages, requests, steps and waits of the capture, for GET /captures/{uuid}/diagnostics. A failed capture always has them.
             * @default false
             */
            diagnostics?: boolean;
        };
        BatchRequest: {
            /** @description Bodies of POST /capture, up to 1000. background is always true, and can be left out. */
            requests: components["schemas"]["CaptureRequest"][];
            options?: components["schemas"]["BatchOptions"];
            /** @description Webhook for the end of the batch: one event batch.completed when all captures have ended. */
            webhook?: {
                /** @description URL that receives the signed event. */
                url: string;
            };
        };
        /**
         * @description Content to block.
         * @default {}
         */
        Block: {
            /**
             * @description Block advertising.
             * @default false
             */
            ads?: boolean;
            /**
             * @description Block trackers.
             * @default false
             */
            trackers?: boolean;
            /**
             * @description Block audio and video.
             * @default false
             */
            media?: boolean;
            /**
             * @description Dismiss or hide cookie banners.
             * @default false
             */
            cookieBanners?: boolean;
            /**
             * @description Block chat widgets.
             * @default false
             */
            chats?: boolean;
            /**
             * @description Block or hide overlays that ask for an email address.
             * @default false
             */
            newsletters?: boolean;
        };
        BlockedRequest: {
            /** @description URL without credentials and secrets. */
            url: string;
            /** @description Type of the resource. */
            type: string;
            /** @description ads, trackers, cookieBanners, chats, newsletters or media: the option of block. egressPolicy: the policy of the operator. */
            rule: string;
            filter: string | null;
        };
        Capture: components["schemas"]["CaptureResult"] | components["schemas"]["PendingCapture"] | components["schemas"]["FailedCapture"] | components["schemas"]["DeletedCapture"];
        CaptureError: {
            /** @enum {string} */
            code: "VALIDATION_ERROR" | "URL_BLOCKED" | "SESSION_NOT_FOUND" | "UNAUTHORIZED" | "API_KEY_EXPIRED" | "API_KEY_REVOKED" | "QUOTA_EXCEEDED" | "FORBIDDEN" | "NOT_FOUND" | "CAPTURE_NOT_FOUND" | "CONFLICT" | "RATE_LIMIT_EXCEEDED" | "QUEUE_FULL" | "NAVIGATION_FAILED" | "CAPTURE_TIMEOUT" | "CAPTURE_FAILED" | "PAGE_TOO_LARGE" | "REGION_UNAVAILABLE" | "STORAGE_FAILED" | "INTERNAL_ERROR";
            message: string;
            /**
             * @description client: the request asked for the failure, or its own limits refuse it. page: the site or its page failed. service: this service failed.
             * @enum {string}
             */
            cause: "client" | "page" | "service";
        };
        CaptureHistory: {
            /** @description Options of the request that differ from the defaults, as in POST /capture. Secrets and pdf.attachments are not shown. */
            options: {
                [key: string]: unknown;
            };
            /** @description The latest refreshes, newest first. The size is that of the file that the refresh created. */
            refreshes: components["schemas"]["PastRefresh"][];
            /** @description The files that refreshes have replaced and persistence.history keeps, newest first. Empty when the capture has expired or was deleted. */
            files: components["schemas"]["EarlierFile"][];
            /** @description The latest attempts to deliver events to the webhook, newest first. */
            deliveries: components["schemas"]["Delivery"][];
        };
        CaptureList: {
            items: components["schemas"]["Capture"][];
            /** @description Cursor of the next page, or null if this is the last page. */
            nextCursor: string | null;
        };
        CaptureMetadata: {
            /** @description Requested URL, or about:blank for supplied HTML. */
            url: string;
            /**
             * Format: date-time
             * @description Time of the capture.
             */
            capturedAt: string;
            /** @description Time of the capture as Unix time in seconds. */
            createdAt: number;
            /** @enum {string} */
            format: "png" | "jpeg" | "webp" | "pdf" | "none";
            /** @enum {string} */
            mimeType: "image/png" | "image/jpeg" | "image/webp" | "application/pdf" | "application/json";
            fileSizeBytes: number;
            /** @description Size in pixels of the file. For a PDF, CSS pixels of the first page. With format none, CSS pixels of the viewport. */
            width: number;
            /** @description See width. */
            height: number;
            /** @description Number of pages of a PDF. */
            pages?: number;
            viewport: {
                width: number;
                height: number;
                deviceScaleFactor: number;
            };
            fullPage: boolean;
            /** @description Names of the headers and cookies of the request, and whether it had auth, css, script, pdf.encryption and values of steps. */
            secrets?: {
                /** @description Names of the headers. */
                headers: string[];
                /** @description Names of the cookies. */
                cookies: string[];
                auth: boolean;
                css: boolean;
                script: boolean;
                /** @description Only for an encrypted PDF. */
                pdfEncryption?: boolean;
                /** @description Only for a capture whose steps enter values. */
                stepValues?: boolean;
            };
            /**
             * Format: date-time
             * @description Time at which the file expires.
             */
            expiresAt: string;
        };
        CaptureReport: {
            /** @description HTTP status of the page, or null for supplied HTML. */
            httpStatus: number | null;
            /** @description URL of the response from which the page was loaded, after HTTP redirects, or null for supplied HTML. `finalUrl` differs if the page then changed its address. Captures of earlier versions do not have it. */
            responseUrl?: string | null;
            /** @description URL of the page when it was captured, after redirects, scripts and steps, or about:blank for supplied HTML. */
            finalUrl: string;
            /** @description Title of the page, at most 512 characters. */
            title: string;
            images: {
                loaded: number;
                failed: number;
                pending: number;
            };
            /** @description Requests that `block` or the egress policy refused. */
            blockedRequests: number;
            /** @description Waits that timed out. The page was captured as it was. */
            softTimeouts: ("load" | "domcontentloaded" | "networkidle" | "waitFor" | "images" | "fonts" | "settle" | "animations" | "content" | "extract")[];
            /**
             * @description How the image was taken: of one viewport (single), of a viewport and the page below it (grown), or viewport by viewport (tiles), where fixed boxes come and go with the scroll position.
             * @enum {string}
             */
            strategy: "single" | "grown" | "tiles";
            /** @description With `resize`: size in pixels of the image before. `metadata` has that of the file. */
            originalSize?: {
                width: number;
                height: number;
            };
            /** @description What the error of `script` says, at most 500 characters and its line. Only if there was one. */
            scriptError?: string;
            /** @description Whether the page is not shown to its end: it was still growing when scrolling stopped, or it is taller than a file can be. */
            truncated: boolean;
            /** @description Whether the image has a single color. Of a PDF: whether its pages show nothing but one plain background. */
            blank: boolean;
            /** @description Whether the page showed a bot check. */
            challenge: boolean;
            /** @description Steps of the capture, or of its latest refresh. Without answerMs, they add up to processingTimeMs, with answerMs to the time from the acceptance to the response. A response from the cache has the steps of the earlier capture. */
            timings: {
                /** @description Time from the acceptance of the request to the start of rendering. */
                queueMs: number;
                /** @description Time from the start of rendering to the navigation: opening the page, and setting it up for the options. Captures of version 0.2.0 do not have it. */
                openMs?: number;
                /** @description Time until the page reached the event in waitUntil. */
                navigateMs: number;
                /** @description Time spent waiting for images and the delay, and preparing a full page. */
                settleMs: number;
                /** @description Time spent taking and encoding the screenshot. */
                shootMs: number;
                /** @description Time spent storing the file, and before that collecting the diagnostics. */
                storeMs: number;
                /** @description Time from the arrival of the result at the front to the end of the capture: accepting the file. Captures of version 0.2.0 do not have it. */
                resultMs?: number;
                /** @description Time from the end of the capture to the response: writing the record. Only in the response to the request that waited for the capture, and its repetitions. Background captures, refreshes and GET requests do not have it. */
                answerMs?: number;
            };
        };
        CaptureRequest: {
            /** @description Absolute http or https URL of the page to capture, without a user name or password (see auth). Exactly one of url and html is required. */
            url?: string;
            /** @description HTML to render: raw if it contains "<", otherwise base64 (standard or URL-safe) of UTF-8. Exactly one of url and html is required. */
            html?: string;
            /**
             * @description Respond with metadata (json) or with the file itself (file). file cannot be combined with background or format none.
             * @default json
             * @enum {string}
             */
            responseType?: "json" | "file";
            viewport?: components["schemas"]["Viewport"];
            /**
             * @description Name of a device (GET /devices lists them): its viewport, scale, touch screen, mobile layout and user agent. Fields of viewport and a userAgent of the request take precedence.
             * @example iPhone 15
             */
            device?: string;
            /**
             * @description Value of the media feature prefers-color-scheme.
             * @default light
             * @enum {string}
             */
            colorScheme?: "light" | "dark" | "no-preference";
            /**
             * @description Media type of the style sheets that apply. Without it: screen for images, print for PDF.
             * @enum {string}
             */
            media?: "screen" | "print";
            /**
             * @description Value of the media feature prefers-reduced-motion: reduce if true.
             * @default false
             */
            reducedMotion?: boolean;
            /**
             * @description Format of the file. none: no picture is taken, which saves time, and the file contains the parts of extract and extractFields as JSON.
             * @default png
             * @enum {string}
             */
            format?: "png" | "jpeg" | "webp" | "pdf" | "none";
            /**
             * @description Image quality of jpeg and webp. Ignored for other formats.
             * @default 80
             */
            quality?: number;
            /**
             * @description Capture the full scrollable page. Overrides the height of the viewport. A PDF then has a single page. With format none, the page is scrolled through before it is read.
             * @default false
             */
            isFullPage?: boolean;
            /** @description CSS selector. It also matches in open shadow roots, and frame >> element matches in frames of the origin of the page. Captures the first visible element that matches, whole, in place of the viewport. What covers it is hidden. The capture fails if there is none within 5 seconds after load. */
            selector?: string;
            /**
             * @description CSS pixels of the page to show around the element of selector, as far as the page goes.
             * @default 0
             */
            elementPadding?: number;
            clip?: components["schemas"]["Clip"];
            resize?: components["schemas"]["Resize"];
            /**
             * @description Transparent where the page paints nothing. With format png or webp only.
             * @default false
             */
            omitBackground?: boolean;
            pdf?: components["schemas"]["PdfOptions"];
            /**
             * @description Event that ends the navigation. With load and networkidle, the capture then waits up to 2.5 seconds, or up to 5 seconds while content is added, for what the page's scripts are about to change in view. If load or networkidle does not occur in time, the page is captured nevertheless, and report.softTimeouts names the event.
             * @default load
             * @enum {string}
             */
            waitUntil?: "load" | "domcontentloaded" | "networkidle" | "commit";
            /**
             * @description Navigation timeout in milliseconds. Time in the queue does not count.
             * @default 30000
             */
            timeout?: number;
            /**
             * @description Maximum time to wait for images, in milliseconds. The wait ends when all images have loaded.
             * @default 3000
             */
            imageTimeout?: number;
            /**
             * @description Additional time to wait after the page has loaded, in milliseconds.
             * @default 0
             */
            delay?: number;
            waitFor?: components["schemas"]["WaitFor"];
            /**
             * @description HTTP request headers. Sent to the origin of the page only, and to the origins of headersFor. Not allowed: Host, Cookie, User-Agent, Accept-Language, and headers of the connection or of proxies.
             * @example {
             *       "Authorization": "Bearer …"
             *     }
             */
            headers?: {
                [key: string]: string;
            };
            /** @description Other origins that are sent the headers of the request, such as https://cdn.example.com. */
            headersFor?: string[];
            /** @description Cookies that are set before the page is opened. */
            cookies?: components["schemas"]["Cookie"][];
            /**
             * @description ID of a session of the account (POST /sessions): the cookies and the storage that its login left are set before the page is opened. The cookies of the request take precedence.
             * @example 0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77
             */
            session?: string;
            auth?: components["schemas"]["BasicAuth"];
            block?: components["schemas"]["Block"];
            /** @description Elements that are not shown but keep their place, also those that are added later: up to 100 CSS selectors. */
            hide?: string[];
            /** @description Elements that are left out and take no place, also those that are added later: up to 100 CSS selectors. */
            remove?: string[];
            /** @description Elements to click after load and before waitFor, in order, up to 10 CSS selectors. The browser waits for each element for up to 5 seconds, and if the click opens a page, for the rest of timeout until that has loaded. The capture fails if one cannot be clicked. */
            click?: string[];
            /** @description Actions on the page after load and before waitFor, in order, up to 30. Each has one action. An element is awaited for up to 5 seconds, navigations within the site of url are followed, all of them for up to timeout. The capture fails, at no cost, if a step fails; the message has its number. Excludes click. */
            steps?: {
                /** @description Absolute http or https URL of the next page, on the site of url. */
                goto?: string;
                /** @description CSS selector of the element to click. */
                click?: string;
                /** @description Enter a text into a field. */
                type?: {
                    /** @description CSS selector of the field. */
                    selector: string;
                    /** @description Text that replaces the content of the field. It is secret. */
                    text: string;
                };
                /** @description Press a key. */
                press?: {
                    /** @description CSS selector of the element to focus first. Without it: the element that has the focus. */
                    selector?: string;
                    /**
                     * @description Enter, Tab, Shift+Tab, Escape, Backspace, Delete, Space, ArrowUp, ArrowDown, ArrowLeft, ArrowRight, Home, End, PageUp, PageDown, or a character of ASCII.
                     * @example Enter
                     */
                    key: string;
                };
                /** @description Choose an option of a select element. */
                select?: {
                    /** @description CSS selector of the select element. */
                    selector: string;
                    /** @description Value or label of the option to choose. It is secret. */
                    value: string;
                };
                /** @description CSS selector of the element to move the pointer to. */
                hover?: string;
                /** @description Scroll the page, or an element. */
                scroll?: {
                    /** @description CSS selector of the element to scroll into view, or whose content by or to scrolls. */
                    selector?: string;
                    /** @description CSS pixels to scroll down; up if negative. */
                    by?: number;
                    /**
                     * @description End to scroll to. Excludes by.
                     * @enum {string}
                     */
                    to?: "top" | "bottom";
                };
                /** @description Wait for an element, for up to 10 seconds. */
                waitFor?: string | {
                    /** @description CSS selector of the element. */
                    selector: string;
                    /**
                     * @description As in the option waitFor; visible if not set.
                     * @enum {string}
                     */
                    state?: "visible" | "attached" | "hidden";
                };
                /** @description Milliseconds to wait; up to 30 seconds in all steps. */
                wait?: number;
            }[];
            /**
             * @description false: scripts of the page and its frames do not run, and noscript is shown.
             * @default true
             */
            javaScript?: boolean;
            /** @description Make captures of an unchanged page equal, for visual comparison: stop the clock, seed the random numbers, run loops of frames for 60 frames, stop animations at a fixed time, and hide the text cursor. */
            freeze?: {
                /**
                 * @description Time at which Date and performance are stopped, ISO 8601 with an offset. Timers run as usual.
                 * @default 2026-01-01T00:00:00.000Z
                 * @example 2026-01-01T00:00:00Z
                 */
                time?: string;
                /**
                 * @description Seed of Math.random, whose numbers are then the same in each frame and capture.
                 * @default 1
                 */
                random?: number;
            };
            /** @description Style sheet that is added to the page: up to 64 KiB. */
            css?: string;
            /** @description JavaScript that runs in the page after load, and before click, steps and waitFor: up to 64 KiB. It is the body of an async function and may take up to 5 seconds. Its error is in report.scriptError. */
            script?: string;
            /** @description Parts of the page to return as data.extracted, in the state of the page at the time of the capture: any of text, html, markdown, links and metadata, at most 1 MiB each. They are stored as long as the file. Frames are left out. */
            extract?: ("html" | "links" | "markdown" | "metadata" | "text")[];
            /**
             * @description Fields to return as data.extracted.fields, by name: a CSS selector, whose first match gives the text, or {selector, attribute, list, fields}. Up to 50 fields, 3 levels and 1 MiB in all. A field that matches nothing is null, or an empty list.
             * @example {
             *       "title": "h1",
             *       "prices": {
             *         "selector": ".price",
             *         "list": true
             *       }
             *     }
             */
            extractFields?: {
                [key: string]: string | {
                    /** @description CSS selector, which matches within the element around the field, also in open shadow roots. Without it: that element, or the root of the document. */
                    selector?: string;
                    /** @description Name of the attribute to return instead of the text. href and src are returned as absolute URLs. Excludes fields. */
                    attribute?: string;
                    /** @description Return a list with a value for each element that matches, up to 1000. Without it: the value of the first one. */
                    list?: boolean;
                    /** @description Fields to read within each element. */
                    fields?: {
                        [key: string]: string | {
                            /** @description CSS selector, which matches within the element around the field, also in open shadow roots. Without it: that element, or the root of the document. */
                            selector?: string;
                            /** @description Name of the attribute to return instead of the text. href and src are returned as absolute URLs. Excludes fields. */
                            attribute?: string;
                            /** @description Return a list with a value for each element that matches, up to 1000. Without it: the value of the first one. */
                            list?: boolean;
                            /** @description Fields to read within each element. */
                            fields?: {
                                [key: string]: string | {
                                    /** @description CSS selector, which matches within the element around the field, also in open shadow roots. Without it: that element, or the root of the document. */
                                    selector?: string;
                                    /** @description Name of the attribute to return instead of the text. href and src are returned as absolute URLs. Excludes fields. */
                                    attribute?: string;
                                    /** @description Return a list with a value for each element that matches, up to 1000. Without it: the value of the first one. */
                                    list?: boolean;
                                };
                            };
                        };
                    };
                };
            };
            /**
             * @description Region in which the page is rendered. auto prefers the home region of the operator and falls back to another region.
             * @default auto
             * @enum {string}
             */
            region?: "auto" | "us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast";
            /**
             * @description Render with a browser that avoids bot detection. Costs one more token.
             * @default false
             */
            antiBot?: boolean;
            /**
             * @description Language of the visitor, a BCP 47 language tag without extensions: decides Accept-Language, navigator.language and how Intl formats numbers and dates.
             * @example de-DE
             */
            locale?: string;
            /**
             * @description Time zone of the visitor, a name of the IANA time zone database.
             * @example Europe/Berlin
             */
            timezone?: string;
            geolocation?: components["schemas"]["Geolocation"];
            /**
             * @description User agent of the header and of navigator.userAgent. navigator.platform and the client hints agree with it; one that names no Chrome has no client hints.
             * @example Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36
             */
            userAgent?: string;
            /**
             * @description Capture the page and all that it loads although certificates are expired, self-signed or for another name. Only where the operator allows it, for the service and for the account.
             * @default false
             */
            ignoreTlsErrors?: boolean;
            responseCache?: components["schemas"]["ResponseCacheOptions"];
            /**
             * @description Time for which the file is kept, in seconds. Ignored when persistence is enabled.
             * @default 86400
             */
            cdnTtl?: number;
            persistence?: components["schemas"]["PersistenceOptions"];
            /**
             * @description Queue the capture and respond immediately.
             * @default false
             */
            background?: boolean;
            webhook?: components["schemas"]["WebhookOptions"];
            failOn?: components["schemas"]["FailOn"];
            /**
             * @description Keep console messages, requests, steps and waits of the capture, for GET /captures/{uuid}/diagnostics. A failed capture always has them.
             * @default false
             */
            diagnostics?: boolean;
        };
        CaptureResult: {
            /**
             * Format: uuid
             * @description Identifier of the capture (UUIDv7).
             */
            uuid: string;
            /** @enum {string} */
            status: "completed" | "expired" | "deleted";
            /** @description URL of the file. */
            fileUrl: string;
            /** @description Whether the response is an equal capture that had completed earlier or was in progress. */
            fromCache: boolean;
            /** @description Tokens charged for this request; 0 for responses from the cache. */
            tokenCost: number;
            fileSizeBytes: number;
            /** @description Time from the acceptance of the request to the stored file, or to the response for responses from the cache. After a refresh: from the acceptance of the refresh to its file. */
            processingTimeMs: number;
            /**
             * @description Region in which the page was rendered.
             * @enum {string}
             */
            region: "us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast";
            metadata: components["schemas"]["CaptureMetadata"];
            report: components["schemas"]["CaptureReport"];
            /**
             * Format: uuid
             * @description ID of the batch that requested the capture, for GET /batches/{id}.
             */
            batch?: string;
            /** @description Present and true if GET /captures/{uuid}/diagnostics explains the capture. */
            hasDiagnostics?: boolean;
            /** @description With `extract`, in the responses of POST /capture and GET /captures/{uuid} only: the parts of the page; null if the page did not answer, or the file is gone. Lists and webhooks do not contain it. */
            extracted?: components["schemas"]["Extracted"] | null;
            refresh?: components["schemas"]["Refresh"];
            webhook?: components["schemas"]["CaptureWebhook"];
        };
        CaptureWebhook: {
            url: string;
            /**
             * @description waiting: there is no event yet. pending: the event has not been delivered yet. delivered: the event was delivered. failed: all delivery attempts failed.
             * @enum {string}
             */
            state: "waiting" | "pending" | "delivered" | "failed";
            event: ("capture.completed" | "capture.failed" | "capture.refreshed" | "capture.changed" | "batch.completed") | null;
            /** @description Delivery attempts of the latest event so far. */
            attempts: number;
            lastStatus: number | null;
            lastError: string | null;
            nextAttemptAt: string | null;
        };
        ChangeAccount: {
            /** @example Example Ltd */
            name?: string;
            /** @description Tokens that the account may use in a calendar month (UTC). */
            tokenQuota?: number;
            /** @description Requests to POST /capture per minute. */
            ratePerMinute?: number;
            /** @description Requests that may be sent at once before the rate applies. Defaults to ratePerMinute. */
            burst?: number;
            /** @description Maximum number of captures that clients may wait for at the same time. */
            maxInFlight?: number;
            /** @description Maximum number of background captures that have not ended. */
            maxQueued?: number;
            /** @description Maximum bytes of HTML of background captures that have not ended. */
            maxQueuedBytes?: number;
            /** @description Maximum bytes of files that expire. */
            maxStoredBytes?: number;
            /** @description Maximum bytes of files of captures with persistence, and of the HTML that is kept with them. */
            maxPersistedBytes?: number;
            /**
             * @description Isolation from the captures of other accounts. `context` (default): captures share browsers, and each capture has its own browser context with its own cookies, storage, cache and connections. `browser`: each capture has its own browser, whose processes end with the capture. `browser` takes up to a second and about 150 MB more for each capture. `account`: as `context`, but a capture may reuse the page of an earlier capture of the same account after cookies and storage were wiped, while the HTTP cache stays; it makes small pages about a third cheaper, and is for accounts that render their own templates.
             * @enum {string}
             */
            isolation?: "context" | "browser" | "account";
            /** @description Whether requests of the account may set ignoreTlsErrors, if the service allows it, too (WEBCAPTURE_ALLOW_IGNORE_TLS_ERRORS). Default: false. */
            allowIgnoreTlsErrors?: boolean;
            /** @description Whether the account is suspended. The API keys of a suspended account are refused. */
            suspended?: boolean;
        };
        /** @description Capture this rectangle in place of the viewport, in CSS pixels from the top left corner of the page. The capture fails if it reaches beyond the page. */
        Clip: {
            /** @description CSS pixels from the top left corner of the page. */
            x: number;
            /** @description CSS pixels from the top left corner of the page. */
            y: number;
            /** @description CSS pixels. */
            width: number;
            /** @description CSS pixels. */
            height: number;
        };
        /** @description Compare the picture of each refresh with the one that it replaces. A picture that has changed is reported by the event capture.changed, with the changed share and a picture of the differences. Needs persistence.enabled, and format png, jpeg or webp. */
        CompareOptions: {
            /**
             * @description Minimum distance of two colours that count as different. A smaller value finds more differences.
             * @default 0.1
             */
            threshold?: number;
            /**
             * @description Share of the pixels that must be exceeded for the picture to count as changed.
             * @default 0
             */
            minShare?: number;
            /** @description Elements of the page that are not compared: up to 20 CSS selectors, and up to 200 elements. */
            ignore?: string[];
            /** @description Areas of the picture that are not compared, up to 20. */
            ignoreAreas?: components["schemas"]["PictureArea"][];
        };
        ComponentStatus: {
            /** @description Name of the component: api, queue, storage, engine, or engine.<region>. */
            name: string;
            /** @enum {string} */
            status: "operational" | "degraded_performance" | "partial_outage" | "major_outage";
            responseTimeMs?: number;
            message?: string;
            /** Format: date-time */
            lastCheckedAt: string;
        };
        ConsoleMessage: {
            /** @description Level of the message, such as error, warning or log; exception for an uncaught error. */
            level: string;
            /** @description Text of the message. */
            text: string;
            url: string | null;
            line: number | null;
            /** @description Milliseconds after the start of the rendering. */
            atMs: number;
        };
        Cookie: {
            name: string;
            value: string;
            /** @description http or https URL whose host gets the cookie, and no other host. Excludes domain and path. */
            url?: string;
            /** @description Domain that gets the cookie, with its subdomains. Without domain and url: the host of the page. */
            domain?: string;
            /** @description Path of the cookie; / if not set. */
            path?: string;
            /** @description Send the cookie over https only. Without domain, the default is whether url, or the URL of the page, is https. */
            secure?: boolean;
            /** @description Hide the cookie from scripts. */
            httpOnly?: boolean;
            /**
             * @description None requires secure.
             * @enum {string}
             */
            sameSite?: "Strict" | "Lax" | "None";
        };
        CreateAccount: {
            /** @example Example Ltd */
            name: string;
            /** @description Tokens that the account may use in a calendar month (UTC). */
            tokenQuota?: number;
            /** @description Requests to POST /capture per minute. */
            ratePerMinute?: number;
            /** @description Requests that may be sent at once before the rate applies. Defaults to ratePerMinute. */
            burst?: number;
            /** @description Maximum number of captures that clients may wait for at the same time. */
            maxInFlight?: number;
            /** @description Maximum number of background captures that have not ended. */
            maxQueued?: number;
            /** @description Maximum bytes of HTML of background captures that have not ended. */
            maxQueuedBytes?: number;
            /** @description Maximum bytes of files that expire. */
            maxStoredBytes?: number;
            /** @description Maximum bytes of files of captures with persistence, and of the HTML that is kept with them. */
            maxPersistedBytes?: number;
            /**
             * @description Isolation from the captures of other accounts. `context` (default): captures share browsers, and each capture has its own browser context with its own cookies, storage, cache and connections. `browser`: each capture has its own browser, whose processes end with the capture. `browser` takes up to a second and about 150 MB more for each capture. `account`: as `context`, but a capture may reuse the page of an earlier capture of the same account after cookies and storage were wiped, while the HTTP cache stays; it makes small pages about a third cheaper, and is for accounts that render their own templates.
             * @enum {string}
             */
            isolation?: "context" | "browser" | "account";
            /** @description Whether requests of the account may set ignoreTlsErrors, if the service allows it, too (WEBCAPTURE_ALLOW_IGNORE_TLS_ERRORS). Default: false. */
            allowIgnoreTlsErrors?: boolean;
        };
        CreateAccountKey: {
            accountId: string;
            /** @example Build server */
            name: string;
            /** @description Scopes of the key. Defaults to capture and read; the first key that an operator creates for an account has all scopes. */
            scopes?: ("capture" | "read" | "manage")[];
            /**
             * @description Time at which the key expires, or null if it does not expire.
             * @example 2030-01-31T00:00:00Z
             */
            expiresAt?: string | null;
        };
        CreateKey: {
            /** @example Build server */
            name: string;
            /** @description Scopes of the key. Defaults to capture and read; the first key that an operator creates for an account has all scopes. */
            scopes?: ("capture" | "read" | "manage")[];
            /**
             * @description Time at which the key expires, or null if it does not expire.
             * @example 2030-01-31T00:00:00Z
             */
            expiresAt?: string | null;
        };
        /** @description Options of the capture that logs in: those of POST /capture, except html, responseType, responseCache, persistence, background and webhook. */
        CreateSession: {
            viewport?: components["schemas"]["Viewport"];
            /**
             * @description Name of a device (GET /devices lists them): its viewport, scale, touch screen, mobile layout and user agent. Fields of viewport and a userAgent of the request take precedence.
             * @example iPhone 15
             */
            device?: string;
            /**
             * @description Value of the media feature prefers-color-scheme.
             * @default light
             * @enum {string}
             */
            colorScheme?: "light" | "dark" | "no-preference";
            /**
             * @description Media type of the style sheets that apply. Without it: screen for images, print for PDF.
             * @enum {string}
             */
            media?: "screen" | "print";
            /**
             * @description Value of the media feature prefers-reduced-motion: reduce if true.
             * @default false
             */
            reducedMotion?: boolean;
            /**
             * @description Format of the file. none: no picture is taken, which saves time, and the file contains the parts of extract and extractFields as JSON.
             * @default png
             * @enum {string}
             */
            format?: "png" | "jpeg" | "webp" | "pdf" | "none";
            /**
             * @description Image quality of jpeg and webp. Ignored for other formats.
             * @default 80
             */
            quality?: number;
            /**
             * @description Capture the full scrollable page. Overrides the height of the viewport. A PDF then has a single page. With format none, the page is scrolled through before it is read.
             * @default false
             */
            isFullPage?: boolean;
            /** @description CSS selector. It also matches in open shadow roots, and frame >> element matches in frames of the origin of the page. Captures the first visible element that matches, whole, in place of the viewport. What covers it is hidden. The capture fails if there is none within 5 seconds after load. */
            selector?: string;
            /**
             * @description CSS pixels of the page to show around the element of selector, as far as the page goes.
             * @default 0
             */
            elementPadding?: number;
            clip?: components["schemas"]["Clip"];
            resize?: components["schemas"]["Resize"];
            /**
             * @description Transparent where the page paints nothing. With format png or webp only.
             * @default false
             */
            omitBackground?: boolean;
            pdf?: components["schemas"]["PdfOptions"];
            /**
             * @description Event that ends the navigation. With load and networkidle, the capture then waits up to 2.5 seconds, or up to 5 seconds while content is added, for what the page's scripts are about to change in view. If load or networkidle does not occur in time, the page is captured nevertheless, and report.softTimeouts names the event.
             * @default load
             * @enum {string}
             */
            waitUntil?: "load" | "domcontentloaded" | "networkidle" | "commit";
            /**
             * @description Navigation timeout in milliseconds. Time in the queue does not count.
             * @default 30000
             */
            timeout?: number;
            /**
             * @description Maximum time to wait for images, in milliseconds. The wait ends when all images have loaded.
             * @default 3000
             */
            imageTimeout?: number;
            /**
             * @description Additional time to wait after the page has loaded, in milliseconds.
             * @default 0
             */
            delay?: number;
            waitFor?: components["schemas"]["WaitFor"];
            /**
             * @description HTTP request headers. Sent to the origin of the page only, and to the origins of headersFor. Not allowed: Host, Cookie, User-Agent, Accept-Language, and headers of the connection or of proxies.
             * @example {
             *       "Authorization": "Bearer …"
             *     }
             */
            headers?: {
                [key: string]: string;
            };
            /** @description Other origins that are sent the headers of the request, such as https://cdn.example.com. */
            headersFor?: string[];
            /** @description Cookies that are set before the page is opened. */
            cookies?: components["schemas"]["Cookie"][];
            /**
             * @description ID of a session of the account (POST /sessions): the cookies and the storage that its login left are set before the page is opened. The cookies of the request take precedence.
             * @example 0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77
             */
            session?: string;
            auth?: components["schemas"]["BasicAuth"];
            block?: components["schemas"]["Block"];
            /** @description Elements that are not shown but keep their place, also those that are added later: up to 100 CSS selectors. */
            hide?: string[];
            /** @description Elements that are left out and take no place, also those that are added later: up to 100 CSS selectors. */
            remove?: string[];
            /** @description Elements to click after load and before waitFor, in order, up to 10 CSS selectors. The browser waits for each element for up to 5 seconds, and if the click opens a page, for the rest of timeout until that has loaded. The capture fails if one cannot be clicked. */
            click?: string[];
            /** @description Actions on the page after load and before waitFor, in order, up to 30. Each has one action. An element is awaited for up to 5 seconds, navigations within the site of url are followed, all of them for up to timeout. The capture fails, at no cost, if a step fails; the message has its number. Excludes click. */
            steps?: {
                /** @description Absolute http or https URL of the next page, on the site of url. */
                goto?: string;
                /** @description CSS selector of the element to click. */
                click?: string;
                /** @description Enter a text into a field. */
                type?: {
                    /** @description CSS selector of the field. */
                    selector: string;
                    /** @description Text that replaces the content of the field. It is secret. */
                    text: string;
                };
                /** @description Press a key. */
                press?: {
                    /** @description CSS selector of the element to focus first. Without it: the element that has the focus. */
                    selector?: string;
                    /**
                     * @description Enter, Tab, Shift+Tab, Escape, Backspace, Delete, Space, ArrowUp, ArrowDown, ArrowLeft, ArrowRight, Home, End, PageUp, PageDown, or a character of ASCII.
                     * @example Enter
                     */
                    key: string;
                };
                /** @description Choose an option of a select element. */
                select?: {
                    /** @description CSS selector of the select element. */
                    selector: string;
                    /** @description Value or label of the option to choose. It is secret. */
                    value: string;
                };
                /** @description CSS selector of the element to move the pointer to. */
                hover?: string;
                /** @description Scroll the page, or an element. */
                scroll?: {
                    /** @description CSS selector of the element to scroll into view, or whose content by or to scrolls. */
                    selector?: string;
                    /** @description CSS pixels to scroll down; up if negative. */
                    by?: number;
                    /**
                     * @description End to scroll to. Excludes by.
                     * @enum {string}
                     */
                    to?: "top" | "bottom";
                };
                /** @description Wait for an element, for up to 10 seconds. */
                waitFor?: string | {
                    /** @description CSS selector of the element. */
                    selector: string;
                    /**
                     * @description As in the option waitFor; visible if not set.
                     * @enum {string}
                     */
                    state?: "visible" | "attached" | "hidden";
                };
                /** @description Milliseconds to wait; up to 30 seconds in all steps. */
                wait?: number;
            }[];
            /**
             * @description false: scripts of the page and its frames do not run, and noscript is shown.
             * @default true
             */
            javaScript?: boolean;
            /** @description Make captures of an unchanged page equal, for visual comparison: stop the clock, seed the random numbers, run loops of frames for 60 frames, stop animations at a fixed time, and hide the text cursor. */
            freeze?: {
                /**
                 * @description Time at which Date and performance are stopped, ISO 8601 with an offset. Timers run as usual.
                 * @default 2026-01-01T00:00:00.000Z
                 * @example 2026-01-01T00:00:00Z
                 */
                time?: string;
                /**
                 * @description Seed of Math.random, whose numbers are then the same in each frame and capture.
                 * @default 1
                 */
                random?: number;
            };
            /** @description Style sheet that is added to the page: up to 64 KiB. */
            css?: string;
            /** @description JavaScript that runs in the page after load, and before click, steps and waitFor: up to 64 KiB. It is the body of an async function and may take up to 5 seconds. Its error is in report.scriptError. */
            script?: string;
            /** @description Parts of the page to return as data.extracted, in the state of the page at the time of the capture: any of text, html, markdown, links and metadata, at most 1 MiB each. They are stored as long as the file. Frames are left out. */
            extract?: ("html" | "links" | "markdown" | "metadata" | "text")[];
            /**
             * @description Fields to return as data.extracted.fields, by name: a CSS selector, whose first match gives the text, or {selector, attribute, list, fields}. Up to 50 fields, 3 levels and 1 MiB in all. A field that matches nothing is null, or an empty list.
             * @example {
             *       "title": "h1",
             *       "prices": {
             *         "selector": ".price",
             *         "list": true
             *       }
             *     }
             */
            extractFields?: {
                [key: string]: string | {
                    /** @description CSS selector, which matches within the element around the field, also in open shadow roots. Without it: that element, or the root of the document. */
                    selector?: string;
                    /** @description Name of the attribute to return instead of the text. href and src are returned as absolute URLs. Excludes fields. */
                    attribute?: string;
                    /** @description Return a list with a value for each element that matches, up to 1000. Without it: the value of the first one. */
                    list?: boolean;
                    /** @description Fields to read within each element. */
                    fields?: {
                        [key: string]: string | {
                            /** @description CSS selector, which matches within the element around the field, also in open shadow roots. Without it: that element, or the root of the document. */
                            selector?: string;
                            /** @description Name of the attribute to return instead of the text. href and src are returned as absolute URLs. Excludes fields. */
                            attribute?: string;
                            /** @description Return a list with a value for each element that matches, up to 1000. Without it: the value of the first one. */
                            list?: boolean;
                            /** @description Fields to read within each element. */
                            fields?: {
                                [key: string]: string | {
                                    /** @description CSS selector, which matches within the element around the field, also in open shadow roots. Without it: that element, or the root of the document. */
                                    selector?: string;
                                    /** @description Name of the attribute to return instead of the text. href and src are returned as absolute URLs. Excludes fields. */
                                    attribute?: string;
                                    /** @description Return a list with a value for each element that matches, up to 1000. Without it: the value of the first one. */
                                    list?: boolean;
                                };
                            };
                        };
                    };
                };
            };
            /**
             * @description Region in which the page is rendered. auto prefers the home region of the operator and falls back to another region.
             * @default auto
             * @enum {string}
             */
            region?: "auto" | "us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast";
            /**
             * @description Render with a browser that avoids bot detection. Costs one more token.
             * @default false
             */
            antiBot?: boolean;
            /**
             * @description Language of the visitor, a BCP 47 language tag without extensions: decides Accept-Language, navigator.language and how Intl formats numbers and dates.
             * @example de-DE
             */
            locale?: string;
            /**
             * @description Time zone of the visitor, a name of the IANA time zone database.
             * @example Europe/Berlin
             */
            timezone?: string;
            geolocation?: components["schemas"]["Geolocation"];
            /**
             * @description User agent of the header and of navigator.userAgent. navigator.platform and the client hints agree with it; one that names no Chrome has no client hints.
             * @example Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36
             */
            userAgent?: string;
            /**
             * @description Capture the page and all that it loads although certificates are expired, self-signed or for another name. Only where the operator allows it, for the service and for the account.
             * @default false
             */
            ignoreTlsErrors?: boolean;
            /**
             * @description Time for which the file is kept, in seconds. Ignored when persistence is enabled.
             * @default 86400
             */
            cdnTtl?: number;
            failOn?: components["schemas"]["FailOn"];
            /**
             * @description Keep console messages, requests, steps and waits of the capture, for GET /captures/{uuid}/diagnostics. A failed capture always has them.
             * @default false
             */
            diagnostics?: boolean;
            /** @description Absolute http or https URL of the page that logs in. */
            url: string;
            /**
             * @description Name of the session, for lists.
             * @example Reports
             */
            name?: string;
            /**
             * @description Time for which the session is kept, in seconds.
             * @default 86400
             */
            expiresIn?: number;
        };
        DeadLetter: {
            /**
             * Format: date-time
             * @description Time at which the controller settled it.
             */
            at: string;
            uuid: string;
            /** @description ID of the account. */
            account: string;
            /** @enum {string} */
            region: "us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast";
            /**
             * @description max_deliveries: the job was delivered three times and never acknowledged. terminated: a renderer rejected the job.
             * @enum {string}
             */
            reason: "max_deliveries" | "terminated";
            /** @description Deliveries of the job. */
            deliveries: number;
        };
        DeadLetterList: {
            /** @description Newest first, at most 100. */
            deadLetters: components["schemas"]["DeadLetter"][];
        };
        /** DeletedCapture */
        DeletedCapture: {
            /** Format: uuid */
            uuid: string;
            /** @enum {string} */
            status: "deleted";
            fromCache: boolean;
            /** @description Always 0, because the capture was deleted before it completed. */
            tokenCost: number;
            /** @enum {string} */
            region: "us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast";
            /**
             * Format: date-time
             * @description Time at which the request was accepted.
             */
            acceptedAt: string;
            /**
             * Format: uuid
             * @description ID of the batch that requested the capture, for GET /batches/{id}.
             */
            batch?: string;
            metadata: components["schemas"]["RequestMetadata"];
        };
        Delivery: {
            /** @description UUID of the capture, or ID of the batch; null for a test event. */
            uuid: string | null;
            /** @description URL of the webhook; lists of an account contain at most its first 200 characters. */
            url: string;
            /** @enum {string} */
            event: "capture.completed" | "capture.failed" | "capture.refreshed" | "capture.changed" | "batch.completed" | "webhook.test";
            /** @description What the event is about: 0 for the capture itself, otherwise the number of the refresh. */
            revision: number;
            /** @description Number of the attempt, from 1. */
            attempt: number;
            /**
             * Format: date-time
             * @description Start of the attempt.
             */
            at: string;
            /**
             * @description delivered; retrying: there will be another attempt; failed: there will be no further attempt.
             * @enum {string}
             */
            state: "delivered" | "retrying" | "failed";
            /** @description HTTP status of the response; null if there was none. */
            status: number | null;
            /** @description Why the attempt failed. */
            error: string | null;
            /** @description Duration of the attempt; null if nothing was sent. */
            durationMs: number | null;
        };
        DeliveryList: {
            /** @description Newest first. */
            deliveries: components["schemas"]["Delivery"][];
        };
        Device: {
            /** @description Value of the option device. */
            name: string;
            viewport: {
                width: number;
                height: number;
                deviceScaleFactor: number;
            };
            /** @description Size of the screen in CSS pixels. */
            screen: {
                width: number;
                height: number;
            };
            /** @description Whether the device has a touch screen and applies the viewport meta tag. */
            isMobile: boolean;
            userAgent: string;
        };
        /** Diagnostics */
        Diagnostics: {
            /** Format: uuid */
            uuid: string;
            /** @description Number of the refresh that they are about; 0: the capture itself. */
            refresh: number;
            /**
             * Format: date-time
             * @description When the diagnostics are removed.
             */
            expiresAt: string;
            /**
             * Format: date-time
             * @description When the rendering began.
             */
            startedAt: string;
            /** @description Milliseconds. */
            durationMs: number;
            error: {
                /** @description Code of the error. */
                code: string;
                message: string;
            } | null;
            /** @description URL of the page at the end. */
            pageUrl: string;
            steps: components["schemas"]["DiagnosticsStep"][];
            /** @description Waits that took at least 100 ms or timed out. They overlap. */
            waits: components["schemas"]["DiagnosticsWait"][];
            /** @description Latest messages and uncaught errors of the last document of the page, oldest first. */
            console: components["schemas"]["ConsoleMessage"][];
            /** @description Requests that failed or did not end, then the slowest, in the order of their start. */
            requests: components["schemas"]["DiagnosticsRequest"][];
            /** @description Number of all requests of the page. */
            requestCount: number;
            blocked: components["schemas"]["BlockedRequest"][];
            /** @description What was still loading or moving at the end. Null: the page did not answer. */
            moving: {
                /** @description readyState of the document. */
                readyState: string;
                images: string[];
                fonts: string[];
                animations: {
                    /** @description Name of the CSS animation, or its type. */
                    name: string;
                    /** @description Element that it moves. */
                    element: string;
                }[];
            } | null;
            /** @description Last picture of the page of a failed capture: a JPEG file at /captures/{uuid}/diagnostics/picture. Null: there is none. */
            picture: {
                /** @description Pixels. */
                width: number;
                /** @description Pixels. */
                height: number;
                /** @description Size of the JPEG file. */
                bytes: number;
            } | null;
        };
        DiagnosticsRequest: {
            /** @description URL without credentials and secrets. */
            url: string;
            /** @description HTTP method. */
            method: string;
            /** @description Type of the resource, such as document, script or image. */
            type: string;
            status: number | null;
            error: string | null;
            mimeType: string | null;
            bytes: number | null;
            /** @description Milliseconds after the start of the rendering. */
            startMs: number;
            waitMs: number | null;
            durationMs: number | null;
        };
        DiagnosticsStep: {
            /** @description setUp, navigation, script, click, steps, waitFor, settle, extract or picture. */
            name: string;
            /** @description Milliseconds after the start of the rendering. */
            startMs: number;
            /** @description Milliseconds. */
            durationMs: number;
            /** @description Whether the capture failed in this step. */
            failed: boolean;
        };
        DiagnosticsWait: {
            /** @description What the capture waited for. */
            what: string;
            /** @description Milliseconds after the start of the rendering. */
            startMs: number;
            /** @description Milliseconds. */
            durationMs: number;
            /** @description Whether the wait ended because its time was over. */
            timedOut: boolean;
        };
        EarlierFile: {
            /** @description URL of the file. */
            fileUrl: string;
            /**
             * Format: date-time
             * @description Time of the capture that the file shows.
             */
            capturedAt: string;
            /** @description Number of the refresh that replaced the file. */
            replacedBy: number;
            fileSizeBytes: number;
            width: number;
            height: number;
            /** @description With persistence.compare: how the refresh has changed the picture. Kept for as many refreshes as there are earlier files, but at least for the latest one. */
            comparison: {
                /** @description Share of different pixels. */
                changedShare: number;
                /** @description Whether the share is greater than persistence.compare.minShare. */
                hasChanged: boolean;
                differenceUrl: string | null;
            } | null;
        };
        Error: {
            /** @enum {string} */
            code: "VALIDATION_ERROR" | "URL_BLOCKED" | "SESSION_NOT_FOUND" | "UNAUTHORIZED" | "API_KEY_EXPIRED" | "API_KEY_REVOKED" | "QUOTA_EXCEEDED" | "FORBIDDEN" | "NOT_FOUND" | "CAPTURE_NOT_FOUND" | "CONFLICT" | "RATE_LIMIT_EXCEEDED" | "QUEUE_FULL" | "NAVIGATION_FAILED" | "CAPTURE_TIMEOUT" | "CAPTURE_FAILED" | "PAGE_TOO_LARGE" | "REGION_UNAVAILABLE" | "STORAGE_FAILED" | "INTERNAL_ERROR";
            /** @description Description of the error and of what to do. Use code, not message, in programs. */
            message: string;
        };
        /** Extracted */
        Extracted: {
            /** @description Text that can be seen on the page. */
            text?: string;
            /** @description The document as HTML, after its scripts have run, with its open shadow roots. */
            html?: string;
            /** @description What can be seen on the page, as Markdown (GFM). */
            markdown?: string;
            /** @description Links of the document, each URL once, in document order. */
            links?: {
                /** @description Absolute URL (http, https, mailto or tel). */
                url: string;
                /** @description Text of the link, at most 256 characters. */
                text: string;
            }[];
            metadata?: {
                title: string;
                description: string | null;
                /** @description Attribute lang of the html element. */
                language: string | null;
                canonicalUrl: string | null;
                /** @description Open Graph properties by name, such as og:title: the first of each name, at most 100. */
                openGraph: {
                    [key: string]: string;
                };
                /** @description Icons that the page links to, at most 50. */
                icons: {
                    /** @description Absolute URL. */
                    url: string;
                    sizes?: string;
                    type?: string;
                }[];
            };
            /** @description The fields of `extractFields`: texts, lists of texts, or objects with fields; null if nothing matches. */
            fields?: {
                [key: string]: string | null | {
                    [key: string]: string | null | {
                        [key: string]: string | null | (string | null)[];
                    } | (string | null | {
                        [key: string]: string | null | (string | null)[];
                    })[];
                } | (string | null | {
                    [key: string]: string | null | {
                        [key: string]: string | null | (string | null)[];
                    } | (string | null | {
                        [key: string]: string | null | (string | null)[];
                    })[];
                })[];
            };
            /** @description Parts that are not complete: over 1 MiB, or the page is too large to be read in time. */
            truncated?: ("html" | "links" | "markdown" | "metadata" | "text" | "fields")[];
        };
        /**
         * @description Fail the capture, at no cost, if any of these is the case.
         * @default {}
         */
        FailOn: {
            /** @description HTTP statuses of the page, such as 503, and classes of them, such as 4xx. */
            status?: (number | string)[];
            /**
             * @description The image has a single color, or the pages of the PDF are empty.
             * @default false
             */
            blank?: boolean;
            /**
             * @description The page shows a bot check.
             * @default false
             */
            challenge?: boolean;
            /**
             * @description A script of the page writes an error to the console, or does not catch an exception.
             * @default false
             */
            consoleErrors?: boolean;
        };
        /** FailedCapture */
        FailedCapture: {
            /** Format: uuid */
            uuid: string;
            /** @enum {string} */
            status: "failed";
            fromCache: boolean;
            /** @description Always 0, because failed captures are not charged. */
            tokenCost: number;
            /** @enum {string} */
            region: "us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast";
            /** @description Time from the acceptance of the request to the failure. */
            processingTimeMs: number;
            /**
             * Format: date-time
             * @description Time at which the request was accepted.
             */
            acceptedAt: string;
            /**
             * Format: uuid
             * @description ID of the batch that requested the capture, for GET /batches/{id}.
             */
            batch?: string;
            error: components["schemas"]["CaptureError"];
            /** @description Present and true if GET /captures/{uuid}/diagnostics explains the capture. */
            hasDiagnostics?: boolean;
            metadata: components["schemas"]["RequestMetadata"];
            webhook?: components["schemas"]["CaptureWebhook"];
        };
        Failure: {
            /** @enum {boolean} */
            success: false;
            error: components["schemas"]["Error"];
            data: null;
        };
        /** @description Place of the visitor, and the permission to ask for it. Browsers tell it to pages of https only, and to frames of other origins if the page allows it. */
        Geolocation: {
            /** @description Degrees north. */
            latitude: number;
            /** @description Degrees east. */
            longitude: number;
            /**
             * @description Metres.
             * @default 10
             */
            accuracy?: number;
        };
        /** @description One of capture and request. request is a body of POST /capture. Its format is always pdf and can be left out. It must not set responseType file, background, webhook, persistence, pdf.attachments or pdf.encryption. */
        MergeDocument: {
            /** @description UUID of a completed capture of the account, with format pdf and without pdf.encryption. */
            capture?: string;
            request?: components["schemas"]["CaptureRequest"];
            /** @description Title of the bookmark of the document. If it is not set: the title of the page, or its URL. */
            title?: string;
        };
        MergeRequest: {
            /** @description Documents to merge, in this order: up to 50. */
            documents: components["schemas"]["MergeDocument"][];
            /**
             * @description Numbers of the pages that viewers show: from 1 to the last page (continuous), or from 1 in each document after the number of the document, such as 2-1 (perDocument).
             * @default continuous
             * @enum {string}
             */
            pageLabels?: "continuous" | "perDocument";
            /** @description Metadata of the document, in its information dictionary and as XMP. */
            metadata?: {
                /** @description Title, in place of that of the page. */
                title?: string;
                /** @description Author. */
                author?: string;
                /** @description Subject. */
                subject?: string;
                /** @description Keywords, without commas and semicolons. */
                keywords?: string[];
                /** @description Language tag (BCP 47) such as "de-DE", in place of that of the page. */
                language?: string;
            };
            /** @description Encrypt the document with AES-256 (ISO 32000-2), which viewers of before 2010 do not open. Without userPassword, it opens without a password. The passwords are secrets. */
            encryption?: {
                /** @description Password that opens the document with the permissions. */
                userPassword?: string;
                /** @description Password that opens the document without limits. Random if not set. */
                ownerPassword?: string;
                /**
                 * @description What viewers allow without the owner password: all that is not false.
                 * @default {}
                 */
                permissions?: {
                    /**
                     * @description Print the document.
                     * @default true
                     */
                    print?: boolean;
                    /**
                     * @description Copy text and pictures. Screen readers may read the text in any case.
                     * @default true
                     */
                    copy?: boolean;
                    /**
                     * @description Change the document.
                     * @default true
                     */
                    modify?: boolean;
                    /**
                     * @description Add comments and fill in forms.
                     * @default true
                     */
                    annotate?: boolean;
                };
            };
        };
        NewApiKey: {
            id: string;
            accountId: string;
            name: string;
            scopes: ("capture" | "read" | "manage")[];
            /** @enum {string} */
            status: "active" | "expired" | "revoked";
            /** Format: date-time */
            createdAt: string;
            /** @description ID of the API key that created or rotated this one; null if the operator created it, or if it was created before this was recorded. */
            createdBy: string | null;
            expiresAt: string | null;
            revokedAt: string | null;
            /** @description The API key. It is shown only once. */
            key: string;
        };
        Overview: {
            /**
             * Format: date-time
             * @description Time of this overview.
             */
            at: string;
            /**
             * @description Overall status of the service, as of GET /status.
             * @enum {string}
             */
            status: "operational" | "degraded_performance" | "partial_outage" | "major_outage";
            regions: components["schemas"]["RegionOverview"][];
            /** @description Queues of regions that are no longer part of the installation, as of the last status of the controller. The controller fails their captures with REGION_UNAVAILABLE, unless renderers of the region still accept captures. */
            retired: {
                /** @description Captures in all of these queues. */
                captures: number;
                regions: {
                    /** @enum {string} */
                    region: "us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast";
                    captures: number;
                }[];
            };
            /** @description Clusters that have reported within the last 15 minutes, by name, as of the last status of the controller. */
            clusters: {
                /** @description Name of the cluster: `cluster.name` of the chart, or `WEBCAPTURE_CLUSTER_NAME`. */
                name: string;
                /** @description Namespace of the release. */
                namespace: string;
                /** @description Version of its controller. */
                version: string;
                /** @description Regions that have renderers in the cluster. */
                regions: ("us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast")[];
                /** @description Milliseconds since its last report; null while it reports every two seconds. */
                silentForMs: number | null;
                /** @description What keeps it from working with this fleet, and what to do. */
                problems: string[];
            }[];
        };
        PastRefresh: {
            /** @description Refreshes of a capture are numbered from 1. */
            number: number;
            /**
             * @description Who asked for it: a request, or refreshInterval or schedule.
             * @enum {string}
             */
            by: "request" | "interval";
            /** @enum {string} */
            state: "queued" | "rendering" | "completed" | "failed";
            /** Format: date-time */
            acceptedAt: string;
            endedAt: string | null;
            error: {
                /** @enum {string} */
                code: "VALIDATION_ERROR" | "URL_BLOCKED" | "SESSION_NOT_FOUND" | "UNAUTHORIZED" | "API_KEY_EXPIRED" | "API_KEY_REVOKED" | "QUOTA_EXCEEDED" | "FORBIDDEN" | "NOT_FOUND" | "CAPTURE_NOT_FOUND" | "CONFLICT" | "RATE_LIMIT_EXCEEDED" | "QUEUE_FULL" | "NAVIGATION_FAILED" | "CAPTURE_TIMEOUT" | "CAPTURE_FAILED" | "PAGE_TOO_LARGE" | "REGION_UNAVAILABLE" | "STORAGE_FAILED" | "INTERNAL_ERROR";
                message: string;
                /** @enum {string} */
                cause: "client" | "page" | "service";
            } | null;
            fileSizeBytes: number | null;
            width: number | null;
            height: number | null;
            /** @description With persistence.compare: how the refresh has changed the picture. Kept for as many refreshes as there are earlier files, but at least for the latest one. */
            comparison: {
                /** @description Share of different pixels. */
                changedShare: number;
                /** @description Whether the share is greater than persistence.compare.minShare. */
                hasChanged: boolean;
                differenceUrl: string | null;
            } | null;
        };
        /** @description PDF options. Allowed with format pdf only. */
        PdfOptions: {
            /**
             * @description Paper size. A4 if neither paper nor width and height are set. Ignored with isFullPage.
             * @enum {string}
             */
            paper?: "A0" | "A1" | "A2" | "A3" | "A4" | "A5" | "A6" | "Letter" | "Legal" | "Tabloid" | "Ledger";
            /**
             * @description Use landscape orientation.
             * @default false
             */
            landscape?: boolean;
            /**
             * @description Page margins: a number in millimeters, a string with a unit (mm, cm, in, px), an object {top, right, bottom, left} of these, or "css" for the margins of the page's own @page rules. A side that is not set is 10 mm.
             * @default 10
             */
            margin?: number | string | {
                top?: number | string;
                right?: number | string;
                bottom?: number | string;
                left?: number | string;
            };
            /**
             * @description Print background colors and images.
             * @default true
             */
            printBackground?: boolean;
            /**
             * @description Scale of the rendering.
             * @default 1
             */
            scale?: number;
            /** @description Width of the paper, with height and in place of paper: a number in millimeters or a string with a unit (mm, cm, in, px), 10 to 5080 mm. */
            width?: number | string;
            /** @description Height of the paper, like width. */
            height?: number | string;
            /**
             * @description Let the size of an @page rule of the page, where there is one, take precedence over the paper. The margins are those of pdf.margin.
             * @default false
             */
            preferCssPageSize?: boolean;
            /**
             * @description Pages to print, in their order, such as "1-3, 5, 8-". Pages beyond the end of the document are left out; the capture fails if no page remains.
             * @example 1-3, 5, 8-
             */
            pageRanges?: string;
            /** @description HTML in the top margin of every page, up to 64 KiB. Elements of the classes date, title, url, pageNumber and totalPages are filled in. Scripts do not run, images must be data URLs, and fonts must be installed ones. */
            headerTemplate?: string;
            /** @description HTML in the bottom margin of every page, up to 64 KiB. Elements of the classes date, title, url, pageNumber and totalPages are filled in. Scripts do not run, images must be data URLs, and fonts must be installed ones. */
            footerTemplate?: string;
            /**
             * @description Write tags for screen readers. The file is smaller without them.
             * @default true
             */
            tagged?: boolean;
            /**
             * @description Write bookmarks made of the headings of the page.
             * @default false
             */
            outline?: boolean;
            /**
             * @description Elements with position: fixed: on every page (repeat), or once (once), except for those that only the print styles fix. repeat for html, once for a url, if not set.
             * @enum {string}
             */
            fixed?: "repeat" | "once";
            /** @description Metadata of the document, in its information dictionary and as XMP. */
            metadata?: {
                /** @description Title, in place of that of the page. */
                title?: string;
                /** @description Author. */
                author?: string;
                /** @description Subject. */
                subject?: string;
                /** @description Keywords, without commas and semicolons. */
                keywords?: string[];
                /** @description Language tag (BCP 47) such as "de-DE", in place of that of the page. */
                language?: string;
            };
            /** @description Files that are attached to the document: up to 10, of up to 256 KiB together. */
            attachments?: {
                /** @description File name, which no other attachment of the document has. */
                name: string;
                /** @description Data URL of the file, or its text, such as HTML or XML. */
                content: string;
                /**
                 * @description Media type. If it is not set: that of the data URL, or text/html for text.
                 * @example application/xml
                 */
                mimeType?: string;
                /** @description Description that viewers show. */
                description?: string;
                /**
                 * @description What the file is to the document (AFRelationship); Unspecified if not set. An invoice in XML is an Alternative, or Data.
                 * @enum {string}
                 */
                relationship?: "Alternative" | "Data" | "Source" | "Supplement" | "Unspecified";
            }[];
            /** @description Encrypt the document with AES-256 (ISO 32000-2), which viewers of before 2010 do not open. Without userPassword, it opens without a password. The passwords are secrets. */
            encryption?: {
                /** @description Password that opens the document with the permissions. */
                userPassword?: string;
                /** @description Password that opens the document without limits. Random if not set. */
                ownerPassword?: string;
                /**
                 * @description What viewers allow without the owner password: all that is not false.
                 * @default {}
                 */
                permissions?: {
                    /**
                     * @description Print the document.
                     * @default true
                     */
                    print?: boolean;
                    /**
                     * @description Copy text and pictures. Screen readers may read the text in any case.
                     * @default true
                     */
                    copy?: boolean;
                    /**
                     * @description Change the document.
                     * @default true
                     */
                    modify?: boolean;
                    /**
                     * @description Add comments and fill in forms.
                     * @default true
                     */
                    annotate?: boolean;
                };
            };
        };
        /** PendingCapture */
        PendingCapture: {
            /** Format: uuid */
            uuid: string;
            /** @enum {string} */
            status: "queued" | "rendering";
            /** @description URL that the file will have. */
            fileUrl: string;
            fromCache: boolean;
            /** @description Tokens that are charged when the capture completes. */
            tokenCost: number;
            /**
             * @description Region in which the capture waits or is rendered.
             * @enum {string}
             */
            region: "us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast";
            /**
             * Format: date-time
             * @description Time at which the request was accepted.
             */
            acceptedAt: string;
            /**
             * Format: uuid
             * @description ID of the batch that requested the capture, for GET /batches/{id}.
             */
            batch?: string;
            /** @description Estimated time in seconds until rendering starts, or null if it is unknown. Only in the response to a background capture. */
            estimatedWaitSeconds?: number | null;
            metadata: components["schemas"]["RequestMetadata"];
            webhook?: components["schemas"]["CaptureWebhook"];
        };
        /**
         * @description Long-term storage of the file, with optional automatic refreshes.
         * @default {}
         */
        PersistenceOptions: {
            /**
             * @description Keep the file long-term, instead of for cdnTtl.
             * @default false
             */
            enabled?: boolean;
            /**
             * @description Seconds between automatic refreshes into the same fileUrl; 0 disables them. Operators set the minimum (default 3600).
             * @default 0
             */
            refreshInterval?: number;
            schedule?: components["schemas"]["RefreshSchedule"];
            /**
             * @description Number of earlier files that are kept when refreshes replace them; GET /captures/{uuid}/history lists them. Needs persistence.enabled.
             * @default 0
             */
            history?: number;
            compare?: components["schemas"]["CompareOptions"];
        };
        /** @description Rectangle in CSS pixels from the top left corner of the picture, before resize. */
        PictureArea: {
            /** @description Left edge. */
            x: number;
            /** @description Top edge. */
            y: number;
            width: number;
            height: number;
        };
        Refresh: {
            /**
             * @description State of the latest refresh; idle if there was none.
             * @enum {string}
             */
            state: "idle" | "queued" | "rendering" | "completed" | "failed";
            error: components["schemas"]["CaptureError"] | null;
            acceptedAt: string | null;
            endedAt: string | null;
            nextAt: string | null;
            /** @description Tokens charged for all refreshes of the capture so far. */
            tokensCharged: number;
            /** @description With persistence.compare: how the latest refresh has changed the picture. Absent if it has not completed. */
            comparison?: {
                /** @description Share of different pixels. */
                changedShare: number;
                /** @description Whether the share is greater than persistence.compare.minShare. */
                hasChanged: boolean;
                differenceUrl: string | null;
                previousFileUrl: string | null;
            };
        };
        /** @description Times of automatic refreshes, in place of refreshInterval. Two runs have the minimum distance that operators set for refreshInterval. Needs persistence.enabled. */
        RefreshSchedule: {
            /**
             * @description Cron expression of five fields: minute, hour, day of the month, month, day of the week. If both days are restricted, one of them has to match.
             * @example 0 6 * * 1-5
             */
            cron: string;
            /**
             * @description Time zone of the expression, a name of the IANA time zone database. A time that daylight saving time skips runs after the skipped hour, and one that occurs twice runs the first time.
             * @default UTC
             * @example Europe/Berlin
             */
            timeZone?: string;
        };
        RegionOverview: {
            /** @enum {string} */
            region: "us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast";
            /** @description False for a region of another cluster that has never worked; it is outside of GET /status. */
            installed: boolean;
            /** @description Renderers that accept captures. */
            renderers: number;
            /** @description Slots of these renderers. */
            slots: number;
            /** @description Slots in use. */
            busy: number;
            /** @description Captures that wait for a renderer, as of the last status of the controller. */
            queued: {
                interactive: number;
                background: number;
            };
            /** @enum {string} */
            status: "operational" | "degraded_performance" | "partial_outage" | "major_outage";
            /** @description Mean time that renderers spent on a capture within the last five minutes; null if there was none. */
            meanRenderMs: number | null;
            /** @description Renderers with a fresh heartbeat, by name; at most 200. */
            pods: {
                /** @description Name of the pod, or of the process where there is no cluster. */
                pod: string;
                /** @description Captures that it can render at the same time. */
                slots: number;
                /** @description Slots in use. */
                busy: number;
                version: string;
                /** @description Milliseconds since its last heartbeat. */
                ageMs: number;
            }[];
        };
        RequestMetadata: {
            /** @description Requested URL, or about:blank for supplied HTML. */
            url: string;
            /** @enum {string} */
            format: "png" | "jpeg" | "webp" | "pdf" | "none";
            viewport: {
                width: number;
                height: number;
                deviceScaleFactor: number;
            };
            fullPage: boolean;
            /** @description Names of the headers and cookies of the request, and whether it had auth, css, script, pdf.encryption and values of steps. */
            secrets?: {
                /** @description Names of the headers. */
                headers: string[];
                /** @description Names of the cookies. */
                cookies: string[];
                auth: boolean;
                css: boolean;
                script: boolean;
                /** @description Only for an encrypted PDF. */
                pdfEncryption?: boolean;
                /** @description Only for a capture whose steps enter values. */
                stepValues?: boolean;
            };
        };
        /** @description Resize the final picture. With one side, the other follows. report.originalSize is the size before. */
        Resize: {
            /** @description Pixels of the file. */
            width?: number;
            /** @description Pixels of the file. */
            height?: number;
            /**
             * @description cover: fill the box, cut off what is over. contain: fit into the box and fill it up with white, or nothing with omitBackground. fill: stretch. inside: fit into the box, which may be larger than the picture.
             * @default inside
             * @enum {string}
             */
            fit?: "cover" | "contain" | "fill" | "inside";
            /**
             * @description Make a picture larger that is smaller than the box.
             * @default false
             */
            enlarge?: boolean;
        };
        /**
         * @description Response cache. When enabled, an equal earlier capture of the account is returned at no cost, and equal requests at the same time are rendered once.
         * @default {}
         */
        ResponseCacheOptions: {
            /**
             * @description Use the response cache.
             * @default false
             */
            enabled?: boolean;
            /**
             * @description Time to live of the cache entry in seconds. An earlier capture is returned only if it is not older than this.
             * @default 86400
             */
            ttl?: number;
        };
        RevokedApiKey: {
            id: string;
            accountId: string;
            name: string;
            scopes: ("capture" | "read" | "manage")[];
            /** @enum {string} */
            status: "active" | "expired" | "revoked";
            /** Format: date-time */
            createdAt: string;
            /** @description ID of the API key that created or rotated this one; null if the operator created it, or if it was created before this was recorded. */
            createdBy: string | null;
            expiresAt: string | null;
            revokedAt: string | null;
            /** @description With cascade: IDs of the other keys that this request revoked. */
            alsoRevoked?: string[];
            /** @description With cascade: false when there were too many keys for one request. Send the request again. */
            isComplete?: boolean;
        };
        RotateKey: {
            /**
             * @description Seconds for which the old key keeps working.
             * @default 3600
             */
            graceSeconds?: number;
        };
        RotateSigningSecret: {
            /**
             * @description Seconds for which links that are signed with earlier secrets keep working.
             * @default 86400
             */
            graceSeconds?: number;
        };
        RotateWebhookSecret: {
            /**
             * @description Seconds for which events are also signed with the earlier secrets.
             * @default 86400
             */
            graceSeconds?: number;
        };
        SentTestEvent: {
            /** @description The webhook-id of the event. */
            id: string;
        };
        ServiceStatus: {
            /** @enum {string} */
            status: "operational" | "degraded_performance" | "partial_outage" | "major_outage";
            components?: components["schemas"]["ComponentStatus"][];
            /** Format: date-time */
            lastCheckedAt: string;
        };
        Session: {
            /**
             * Format: uuid
             * @description Value of the option session. Also the UUID of the capture that logged in, for GET /captures/{uuid}.
             */
            sessionId: string;
            name: string | null;
            /** @description URL of the page that logged in. */
            url: string;
            /** @description Hosts that have cookies or storage in the session, at most 50. */
            sites: string[];
            /**
             * Format: date-time
             * @description Time of the login.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Time at which the session is removed.
             */
            expiresAt: string;
        };
        SessionList: {
            /** @description Newest first. */
            sessions: components["schemas"]["Session"][];
        };
        SigningSecret: {
            /** @description ID of the API key: the parameter key of links. */
            keyId: string;
            /** @description Signing secret: wcs_ followed by 32 base64url-encoded bytes. It is shown only once. */
            secret: string;
            /** @description Time until which links of earlier secrets work, or null if they no longer work. */
            previousUntil: string | null;
        };
        StatusHistory: {
            /**
             * Format: date-time
             * @description Time of this response.
             */
            generatedAt: string;
            components: {
                /** @description Name of the component, as in GET /status. The component api has no history. */
                name: string;
                /**
                 * Format: date-time
                 * @description Time until which the component was observed.
                 */
                observedUntil: string;
                /** @description Share of the observed time in which the component was operational or had a degraded performance, rounded down; null if it was not observed. */
                uptimePercent: number | null;
                /** @description Oldest first. Days before the first observation are left out. */
                days: {
                    /**
                     * Format: date
                     * @description The day, from 00:00 to 24:00 UTC.
                     */
                    date: string;
                    /** @description Seconds. */
                    operational?: number;
                    /** @description Seconds. */
                    degraded_performance?: number;
                    /** @description Seconds. */
                    partial_outage?: number;
                    /** @description Seconds. */
                    major_outage?: number;
                    /** @description Seconds in which the component was not observed. */
                    noData?: number;
                }[];
            }[];
            /** @description Newest first. Incidents that follow each other closely, or many of one day, are one incident. */
            incidents: {
                /** @description The same in all responses. */
                id: string;
                component: string;
                /** @enum {string} */
                status: "operational" | "degraded_performance" | "partial_outage" | "major_outage";
                /** Format: date-time */
                startedAt: string;
                /** @description Null while it lasts. */
                endedAt: string | null;
                /** @description The reason of the worst state. */
                message: string;
                /** @description The states that it went through, oldest first. */
                updates: {
                    /** Format: date-time */
                    at: string;
                    /** @enum {string} */
                    status: "operational" | "degraded_performance" | "partial_outage" | "major_outage";
                    message: string;
                }[];
                /** @description How often the component recovered and failed again in the meantime. */
                interruptions: number;
            }[];
        };
        TestEventRequest: {
            /**
             * @description Absolute http or https URL to send the event to.
             * @example https://app.example.com/hook
             */
            url: string;
        };
        Usage: {
            /** @description Tokens charged for the completed captures and refreshes of the period. */
            tokensUsed: number;
            /** @description Tokens reserved for background captures and refreshes that have not ended. */
            tokensReserved: number;
            /** @description Tokens that the account may use in a calendar month (UTC). */
            tokenQuota: number;
            /**
             * Format: date-time
             * @description Start of the period: the first instant of the calendar month (UTC).
             */
            periodStart: string;
            /**
             * Format: date-time
             * @description End of the period: the first instant of the next calendar month (UTC).
             */
            periodEnd: string;
            /** @description Requests to POST /capture per minute. */
            ratePerMinute: number;
            /** @description Captures that clients are waiting for. */
            inFlight: number;
            /** @description Background captures and refreshes that have not ended. */
            queued: number;
            /** @description Bytes of HTML of background captures that have not ended. */
            queuedBytes: number;
            /** @description Maximum bytes of HTML of background captures that have not ended. */
            maxQueuedBytes: number;
            /** @description Bytes of files that expire. */
            storedBytes: number;
            /** @description Maximum bytes of files that expire. */
            maxStoredBytes: number;
            /** @description Bytes of files of captures with persistence, and of the HTML that is kept with them. */
            persistedBytes: number;
            /** @description Maximum bytes of files of captures with persistence, and of the HTML that is kept with them. */
            maxPersistedBytes: number;
            /** @description Bytes that the account stores in NATS: all of the above, or only HTML where the service keeps files in a bucket. */
            embeddedBytes: number;
            /** @description Maximum of embeddedBytes: the share of the store that one account may use. Null: there is none. */
            maxEmbeddedBytes: number | null;
        };
        UsageHistory: {
            /** @description Days in UTC from the oldest to today, those without use included. Captures count on the day on which they end. */
            days: {
                /** Format: date */
                date: string;
                /** @description Tokens charged for captures and refreshes that completed. */
                tokens: number;
                /** @description Captures and refreshes that completed. */
                completed: number;
                /** @description Captures and refreshes that failed. */
                failed: number;
                /** @description Requests that were answered from the cache. */
                cached: number;
                /** @description Percentiles of the duration of captures and refreshes that completed, within 5%: from the acceptance to the end; of background captures and refreshes without the wait in the queue. Null if none completed. */
                latencyMs: {
                    p50: number;
                    p90: number;
                    p99: number;
                } | null;
            }[];
            /** @description API keys that were used, those with the most tokens first, at most 101. Refreshes belong to no key. */
            keys: {
                /** @description ID of the API key, or other for all keys beyond the first 100 of a day. */
                id: string;
                name: string;
                /** @description Tokens charged for captures and refreshes that completed. */
                tokens: number;
                /** @description Captures and refreshes that completed. */
                completed: number;
                /** @description Captures and refreshes that failed. */
                failed: number;
                /** @description Requests that were answered from the cache. */
                cached: number;
            }[];
            totals: {
                /** @description Tokens charged for captures and refreshes that completed. */
                tokens: number;
                /** @description Captures and refreshes that completed. */
                completed: number;
                /** @description Captures and refreshes that failed. */
                failed: number;
                /** @description Requests that were answered from the cache. */
                cached: number;
                /** @description Completed captures and refreshes over all that ended; null if none ended. */
                successRate: number | null;
                /** @description Percentiles of the duration of captures and refreshes that completed, within 5%: from the acceptance to the end; of background captures and refreshes without the wait in the queue. Null if none completed. */
                latencyMs: {
                    p50: number;
                    p90: number;
                    p99: number;
                } | null;
            };
        };
        /**
         * @description Size of the browser window. The total size (width × height × deviceScaleFactor²) is at most 150 megapixels.
         * @default {}
         */
        Viewport: {
            /**
             * @description Size in CSS pixels.
             * @default 1280
             */
            width?: number;
            /**
             * @description Size in CSS pixels.
             * @default 720
             */
            height?: number;
            /**
             * @description Device pixels per CSS pixel.
             * @default 1
             */
            deviceScaleFactor?: number;
        };
        /** @description Wait for an element or a text after the page has loaded. */
        WaitFor: {
            /** @description CSS selector. It also matches in open shadow roots, and frame >> element matches in frames of the origin of the page. Exactly one of selector and text is required. */
            selector?: string;
            /** @description Text of the page, without that of frames. Case does not matter, and any white space is one space. */
            text?: string;
            /**
             * @description visible: an element that matches has a box and is not hidden. attached: one is in the document. hidden: none is visible. The same goes for text.
             * @default visible
             * @enum {string}
             */
            state?: "visible" | "attached" | "hidden";
            /**
             * @description Maximum time to wait, in milliseconds. 0 looks once.
             * @default 10000
             */
            timeout?: number;
            /**
             * @description Fail the capture if the wait times out. Otherwise report.softTimeouts contains waitFor.
             * @default false
             */
            required?: boolean;
        };
        /** @description Webhook for the end of the capture. Allowed with background only. */
        WebhookOptions: {
            /** @description URL that receives the signed event. */
            url: string;
        };
        WebhookSecret: {
            /** @description Webhook secret: whsec_ followed by 32 base64-encoded bytes, as Standard Webhooks libraries expect it. */
            secret: string;
            /** @description Rotated secrets that still sign events, newest first. */
            previous: {
                secret: string;
                /** Format: date-time */
                signsUntil: string;
            }[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getCaptureLink: {
        parameters: {
            query: {
                /** @description ID of the API key whose signing secret has signed the link. */
                key: string;
                /** @description Unix time in seconds at which the link expires, at most 366 days ahead. */
                expires: number;
                /** @description Absolute http or https URL of the page to capture, without a user name or password (see auth). Exactly one of url and html is required. */
                url?: string;
                /** @description Size in CSS pixels. */
                "viewport.width"?: number;
                /** @description Size in CSS pixels. */
                "viewport.height"?: number;
                /** @description Device pixels per CSS pixel. */
                "viewport.deviceScaleFactor"?: number;
                /**
                 * @description Name of a device (GET /devices lists them): its viewport, scale, touch screen, mobile layout and user agent. Fields of viewport and a userAgent of the request take precedence.
                 * @example iPhone 15
                 */
                device?: string;
                /** @description Value of the media feature prefers-color-scheme. */
                colorScheme?: "light" | "dark" | "no-preference";
                /** @description Media type of the style sheets that apply. Without it: screen for images, print for PDF. */
                media?: "screen" | "print";
                /** @description Value of the media feature prefers-reduced-motion: reduce if true. */
                reducedMotion?: boolean;
                /** @description Format of the file. none: no picture is taken, which saves time, and the file contains the parts of extract and extractFields as JSON. */
                format?: "png" | "jpeg" | "webp" | "pdf" | "none";
                /** @description Image quality of jpeg and webp. Ignored for other formats. */
                quality?: number;
                /** @description Capture the full scrollable page. Overrides the height of the viewport. A PDF then has a single page. With format none, the page is scrolled through before it is read. */
                isFullPage?: boolean;
                /** @description CSS selector. It also matches in open shadow roots, and frame >> element matches in frames of the origin of the page. Captures the first visible element that matches, whole, in place of the viewport. What covers it is hidden. The capture fails if there is none within 5 seconds after load. */
                selector?: string;
                /** @description CSS pixels of the page to show around the element of selector, as far as the page goes. */
                elementPadding?: number;
                /** @description CSS pixels from the top left corner of the page. */
                "clip.x"?: number;
                /** @description CSS pixels from the top left corner of the page. */
                "clip.y"?: number;
                /** @description CSS pixels. */
                "clip.width"?: number;
                /** @description CSS pixels. */
                "clip.height"?: number;
                /** @description Pixels of the file. */
                "resize.width"?: number;
                /** @description Pixels of the file. */
                "resize.height"?: number;
                /** @description cover: fill the box, cut off what is over. contain: fit into the box and fill it up with white, or nothing with omitBackground. fill: stretch. inside: fit into the box, which may be larger than the picture. */
                "resize.fit"?: "cover" | "contain" | "fill" | "inside";
                /** @description Make a picture larger that is smaller than the box. */
                "resize.enlarge"?: boolean;
                /** @description Transparent where the page paints nothing. With format png or webp only. */
                omitBackground?: boolean;
                /** @description Paper size. A4 if neither paper nor width and height are set. Ignored with isFullPage. */
                "pdf.paper"?: "A0" | "A1" | "A2" | "A3" | "A4" | "A5" | "A6" | "Letter" | "Legal" | "Tabloid" | "Ledger";
                /** @description Use landscape orientation. */
                "pdf.landscape"?: boolean;
                /** @description Page margins: a number in millimeters, a string with a unit (mm, cm, in, px), an object {top, right, bottom, left} of these, or "css" for the margins of the page's own @page rules. A side that is not set is 10 mm. */
                "pdf.margin"?: number | string | {
                    top?: number | string;
                    right?: number | string;
                    bottom?: number | string;
                    left?: number | string;
                };
                /** @description Print background colors and images. */
                "pdf.printBackground"?: boolean;
                /** @description Scale of the rendering. */
                "pdf.scale"?: number;
                /** @description Width of the paper, with height and in place of paper: a number in millimeters or a string with a unit (mm, cm, in, px), 10 to 5080 mm. */
                "pdf.width"?: number | string;
                /** @description Height of the paper, like width. */
                "pdf.height"?: number | string;
                /** @description Let the size of an @page rule of the page, where there is one, take precedence over the paper. The margins are those of pdf.margin. */
                "pdf.preferCssPageSize"?: boolean;
                /**
                 * @description Pages to print, in their order, such as "1-3, 5, 8-". Pages beyond the end of the document are left out; the capture fails if no page remains.
                 * @example 1-3, 5, 8-
                 */
                "pdf.pageRanges"?: string;
                /** @description HTML in the top margin of every page, up to 64 KiB. Elements of the classes date, title, url, pageNumber and totalPages are filled in. Scripts do not run, images must be data URLs, and fonts must be installed ones. */
                "pdf.headerTemplate"?: string;
                /** @description HTML in the bottom margin of every page, up to 64 KiB. Elements of the classes date, title, url, pageNumber and totalPages are filled in. Scripts do not run, images must be data URLs, and fonts must be installed ones. */
                "pdf.footerTemplate"?: string;
                /** @description Write tags for screen readers. The file is smaller without them. */
                "pdf.tagged"?: boolean;
                /** @description Write bookmarks made of the headings of the page. */
                "pdf.outline"?: boolean;
                /** @description Elements with position: fixed: on every page (repeat), or once (once), except for those that only the print styles fix. repeat for html, once for a url, if not set. */
                "pdf.fixed"?: "repeat" | "once";
                /** @description Title, in place of that of the page. */
                "pdf.metadata.title"?: string;
                /** @description Author. */
                "pdf.metadata.author"?: string;
                /** @description Subject. */
                "pdf.metadata.subject"?: string;
                /** @description Keywords, without commas and semicolons. */
                "pdf.metadata.keywords"?: string[];
                /** @description Language tag (BCP 47) such as "de-DE", in place of that of the page. */
                "pdf.metadata.language"?: string;
                /** @description Files that are attached to the document: up to 10, of up to 256 KiB together. */
                "pdf.attachments"?: {
                    /** @description File name, which no other attachment of the document has. */
                    name: string;
                    /** @description Data URL of the file, or its text, such as HTML or XML. */
                    content: string;
                    /**
                     * @description Media type. If it is not set: that of the data URL, or text/html for text.
                     * @example application/xml
                     */
                    mimeType?: string;
                    /** @description Description that viewers show. */
                    description?: string;
                    /**
                     * @description What the file is to the document (AFRelationship); Unspecified if not set. An invoice in XML is an Alternative, or Data.
                     * @enum {string}
                     */
                    relationship?: "Alternative" | "Data" | "Source" | "Supplement" | "Unspecified";
                }[];
                /** @description Event that ends the navigation. With load and networkidle, the capture then waits up to 2.5 seconds, or up to 5 seconds while content is added, for what the page's scripts are about to change in view. If load or networkidle does not occur in time, the page is captured nevertheless, and report.softTimeouts names the event. */
                waitUntil?: "load" | "domcontentloaded" | "networkidle" | "commit";
                /** @description Navigation timeout in milliseconds. Time in the queue does not count. */
                timeout?: number;
                /** @description Maximum time to wait for images, in milliseconds. The wait ends when all images have loaded. */
                imageTimeout?: number;
                /** @description Additional time to wait after the page has loaded, in milliseconds. */
                delay?: number;
                /** @description CSS selector. It also matches in open shadow roots, and frame >> element matches in frames of the origin of the page. Exactly one of selector and text is required. */
                "waitFor.selector"?: string;
                /** @description Text of the page, without that of frames. Case does not matter, and any white space is one space. */
                "waitFor.text"?: string;
                /** @description visible: an element that matches has a box and is not hidden. attached: one is in the document. hidden: none is visible. The same goes for text. */
                "waitFor.state"?: "visible" | "attached" | "hidden";
                /** @description Maximum time to wait, in milliseconds. 0 looks once. */
                "waitFor.timeout"?: number;
                /** @description Fail the capture if the wait times out. Otherwise report.softTimeouts contains waitFor. */
                "waitFor.required"?: boolean;
                /** @description Block advertising. */
                "block.ads"?: boolean;
                /** @description Block trackers. */
                "block.trackers"?: boolean;
                /** @description Block audio and video. */
                "block.media"?: boolean;
                /** @description Dismiss or hide cookie banners. */
                "block.cookieBanners"?: boolean;
                /** @description Block chat widgets. */
                "block.chats"?: boolean;
                /** @description Block or hide overlays that ask for an email address. */
                "block.newsletters"?: boolean;
                /** @description Elements that are not shown but keep their place, also those that are added later: up to 100 CSS selectors. */
                hide?: string[];
                /** @description Elements that are left out and take no place, also those that are added later: up to 100 CSS selectors. */
                remove?: string[];
                /** @description Elements to click after load and before waitFor, in order, up to 10 CSS selectors. The browser waits for each element for up to 5 seconds, and if the click opens a page, for the rest of timeout until that has loaded. The capture fails if one cannot be clicked. */
                click?: string[];
                /** @description Actions on the page after load and before waitFor, in order, up to 30. Each has one action. An element is awaited for up to 5 seconds, navigations within the site of url are followed, all of them for up to timeout. The capture fails, at no cost, if a step fails; the message has its number. Excludes click. */
                steps?: {
                    /** @description Absolute http or https URL of the next page, on the site of url. */
                    goto?: string;
                    /** @description CSS selector of the element to click. */
                    click?: string;
                    /** @description Enter a text into a field. */
                    type?: {
                        /** @description CSS selector of the field. */
                        selector: string;
                        /** @description Text that replaces the content of the field. It is secret. */
                        text: string;
                    };
                    /** @description Press a key. */
                    press?: {
                        /** @description CSS selector of the element to focus first. Without it: the element that has the focus. */
                        selector?: string;
                        /**
                         * @description Enter, Tab, Shift+Tab, Escape, Backspace, Delete, Space, ArrowUp, ArrowDown, ArrowLeft, ArrowRight, Home, End, PageUp, PageDown, or a character of ASCII.
                         * @example Enter
                         */
                        key: string;
                    };
                    /** @description Choose an option of a select element. */
                    select?: {
                        /** @description CSS selector of the select element. */
                        selector: string;
                        /** @description Value or label of the option to choose. It is secret. */
                        value: string;
                    };
                    /** @description CSS selector of the element to move the pointer to. */
                    hover?: string;
                    /** @description Scroll the page, or an element. */
                    scroll?: {
                        /** @description CSS selector of the element to scroll into view, or whose content by or to scrolls. */
                        selector?: string;
                        /** @description CSS pixels to scroll down; up if negative. */
                        by?: number;
                        /**
                         * @description End to scroll to. Excludes by.
                         * @enum {string}
                         */
                        to?: "top" | "bottom";
                    };
                    /** @description Wait for an element, for up to 10 seconds. */
                    waitFor?: string | {
                        /** @description CSS selector of the element. */
                        selector: string;
                        /**
                         * @description As in the option waitFor; visible if not set.
                         * @enum {string}
                         */
                        state?: "visible" | "attached" | "hidden";
                    };
                    /** @description Milliseconds to wait; up to 30 seconds in all steps. */
                    wait?: number;
                }[];
                /** @description false: scripts of the page and its frames do not run, and noscript is shown. */
                javaScript?: boolean;
                /**
                 * @description Time at which Date and performance are stopped, ISO 8601 with an offset. Timers run as usual.
                 * @example 2026-01-01T00:00:00Z
                 */
                "freeze.time"?: string;
                /** @description Seed of Math.random, whose numbers are then the same in each frame and capture. */
                "freeze.random"?: number;
                /** @description Region in which the page is rendered. auto prefers the home region of the operator and falls back to another region. */
                region?: "auto" | "us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast";
                /** @description Render with a browser that avoids bot detection. Costs one more token. */
                antiBot?: boolean;
                /**
                 * @description Language of the visitor, a BCP 47 language tag without extensions: decides Accept-Language, navigator.language and how Intl formats numbers and dates.
                 * @example de-DE
                 */
                locale?: string;
                /**
                 * @description Time zone of the visitor, a name of the IANA time zone database.
                 * @example Europe/Berlin
                 */
                timezone?: string;
                /** @description Degrees north. */
                "geolocation.latitude"?: number;
                /** @description Degrees east. */
                "geolocation.longitude"?: number;
                /** @description Metres. */
                "geolocation.accuracy"?: number;
                /**
                 * @description User agent of the header and of navigator.userAgent. navigator.platform and the client hints agree with it; one that names no Chrome has no client hints.
                 * @example Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36
                 */
                userAgent?: string;
                /** @description Capture the page and all that it loads although certificates are expired, self-signed or for another name. Only where the operator allows it, for the service and for the account. */
                ignoreTlsErrors?: boolean;
                /** @description Use the response cache. */
                "responseCache.enabled"?: boolean;
                /** @description Time to live of the cache entry in seconds. An earlier capture is returned only if it is not older than this. */
                "responseCache.ttl"?: number;
                /** @description Time for which the file is kept, in seconds. Ignored when persistence is enabled. */
                cdnTtl?: number;
                /** @description HTTP statuses of the page, such as 503, and classes of them, such as 4xx. */
                "failOn.status"?: (number | string)[];
                /** @description The image has a single color, or the pages of the PDF are empty. */
                "failOn.blank"?: boolean;
                /** @description The page shows a bot check. */
                "failOn.challenge"?: boolean;
                /** @description A script of the page writes an error to the console, or does not catch an exception. */
                "failOn.consoleErrors"?: boolean;
                /** @description Keep console messages, requests, steps and waits of the capture, for GET /captures/{uuid}/diagnostics. A failed capture always has them. */
                diagnostics?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    /** @description A strong validator of the bytes. */
                    etag?: string;
                    /** @description Time at which the file was stored. */
                    "last-modified"?: string;
                    /** @description Always "bytes". */
                    "accept-ranges"?: string;
                    /** @description Caching ends when the link expires, or the capture becomes older than responseCache.ttl. */
                    "cache-control"?: string;
                    /** @description "inline", with a file name. */
                    "content-disposition"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    /** @description UUID of the capture. */
                    "x-capture-uuid"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "image/png": string;
                    "image/jpeg": string;
                    "image/webp": string;
                    "application/pdf": string;
                };
            };
            /** @description The requested range of the file. */
            206: {
                headers: {
                    /** @description A strong validator of the bytes. */
                    etag?: string;
                    /** @description Time at which the file was stored. */
                    "last-modified"?: string;
                    /** @description Always "bytes". */
                    "accept-ranges"?: string;
                    /** @description Caching ends when the link expires, or the capture becomes older than responseCache.ttl. */
                    "cache-control"?: string;
                    /** @description "inline", with a file name. */
                    "content-disposition"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    /** @description UUID of the capture. */
                    "x-capture-uuid"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "image/png": string;
                    "image/jpeg": string;
                    "image/webp": string;
                    "application/pdf": string;
                };
            };
            /** @description The client already has the current file. */
            304: {
                headers: {
                    /** @description A strong validator of the bytes. */
                    etag?: string;
                    /** @description Time at which the file was stored. */
                    "last-modified"?: string;
                    /** @description Always "bytes". */
                    "accept-ranges"?: string;
                    /** @description Caching ends when the link expires, or the capture becomes older than responseCache.ttl. */
                    "cache-control"?: string;
                    /** @description "inline", with a file name. */
                    "content-disposition"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    /** @description UUID of the capture. */
                    "x-capture-uuid"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR, URL_BLOCKED, SESSION_NOT_FOUND. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                    "image/png": string;
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                    "image/png": string;
                };
            };
            /** @description The token quota of the calendar month is exhausted. Codes: QUOTA_EXCEEDED. */
            402: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                    "image/png": string;
                };
            };
            /** @description The range is outside of the file. */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED, QUEUE_FULL. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                    "image/png": string;
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: NAVIGATION_FAILED, CAPTURE_TIMEOUT, CAPTURE_FAILED, PAGE_TOO_LARGE, REGION_UNAVAILABLE, STORAGE_FAILED, INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. Only with REGION_UNAVAILABLE, if a retry can succeed. */
                    "retry-after"?: number;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                    "image/png": string;
                };
            };
        };
    };
    createCapture: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe. For 24 hours, a request with the same key and the same body returns the first response at no cost. While the first request is in progress, other requests with the same key wait for it. A request with the same key and another body is answered with 400. Errors that can be retried (402, 429, 5xx) are not kept. The key has 1 to 255 visible ASCII characters. */
                "idempotency-key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CaptureRequest"];
            };
        };
        responses: {
            /** @description Metadata of the completed capture, the file when responseType is "file", the queued capture when background is true, or events of the types progress, result and error. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    /** @description UUID of the capture. */
                    "x-capture-uuid"?: string;
                    /** @description Present when the response belongs to an earlier request with the same Idempotency-Key. */
                    "idempotent-replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["CaptureResult"] | components["schemas"]["PendingCapture"];
                    };
                    "image/png": string;
                    "image/jpeg": string;
                    "image/webp": string;
                    "application/pdf": string;
                    "text/event-stream": string;
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR, URL_BLOCKED, SESSION_NOT_FOUND. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The token quota of the calendar month is exhausted. Codes: QUOTA_EXCEEDED. */
            402: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED, QUEUE_FULL. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: NAVIGATION_FAILED, CAPTURE_TIMEOUT, CAPTURE_FAILED, PAGE_TOO_LARGE, REGION_UNAVAILABLE, STORAGE_FAILED, INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. Only with REGION_UNAVAILABLE, if a retry can succeed. */
                    "retry-after"?: number;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    "getCaptureLink-head": {
        parameters: {
            query: {
                /** @description ID of the API key whose signing secret has signed the link. */
                key: string;
                /** @description Unix time in seconds at which the link expires, at most 366 days ahead. */
                expires: number;
                /** @description Absolute http or https URL of the page to capture, without a user name or password (see auth). Exactly one of url and html is required. */
                url?: string;
                /** @description Size in CSS pixels. */
                "viewport.width"?: number;
                /** @description Size in CSS pixels. */
                "viewport.height"?: number;
                /** @description Device pixels per CSS pixel. */
                "viewport.deviceScaleFactor"?: number;
                /**
                 * @description Name of a device (GET /devices lists them): its viewport, scale, touch screen, mobile layout and user agent. Fields of viewport and a userAgent of the request take precedence.
                 * @example iPhone 15
                 */
                device?: string;
                /** @description Value of the media feature prefers-color-scheme. */
                colorScheme?: "light" | "dark" | "no-preference";
                /** @description Media type of the style sheets that apply. Without it: screen for images, print for PDF. */
                media?: "screen" | "print";
                /** @description Value of the media feature prefers-reduced-motion: reduce if true. */
                reducedMotion?: boolean;
                /** @description Format of the file. none: no picture is taken, which saves time, and the file contains the parts of extract and extractFields as JSON. */
                format?: "png" | "jpeg" | "webp" | "pdf" | "none";
                /** @description Image quality of jpeg and webp. Ignored for other formats. */
                quality?: number;
                /** @description Capture the full scrollable page. Overrides the height of the viewport. A PDF then has a single page. With format none, the page is scrolled through before it is read. */
                isFullPage?: boolean;
                /** @description CSS selector. It also matches in open shadow roots, and frame >> element matches in frames of the origin of the page. Captures the first visible element that matches, whole, in place of the viewport. What covers it is hidden. The capture fails if there is none within 5 seconds after load. */
                selector?: string;
                /** @description CSS pixels of the page to show around the element of selector, as far as the page goes. */
                elementPadding?: number;
                /** @description CSS pixels from the top left corner of the page. */
                "clip.x"?: number;
                /** @description CSS pixels from the top left corner of the page. */
                "clip.y"?: number;
                /** @description CSS pixels. */
                "clip.width"?: number;
                /** @description CSS pixels. */
                "clip.height"?: number;
                /** @description Pixels of the file. */
                "resize.width"?: number;
                /** @description Pixels of the file. */
                "resize.height"?: number;
                /** @description cover: fill the box, cut off what is over. contain: fit into the box and fill it up with white, or nothing with omitBackground. fill: stretch. inside: fit into the box, which may be larger than the picture. */
                "resize.fit"?: "cover" | "contain" | "fill" | "inside";
                /** @description Make a picture larger that is smaller than the box. */
                "resize.enlarge"?: boolean;
                /** @description Transparent where the page paints nothing. With format png or webp only. */
                omitBackground?: boolean;
                /** @description Paper size. A4 if neither paper nor width and height are set. Ignored with isFullPage. */
                "pdf.paper"?: "A0" | "A1" | "A2" | "A3" | "A4" | "A5" | "A6" | "Letter" | "Legal" | "Tabloid" | "Ledger";
                /** @description Use landscape orientation. */
                "pdf.landscape"?: boolean;
                /** @description Page margins: a number in millimeters, a string with a unit (mm, cm, in, px), an object {top, right, bottom, left} of these, or "css" for the margins of the page's own @page rules. A side that is not set is 10 mm. */
                "pdf.margin"?: number | string | {
                    top?: number | string;
                    right?: number | string;
                    bottom?: number | string;
                    left?: number | string;
                };
                /** @description Print background colors and images. */
                "pdf.printBackground"?: boolean;
                /** @description Scale of the rendering. */
                "pdf.scale"?: number;
                /** @description Width of the paper, with height and in place of paper: a number in millimeters or a string with a unit (mm, cm, in, px), 10 to 5080 mm. */
                "pdf.width"?: number | string;
                /** @description Height of the paper, like width. */
                "pdf.height"?: number | string;
                /** @description Let the size of an @page rule of the page, where there is one, take precedence over the paper. The margins are those of pdf.margin. */
                "pdf.preferCssPageSize"?: boolean;
                /**
                 * @description Pages to print, in their order, such as "1-3, 5, 8-". Pages beyond the end of the document are left out; the capture fails if no page remains.
                 * @example 1-3, 5, 8-
                 */
                "pdf.pageRanges"?: string;
                /** @description HTML in the top margin of every page, up to 64 KiB. Elements of the classes date, title, url, pageNumber and totalPages are filled in. Scripts do not run, images must be data URLs, and fonts must be installed ones. */
                "pdf.headerTemplate"?: string;
                /** @description HTML in the bottom margin of every page, up to 64 KiB. Elements of the classes date, title, url, pageNumber and totalPages are filled in. Scripts do not run, images must be data URLs, and fonts must be installed ones. */
                "pdf.footerTemplate"?: string;
                /** @description Write tags for screen readers. The file is smaller without them. */
                "pdf.tagged"?: boolean;
                /** @description Write bookmarks made of the headings of the page. */
                "pdf.outline"?: boolean;
                /** @description Elements with position: fixed: on every page (repeat), or once (once), except for those that only the print styles fix. repeat for html, once for a url, if not set. */
                "pdf.fixed"?: "repeat" | "once";
                /** @description Title, in place of that of the page. */
                "pdf.metadata.title"?: string;
                /** @description Author. */
                "pdf.metadata.author"?: string;
                /** @description Subject. */
                "pdf.metadata.subject"?: string;
                /** @description Keywords, without commas and semicolons. */
                "pdf.metadata.keywords"?: string[];
                /** @description Language tag (BCP 47) such as "de-DE", in place of that of the page. */
                "pdf.metadata.language"?: string;
                /** @description Files that are attached to the document: up to 10, of up to 256 KiB together. */
                "pdf.attachments"?: {
                    /** @description File name, which no other attachment of the document has. */
                    name: string;
                    /** @description Data URL of the file, or its text, such as HTML or XML. */
                    content: string;
                    /**
                     * @description Media type. If it is not set: that of the data URL, or text/html for text.
                     * @example application/xml
                     */
                    mimeType?: string;
                    /** @description Description that viewers show. */
                    description?: string;
                    /**
                     * @description What the file is to the document (AFRelationship); Unspecified if not set. An invoice in XML is an Alternative, or Data.
                     * @enum {string}
                     */
                    relationship?: "Alternative" | "Data" | "Source" | "Supplement" | "Unspecified";
                }[];
                /** @description Event that ends the navigation. With load and networkidle, the capture then waits up to 2.5 seconds, or up to 5 seconds while content is added, for what the page's scripts are about to change in view. If load or networkidle does not occur in time, the page is captured nevertheless, and report.softTimeouts names the event. */
                waitUntil?: "load" | "domcontentloaded" | "networkidle" | "commit";
                /** @description Navigation timeout in milliseconds. Time in the queue does not count. */
                timeout?: number;
                /** @description Maximum time to wait for images, in milliseconds. The wait ends when all images have loaded. */
                imageTimeout?: number;
                /** @description Additional time to wait after the page has loaded, in milliseconds. */
                delay?: number;
                /** @description CSS selector. It also matches in open shadow roots, and frame >> element matches in frames of the origin of the page. Exactly one of selector and text is required. */
                "waitFor.selector"?: string;
                /** @description Text of the page, without that of frames. Case does not matter, and any white space is one space. */
                "waitFor.text"?: string;
                /** @description visible: an element that matches has a box and is not hidden. attached: one is in the document. hidden: none is visible. The same goes for text. */
                "waitFor.state"?: "visible" | "attached" | "hidden";
                /** @description Maximum time to wait, in milliseconds. 0 looks once. */
                "waitFor.timeout"?: number;
                /** @description Fail the capture if the wait times out. Otherwise report.softTimeouts contains waitFor. */
                "waitFor.required"?: boolean;
                /** @description Block advertising. */
                "block.ads"?: boolean;
                /** @description Block trackers. */
                "block.trackers"?: boolean;
                /** @description Block audio and video. */
                "block.media"?: boolean;
                /** @description Dismiss or hide cookie banners. */
                "block.cookieBanners"?: boolean;
                /** @description Block chat widgets. */
                "block.chats"?: boolean;
                /** @description Block or hide overlays that ask for an email address. */
                "block.newsletters"?: boolean;
                /** @description Elements that are not shown but keep their place, also those that are added later: up to 100 CSS selectors. */
                hide?: string[];
                /** @description Elements that are left out and take no place, also those that are added later: up to 100 CSS selectors. */
                remove?: string[];
                /** @description Elements to click after load and before waitFor, in order, up to 10 CSS selectors. The browser waits for each element for up to 5 seconds, and if the click opens a page, for the rest of timeout until that has loaded. The capture fails if one cannot be clicked. */
                click?: string[];
                /** @description Actions on the page after load and before waitFor, in order, up to 30. Each has one action. An element is awaited for up to 5 seconds, navigations within the site of url are followed, all of them for up to timeout. The capture fails, at no cost, if a step fails; the message has its number. Excludes click. */
                steps?: {
                    /** @description Absolute http or https URL of the next page, on the site of url. */
                    goto?: string;
                    /** @description CSS selector of the element to click. */
                    click?: string;
                    /** @description Enter a text into a field. */
                    type?: {
                        /** @description CSS selector of the field. */
                        selector: string;
                        /** @description Text that replaces the content of the field. It is secret. */
                        text: string;
                    };
                    /** @description Press a key. */
                    press?: {
                        /** @description CSS selector of the element to focus first. Without it: the element that has the focus. */
                        selector?: string;
                        /**
                         * @description Enter, Tab, Shift+Tab, Escape, Backspace, Delete, Space, ArrowUp, ArrowDown, ArrowLeft, ArrowRight, Home, End, PageUp, PageDown, or a character of ASCII.
                         * @example Enter
                         */
                        key: string;
                    };
                    /** @description Choose an option of a select element. */
                    select?: {
                        /** @description CSS selector of the select element. */
                        selector: string;
                        /** @description Value or label of the option to choose. It is secret. */
                        value: string;
                    };
                    /** @description CSS selector of the element to move the pointer to. */
                    hover?: string;
                    /** @description Scroll the page, or an element. */
                    scroll?: {
                        /** @description CSS selector of the element to scroll into view, or whose content by or to scrolls. */
                        selector?: string;
                        /** @description CSS pixels to scroll down; up if negative. */
                        by?: number;
                        /**
                         * @description End to scroll to. Excludes by.
                         * @enum {string}
                         */
                        to?: "top" | "bottom";
                    };
                    /** @description Wait for an element, for up to 10 seconds. */
                    waitFor?: string | {
                        /** @description CSS selector of the element. */
                        selector: string;
                        /**
                         * @description As in the option waitFor; visible if not set.
                         * @enum {string}
                         */
                        state?: "visible" | "attached" | "hidden";
                    };
                    /** @description Milliseconds to wait; up to 30 seconds in all steps. */
                    wait?: number;
                }[];
                /** @description false: scripts of the page and its frames do not run, and noscript is shown. */
                javaScript?: boolean;
                /**
                 * @description Time at which Date and performance are stopped, ISO 8601 with an offset. Timers run as usual.
                 * @example 2026-01-01T00:00:00Z
                 */
                "freeze.time"?: string;
                /** @description Seed of Math.random, whose numbers are then the same in each frame and capture. */
                "freeze.random"?: number;
                /** @description Region in which the page is rendered. auto prefers the home region of the operator and falls back to another region. */
                region?: "auto" | "us-east" | "us-west" | "eu-west" | "eu-central" | "asia-east" | "asia-southeast";
                /** @description Render with a browser that avoids bot detection. Costs one more token. */
                antiBot?: boolean;
                /**
                 * @description Language of the visitor, a BCP 47 language tag without extensions: decides Accept-Language, navigator.language and how Intl formats numbers and dates.
                 * @example de-DE
                 */
                locale?: string;
                /**
                 * @description Time zone of the visitor, a name of the IANA time zone database.
                 * @example Europe/Berlin
                 */
                timezone?: string;
                /** @description Degrees north. */
                "geolocation.latitude"?: number;
                /** @description Degrees east. */
                "geolocation.longitude"?: number;
                /** @description Metres. */
                "geolocation.accuracy"?: number;
                /**
                 * @description User agent of the header and of navigator.userAgent. navigator.platform and the client hints agree with it; one that names no Chrome has no client hints.
                 * @example Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36
                 */
                userAgent?: string;
                /** @description Capture the page and all that it loads although certificates are expired, self-signed or for another name. Only where the operator allows it, for the service and for the account. */
                ignoreTlsErrors?: boolean;
                /** @description Use the response cache. */
                "responseCache.enabled"?: boolean;
                /** @description Time to live of the cache entry in seconds. An earlier capture is returned only if it is not older than this. */
                "responseCache.ttl"?: number;
                /** @description Time for which the file is kept, in seconds. Ignored when persistence is enabled. */
                cdnTtl?: number;
                /** @description HTTP statuses of the page, such as 503, and classes of them, such as 4xx. */
                "failOn.status"?: (number | string)[];
                /** @description The image has a single color, or the pages of the PDF are empty. */
                "failOn.blank"?: boolean;
                /** @description The page shows a bot check. */
                "failOn.challenge"?: boolean;
                /** @description A script of the page writes an error to the console, or does not catch an exception. */
                "failOn.consoleErrors"?: boolean;
                /** @description Keep console messages, requests, steps and waits of the capture, for GET /captures/{uuid}/diagnostics. A failed capture always has them. */
                diagnostics?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    /** @description A strong validator of the bytes. */
                    etag?: string;
                    /** @description Time at which the file was stored. */
                    "last-modified"?: string;
                    /** @description Always "bytes". */
                    "accept-ranges"?: string;
                    /** @description Caching ends when the link expires, or the capture becomes older than responseCache.ttl. */
                    "cache-control"?: string;
                    /** @description "inline", with a file name. */
                    "content-disposition"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    /** @description UUID of the capture. */
                    "x-capture-uuid"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The client already has the current file. */
            304: {
                headers: {
                    /** @description A strong validator of the bytes. */
                    etag?: string;
                    /** @description Time at which the file was stored. */
                    "last-modified"?: string;
                    /** @description Always "bytes". */
                    "accept-ranges"?: string;
                    /** @description Caching ends when the link expires, or the capture becomes older than responseCache.ttl. */
                    "cache-control"?: string;
                    /** @description "inline", with a file name. */
                    "content-disposition"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    /** @description UUID of the capture. */
                    "x-capture-uuid"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR, URL_BLOCKED, SESSION_NOT_FOUND. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The token quota of the calendar month is exhausted. Codes: QUOTA_EXCEEDED. */
            402: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED, QUEUE_FULL. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The capture failed, or an internal error occurred. Codes: NAVIGATION_FAILED, CAPTURE_TIMEOUT, CAPTURE_FAILED, PAGE_TOO_LARGE, REGION_UNAVAILABLE, STORAGE_FAILED, INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. Only with REGION_UNAVAILABLE, if a retry can succeed. */
                    "retry-after"?: number;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    createBatch: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe. For 24 hours, a request with the same key and the same body returns the first response at no cost. While the first request is in progress, other requests with the same key wait for it. A request with the same key and another body is answered with 400. Errors that can be retried (402, 429, 5xx) are not kept. The key has 1 to 255 visible ASCII characters. */
                "idempotency-key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchRequest"];
            };
        };
        responses: {
            /** @description The batch. Captures that could not be queued have failed. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    /** @description Present when the response belongs to an earlier request with the same Idempotency-Key. */
                    "idempotent-replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["Batch"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR, URL_BLOCKED, SESSION_NOT_FOUND. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The token quota of the calendar month is exhausted. Codes: QUOTA_EXCEEDED. */
            402: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED, QUEUE_FULL. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: REGION_UNAVAILABLE, STORAGE_FAILED, INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. Only with REGION_UNAVAILABLE, if a retry can succeed. */
                    "retry-after"?: number;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    listSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sessions of the account. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["SessionList"];
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    createSession: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe. For 24 hours, a request with the same key and the same body returns the first response at no cost. While the first request is in progress, other requests with the same key wait for it. A request with the same key and another body is answered with 400. Errors that can be retried (402, 429, 5xx) are not kept. The key has 1 to 255 visible ASCII characters. */
                "idempotency-key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description Options of the capture that logs in: those of POST /capture, except html, responseType, responseCache, persistence, background and webhook. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateSession"];
            };
        };
        responses: {
            /** @description The session. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    /** @description UUID of the capture that logged in. */
                    "x-capture-uuid"?: string;
                    /** @description Present when the response belongs to an earlier request with the same Idempotency-Key. */
                    "idempotent-replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["Session"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR, URL_BLOCKED, SESSION_NOT_FOUND. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The token quota of the calendar month is exhausted. Codes: QUOTA_EXCEEDED. */
            402: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The state of the resource does not allow this operation. Codes: CONFLICT. */
            409: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED, QUEUE_FULL. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: NAVIGATION_FAILED, CAPTURE_TIMEOUT, CAPTURE_FAILED, PAGE_TOO_LARGE, REGION_UNAVAILABLE, STORAGE_FAILED, INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. Only with REGION_UNAVAILABLE, if a retry can succeed. */
                    "retry-after"?: number;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    mergePdf: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MergeRequest"];
            };
        };
        responses: {
            /** @description The merged PDF. */
            200: {
                headers: {
                    /** @description Number of pages. */
                    "x-page-count"?: number;
                    /** @description UUIDs of the captures in the order of the documents, separated by commas. */
                    "x-capture-uuids"?: string;
                    /** @description "inline", with a file name. */
                    "content-disposition"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/pdf": string;
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR, URL_BLOCKED, SESSION_NOT_FOUND. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The token quota of the calendar month is exhausted. Codes: QUOTA_EXCEEDED. */
            402: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: CAPTURE_NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED, QUEUE_FULL. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: NAVIGATION_FAILED, CAPTURE_TIMEOUT, CAPTURE_FAILED, PAGE_TOO_LARGE, REGION_UNAVAILABLE, STORAGE_FAILED, INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. Only with REGION_UNAVAILABLE, if a retry can succeed. */
                    "retry-after"?: number;
                    /** @description Requests allowed per minute. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests that are allowed right now. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the full burst is available again. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    mcp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description One JSON-RPC message of the Model Context Protocol. */
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    jsonrpc: "2.0";
                    id?: string | number;
                    /** @description initialize, tools/list or tools/call, among others. */
                    method: string;
                    params?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description The response to the message. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {unknown} */
                        jsonrpc: "2.0";
                        id?: unknown;
                        result?: Record<string, never>;
                        error?: Record<string, never>;
                    };
                };
            };
            /** @description The message was a notification. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. Or a JSON-RPC error: the body is not a valid MCP message. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] | {
                        /** @enum {unknown} */
                        jsonrpc: "2.0";
                        id?: unknown;
                        result?: Record<string, never>;
                        error?: Record<string, never>;
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The protocol has no such method. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {unknown} */
                        jsonrpc: "2.0";
                        id?: unknown;
                        result?: Record<string, never>;
                        error?: Record<string, never>;
                    };
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED, QUEUE_FULL. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    listCaptures: {
        parameters: {
            query?: {
                /** @description Maximum number of items to return. */
                limit?: number;
                /**
                 * @description The nextCursor of the previous page. Omit it for the first page.
                 * @example 0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77
                 */
                cursor?: string;
                /** @description Return only captures with this status. */
                status?: "queued" | "rendering" | "completed" | "failed" | "expired" | "deleted";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["CaptureList"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getCapture: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description UUID of the capture. */
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The current state of the capture. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["Capture"];
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: CAPTURE_NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    deleteCapture: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description UUID of the capture. */
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The current state of the capture. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["Capture"];
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: CAPTURE_NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The state of the resource does not allow this operation. Codes: CONFLICT. */
            409: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getCaptureHistory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description UUID of the capture. */
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The history of the capture. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["CaptureHistory"];
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: CAPTURE_NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    refreshCapture: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description UUID of the capture. */
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The current state of the capture. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["Capture"];
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The token quota of the calendar month is exhausted. Codes: QUOTA_EXCEEDED. */
            402: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: CAPTURE_NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The state of the resource does not allow this operation. Codes: CONFLICT. */
            409: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED, QUEUE_FULL. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR, REGION_UNAVAILABLE. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. Only with REGION_UNAVAILABLE, if a retry can succeed. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the session. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["Session"];
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    deleteSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the session. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deleted session. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["Session"];
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getBatch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the batch. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The current state of the batch. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["Batch"];
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    streamBatchEvents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the batch. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events of the types batch, capture and error. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getBatchZip: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the batch. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The archive. */
            200: {
                headers: {
                    /** @description "attachment", with a file name. */
                    "content-disposition"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": string;
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED, QUEUE_FULL. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getDiagnostics: {
        parameters: {
            query?: {
                /** @description har: the requests as an HTTP Archive (HAR 1.2). */
                format?: "json" | "har";
            };
            header?: never;
            path: {
                /** @description UUID of the capture. */
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The diagnostics. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["Diagnostics"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: CAPTURE_NOT_FOUND, NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR, STORAGE_FAILED. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getLastPicture: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description UUID of the capture. */
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The picture. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "image/jpeg": string;
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: CAPTURE_NOT_FOUND, NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR, STORAGE_FAILED. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getFile: {
        parameters: {
            query?: never;
            header?: {
                /** @description One range of bytes, such as bytes=0-1023. */
                range?: string;
                /** @description ETag or Last-Modified date for which the range is requested. */
                "if-range"?: string;
                /** @description ETags of the copies that the client has. */
                "if-none-match"?: string;
                /** @description Last-Modified date of the copy that the client has. */
                "if-modified-since"?: string;
            };
            path: {
                /** @description Last path segment of a fileUrl. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    /** @description A strong validator of the bytes. */
                    etag?: string;
                    /** @description Time at which the file was stored. */
                    "last-modified"?: string;
                    /** @description Always "bytes". */
                    "accept-ranges"?: string;
                    /** @description Caching ends when the file expires, or earlier for a file that may be refreshed. */
                    "cache-control"?: string;
                    /** @description "inline", with a file name. */
                    "content-disposition"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "image/png": string;
                    "image/jpeg": string;
                    "image/webp": string;
                    "application/pdf": string;
                    "application/json": components["schemas"]["Extracted"];
                };
            };
            /** @description The requested range of the file. */
            206: {
                headers: {
                    /** @description A strong validator of the bytes. */
                    etag?: string;
                    /** @description Time at which the file was stored. */
                    "last-modified"?: string;
                    /** @description Always "bytes". */
                    "accept-ranges"?: string;
                    /** @description Caching ends when the file expires, or earlier for a file that may be refreshed. */
                    "cache-control"?: string;
                    /** @description "inline", with a file name. */
                    "content-disposition"?: string;
                    /** @description Range of the returned bytes, and size of the file. */
                    "content-range"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "image/png": string;
                    "image/jpeg": string;
                    "image/webp": string;
                    "application/pdf": string;
                    "application/json": components["schemas"]["Extracted"];
                };
            };
            /** @description The client already has the current file. */
            304: {
                headers: {
                    /** @description A strong validator of the bytes. */
                    etag?: string;
                    /** @description Time at which the file was stored. */
                    "last-modified"?: string;
                    /** @description Always "bytes". */
                    "accept-ranges"?: string;
                    /** @description Caching ends when the file expires, or earlier for a file that may be refreshed. */
                    "cache-control"?: string;
                    /** @description "inline", with a file name. */
                    "content-disposition"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The range is outside of the file. */
            416: {
                headers: {
                    /** @description Size of the file. */
                    "content-range"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The capture failed, or an internal error occurred. Codes: STORAGE_FAILED, INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    "getFile-head": {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags of the copies that the client has. */
                "if-none-match"?: string;
                /** @description Last-Modified date of the copy that the client has. */
                "if-modified-since"?: string;
            };
            path: {
                /** @description Last path segment of a fileUrl. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    /** @description A strong validator of the bytes. */
                    etag?: string;
                    /** @description Time at which the file was stored. */
                    "last-modified"?: string;
                    /** @description Always "bytes". */
                    "accept-ranges"?: string;
                    /** @description Caching ends when the file expires, or earlier for a file that may be refreshed. */
                    "cache-control"?: string;
                    /** @description "inline", with a file name. */
                    "content-disposition"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The client already has the current file. */
            304: {
                headers: {
                    /** @description A strong validator of the bytes. */
                    etag?: string;
                    /** @description Time at which the file was stored. */
                    "last-modified"?: string;
                    /** @description Always "bytes". */
                    "accept-ranges"?: string;
                    /** @description Caching ends when the file expires, or earlier for a file that may be refreshed. */
                    "cache-control"?: string;
                    /** @description "inline", with a file name. */
                    "content-disposition"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The file does not exist or has expired. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The file could not be read. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listKeys: {
        parameters: {
            query?: {
                /** @description Maximum number of items to return. */
                limit?: number;
                /**
                 * @description The nextCursor of the previous page. Omit it for the first page.
                 * @example 0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77
                 */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["ApiKeyList"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    createKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateKey"];
            };
        };
        responses: {
            /** @description The new key. The key is shown only once. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["NewApiKey"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    rotateKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateKey"];
            };
        };
        responses: {
            /** @description The new key. The key is shown only once. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["NewApiKey"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The state of the resource does not allow this operation. Codes: CONFLICT. */
            409: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    revokeKey: {
        parameters: {
            query?: {
                /** @description Whether to revoke also the keys that were created with this key, and with those, and so on. */
                cascade?: "true" | "false";
            };
            header?: never;
            path: {
                /** @description ID of the key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The revoked key. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["RevokedApiKey"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    rotateSigningSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateSigningSecret"];
            };
        };
        responses: {
            /** @description The new signing secret. It is shown only once. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["SigningSecret"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The state of the resource does not allow this operation. Codes: CONFLICT. */
            409: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook secret. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["WebhookSecret"];
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateWebhookSecret"];
            };
        };
        responses: {
            /** @description The new webhook secret. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["WebhookSecret"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                /** @description Maximum number of delivery attempts to return. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The attempts, newest first. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["DeliveryList"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    testWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TestEventRequest"];
            };
        };
        responses: {
            /** @description The event is being sent. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["SentTestEvent"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR, URL_BLOCKED. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    redeliverWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description UUID of the capture. */
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery has begun. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["CaptureWebhook"];
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: CAPTURE_NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The state of the resource does not allow this operation. Codes: CONFLICT. */
            409: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getUsage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Usage of the current calendar month (UTC). */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["Usage"];
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getUsageHistory: {
        parameters: {
            query?: {
                /** @description Number of days (UTC), up to and including today. */
                days?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The history. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["UsageHistory"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    streamEvents: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events of the types capture and error. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    listAccounts: {
        parameters: {
            query?: {
                /** @description Maximum number of items to return. */
                limit?: number;
                /**
                 * @description The nextCursor of the previous page. Omit it for the first page.
                 * @example 0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77
                 */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["AccountList"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    createAccount: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateAccount"];
            };
        };
        responses: {
            /** @description The account. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["Account"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    changeAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the account. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeAccount"];
            };
        };
        responses: {
            /** @description The updated account. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["Account"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    createAccountKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateAccountKey"];
            };
        };
        responses: {
            /** @description The new key. The key is shown only once. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["NewApiKey"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    revokeAccountKey: {
        parameters: {
            query?: {
                /** @description Whether to revoke also the keys that were created with this key, and with those, and so on. */
                cascade?: "true" | "false";
            };
            header?: never;
            path: {
                /** @description ID of the key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The revoked key. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["RevokedApiKey"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getOverview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The fleet as this front sees it. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["Overview"];
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    streamOverview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events of the type overview. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    listNotableCaptures: {
        parameters: {
            query?: {
                /** @description slowest: completed captures by their duration. failed: failed captures, newest first. */
                sort?: "slowest" | "failed";
                /** @description Maximum number of captures to return. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The captures. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["AdminCaptureList"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    listDeadLetters: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The last 100 dead letters, newest first. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["DeadLetterList"];
                    };
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getUsageByAccount: {
        parameters: {
            query?: {
                /** @description Number of days (UTC), up to and including today. */
                days?: number;
                /** @description Maximum number of accounts to return. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The usage. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: components["schemas"]["AdminUsage"];
                    };
                };
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getStatus: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The service is operational. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceStatus"];
                };
            };
            /** @description The service is degraded or has an outage. */
            503: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceStatus"];
                };
            };
        };
    };
    getEngineStatus: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The engine is operational. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ComponentStatus"];
                };
            };
            /** @description The engine is degraded or has an outage. */
            503: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ComponentStatus"];
                };
            };
        };
    };
    getStatusHistory: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETag of the copy that the client has. */
                "if-none-match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The history. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatusHistory"];
                };
            };
            /** @description The client already has the current version. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getStatusFeed: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETag of the copy that the client has. */
                "if-none-match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An Atom feed (RFC 4287). */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/atom+xml": string;
                };
            };
            /** @description The client already has the current version. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listDevices: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The devices. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        error: null;
                        data: {
                            devices: components["schemas"]["Device"][];
                        };
                    };
                };
            };
        };
    };
    getThumbnail: {
        parameters: {
            query?: {
                /** @description Greatest width, in pixels. It is rounded up to one of 160, 320, 640, 1280, 1568. */
                width?: number;
            };
            header?: never;
            path: {
                /** @description UUID of the capture. */
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The thumbnail. */
            200: {
                headers: {
                    /** @description A weak validator of the thumbnail. */
                    etag?: string;
                    /** @description Private. Caching ends when the file expires, and earlier for a file that may be refreshed. */
                    "cache-control"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "image/webp": string;
                };
            };
            /** @description The client already has the current thumbnail. */
            304: {
                headers: {
                    /** @description A weak validator of the thumbnail. */
                    etag?: string;
                    /** @description Private. Caching ends when the file expires, and earlier for a file that may be refreshed. */
                    "cache-control"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid, or the egress policy refuses the URL. Codes: VALIDATION_ERROR. */
            400: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key or admin token is missing, unknown, expired or revoked, or the account is suspended. Codes: UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED. */
            401: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Authentication scheme, always Bearer. */
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The API key lacks the required scope, the account is suspended, or it may not use an option of the capture. Codes: FORBIDDEN. */
            403: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The resource was not found. Codes: CAPTURE_NOT_FOUND, NOT_FOUND. */
            404: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Too many requests or captures. Retry after the time in the Retry-After header. Codes: RATE_LIMIT_EXCEEDED, QUEUE_FULL. */
            429: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait before the request is retried. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The capture failed, or an internal error occurred. Codes: INTERNAL_ERROR, STORAGE_FAILED. */
            500: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    getOpenapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The OpenAPI 3.1 document of the API. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    getHealthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The front answers. */
            200: {
                headers: {
                    /** @description ID of the request. Operators can find the request in the logs by this ID. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ok";
                    };
                };
            };
        };
    };
    getLlmsTxt: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Markdown, as llmstxt.org describes it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    captureNotice: {
        parameters: {
            query?: never;
            header: {
                /** @description ID of the event, the same in all delivery attempts. */
                "webhook-id": string;
                /** @description Time of this delivery attempt in Unix seconds. Reject requests that are older than five minutes. */
                "webhook-timestamp": string;
                /** @description "v1," followed by the base64-encoded HMAC-SHA256 of "id.timestamp.body". Contains several signatures, separated by spaces, while a rotated secret is still valid. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    type: "capture.completed" | "capture.failed" | "capture.refreshed" | "capture.changed";
                    /**
                     * Format: date-time
                     * @description Time of the event.
                     */
                    timestamp: string;
                    data: components["schemas"]["Capture"];
                };
            };
        };
        responses: {
            /** @description The receiver wants no further attempts for this event. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The event was received. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    batchNotice: {
        parameters: {
            query?: never;
            header: {
                /** @description ID of the event, the same in all delivery attempts. */
                "webhook-id": string;
                /** @description Time of this delivery attempt in Unix seconds. Reject requests that are older than five minutes. */
                "webhook-timestamp": string;
                /** @description "v1," followed by the base64-encoded HMAC-SHA256 of "id.timestamp.body". Contains several signatures, separated by spaces, while a rotated secret is still valid. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "batch.completed";
                    /**
                     * Format: date-time
                     * @description Time of the event.
                     */
                    timestamp: string;
                    data: {
                        /**
                         * Format: uuid
                         * @description Identifier of the batch (UUIDv7).
                         */
                        id: string;
                        /**
                         * @description accepting: the request is being processed. processing: some captures have not ended. completed: all captures have ended, some of them perhaps as failed.
                         * @enum {string}
                         */
                        status: "accepting" | "processing" | "completed";
                        /**
                         * Format: date-time
                         * @description Time of the request.
                         */
                        createdAt: string;
                        /** @description Time at which the last capture ended; null before. */
                        endedAt: string | null;
                        counts: components["schemas"]["BatchCounts"];
                        /** @description Tokens charged for the captures of the batch that have completed so far. */
                        tokensCharged: number;
                        webhook?: components["schemas"]["CaptureWebhook"];
                    };
                };
            };
        };
        responses: {
            /** @description The receiver wants no further attempts for this event. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The event was received. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    testNotice: {
        parameters: {
            query?: never;
            header: {
                /** @description ID of the event, the same in all delivery attempts. */
                "webhook-id": string;
                /** @description Time of this delivery attempt in Unix seconds. Reject requests that are older than five minutes. */
                "webhook-timestamp": string;
                /** @description "v1," followed by the base64-encoded HMAC-SHA256 of "id.timestamp.body". Contains several signatures, separated by spaces, while a rotated secret is still valid. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "webhook.test";
                    /**
                     * Format: date-time
                     * @description Time of the request for the test.
                     */
                    timestamp: string;
                    data: {
                        /** @description Address that the event was sent to. */
                        url: string;
                    };
                };
            };
        };
        responses: {
            /** @description The event was received. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
