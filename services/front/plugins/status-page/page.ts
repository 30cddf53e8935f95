import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { StatusHistory } from '@webcapture/shared/api/status-history.ts';
import type { OverallStatus } from '@webcapture/shared/api/status.ts';
import * as render from './render.ts';
import * as script from './script.ts';

const style = readFileSync(new URL('style.css', import.meta.url), 'utf8');

/** The script of the page: the source text of the functions, from which Node.js has stripped the types, and the constants as JSON. */
export const pageScript = `${[render, script].map(sourceOf).join('\n')}
startPage();
`;

function sourceOf(module: object): string {
  return Object.entries(module)
    .map(([name, value]) => `const ${name} = ${typeof value === 'function' ? String(value) : JSON.stringify(value)};`)
    .join('\n');
}

const hash = (text: string) => createHash('sha256').update(text).digest('base64');

/**
 * Returns the content security policy. The page may load only its script and JSON, and no inline script. The page contains the policy as
 * well, for copies on other hosts; `frame-ancestors` works only as a header.
 */
export function pagePolicy(publicUrl: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'sha256-${hash(style)}'`,
    'img-src data:',
    `connect-src 'self' ${new URL(publicUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%231f6feb'/%3E%3Cpath d='M9 12V9h3m8 0h3v3m0 8v3h-3m-8 0H9v-3' fill='none' stroke='white' stroke-width='2.5' stroke-linecap='round' stroke-linejoin='round'/%3E%3Ccircle cx='16' cy='16' r='3.5' fill='white'/%3E%3C/svg%3E";

const scriptName = `page.js?v=${createHash('sha256').update(pageScript).digest('hex').slice(0, 12)}`;

/**
 * Renders the current page; its script keeps it up to date. All addresses are relative, so that it works under any
 * path.
 */
export function renderPage(status: OverallStatus, history: StatusHistory, publicUrl: string): string {
  const model = { status, history, isSilent: false };
  const escape = render.escapeHtml;
  const at = render.answeredAt(status);
  return `<!doctype html>
<html lang="en" data-api="${escape(publicUrl)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escape(pagePolicy(publicUrl))}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="webcapture-status" content="${escape(JSON.stringify(status))}">
<title>${escape(render.summaryOf(model).title)} – webcapture status</title>
<link rel="icon" href="${icon}">
<link rel="alternate" type="application/atom+xml" title="Incidents" href="status/feed.xml">
<style>${style}</style>
<script type="module" src="status/${scriptName}"></script>
</head>
<body>
<header><p class="brand"><img alt="" src="${icon}" width="28" height="28"><span>webcapture</span> status</p><a href="status/feed.xml" data-path="status/feed.xml">Feed of incidents</a></header>
<main>
<div id="banner" role="status">${render.renderBanner(model)}</div>
<p id="checked">${render.renderChecked(model)}</p>
<noscript><p class="no-script">Without JavaScript this page is not updated: it shows the state of ${escape(at.slice(0, 19).replace('T', ' '))} UTC. Load it again to see the current state.</p></noscript>
<div id="ongoing">${render.renderOngoing(model)}</div>
<div id="components">${render.renderComponents(model)}</div>
<p class="legend" aria-hidden="true"><span class="operational">Operational</span><span class="degraded_performance">Degraded</span><span class="partial_outage">Partial outage</span><span class="major_outage">Major outage</span><span class="unknown">No data</span></p>
<section><h2>Past incidents</h2><div id="past">${render.renderPast(history)}</div></section>
</main>
<footer><p>All times and days are in UTC. Uptime is the share of the observed time without an outage. No data: the component was not observed.</p><p><a href="status" data-path="status">Status as JSON</a> <a href="status/history.json" data-path="status/history.json">History as JSON</a> <a href="status/feed.xml" data-path="status/feed.xml">Atom feed</a> <a href="docs" data-path="docs">API reference</a></p></footer>
</body>
</html>
`;
}
