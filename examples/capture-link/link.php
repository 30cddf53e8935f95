<?php
// Prints a signed capture link that works for a week:
// SECRET=wcs_... php link.php http://127.0.0.1:3000 <key id> url=https://example.com viewport.width=800

function capture_link(string $base, string $key, string $secret, array $options): string
{
    $pairs = [['key', $key], ...$options];
    if (!in_array('expires', array_column($options, 0), true)) {
        $pairs[] = ['expires', (string) (time() + 7 * 86400)];
    }
    // RFC 3986: everything but letters, digits and -._~ is percent-encoded.
    $encoded = array_map(fn ($pair) => array_map('rawurlencode', $pair), $pairs);
    usort($encoded, fn ($a, $b) => strcmp($a[0], $b[0]) ?: strcmp($a[1], $b[1]));
    $query = implode('&', array_map(fn ($pair) => implode('=', $pair), $encoded));
    $signature = hash_hmac('sha256', "GET /capture?$query", $secret);
    return "$base/capture?$query&signature=$signature";
}

if ($argc < 4 || !getenv('SECRET')) {
    fwrite(STDERR, "Usage: SECRET=<signing secret> php link.php <address of the service> <key id> url=<page> [<option>=<value> ...]\n");
    exit(2);
}
[, $base, $key] = $argv;
$options = array_map(fn ($text) => explode('=', $text, 2), array_slice($argv, 3));
echo capture_link($base, $key, getenv('SECRET'), $options), "\n";
