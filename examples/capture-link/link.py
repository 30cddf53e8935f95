# Prints a signed capture link that works for a week:
# SECRET=wcs_... python3 link.py http://127.0.0.1:3000 <key id> url=https://example.com viewport.width=800
import hashlib
import hmac
import os
import sys
import time
from urllib.parse import quote


def capture_link(base, key, secret, options):
    pairs = [("key", key), *options]
    if not any(name == "expires" for name, _ in options):
        pairs.append(("expires", str(int(time.time()) + 7 * 86_400)))
    # RFC 3986: everything but letters, digits and -._~ is percent-encoded.
    encoded = sorted((quote(name, safe=""), quote(value, safe="")) for name, value in pairs)
    query = "&".join(f"{name}={value}" for name, value in encoded)
    signature = hmac.new(secret.encode(), f"GET /capture?{query}".encode(), hashlib.sha256).hexdigest()
    return f"{base}/capture?{query}&signature={signature}"


if len(sys.argv) < 4 or not os.environ.get("SECRET"):
    sys.exit("Usage: SECRET=<signing secret> python3 link.py <address of the service> <key id> url=<page> [<option>=<value> ...]")
base, key, *texts = sys.argv[1:]
options = [tuple(text.split("=", 1)) for text in texts]
print(capture_link(base, key, os.environ["SECRET"], options))
