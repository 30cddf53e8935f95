import type { Incident, StatusHistory } from '@webcapture/shared/api/status-history.ts';
import { componentLabel, escapeHtml, stateLabel } from './render.ts';

/** Maximum number of incidents. Fewer occur between two visits of a feed reader. */
const maxEntries = 50;

/**
 * Returns the incidents as an Atom feed (RFC 4287), newest first. The ids contain the host of the service and the incident, so that a feed
 * reader recognizes an updated incident. Incidents of the engine are omitted, because they repeat those of its regions.
 */
export function atomFeed(history: StatusHistory, publicUrl: string): string {
  const base = publicUrl.replace(/\/+$/, '');
  const incidents = history.incidents.filter(({ component }) => component !== 'engine').slice(0, maxEntries);
  const start = `${history.components[0]?.days[0]?.date ?? '1970-01-01'}T00:00:00.000Z`;
  const updated = incidents.map(updatedAt).toSorted().at(-1) ?? start;
  const id = (path: string) => escapeXml(`tag:${new URL(base).hostname},2025:${path}`);
  const entries = incidents.map(
    (incident) => `  <entry>
    <id>${id(`status/${incident.id}`)}</id>
    <title>${escapeXml(titleOf(incident))}</title>
    <published>${incident.startedAt}</published>
    <updated>${updatedAt(incident)}</updated>
    <category term="${escapeXml(incident.component)}"/>
    <link rel="alternate" type="text/html" href="${escapeXml(`${base}/status.html#${incident.id}`)}"/>
    <content type="html">${escapeXml(contentOf(incident))}</content>
  </entry>
`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>${id('status')}</id>
  <title>webcapture status</title>
  <updated>${updated}</updated>
  <author><name>webcapture</name></author>
  <link rel="self" type="application/atom+xml" href="${escapeXml(`${base}/status/feed.xml`)}"/>
  <link rel="alternate" type="text/html" href="${escapeXml(`${base}/status.html`)}"/>
${entries.join('')}</feed>
`;
}

const updatedAt = ({ endedAt, updates, startedAt }: Incident) => endedAt ?? updates.at(-1)?.at ?? startedAt;

const titleOf = ({ component, status, endedAt }: Incident) =>
  `${componentLabel(component)}: ${stateLabel(status).toLowerCase()}${endedAt === null ? '' : ' (resolved)'}`;

function contentOf({ message, updates, endedAt, interruptions }: Incident): string {
  const lines = updates.map(({ at, status, message: text }) => `${at}: ${stateLabel(status)}. ${text}`);
  const again = interruptions === 0 ? '' : `<p>It recovered and failed again ${interruptions} times.</p>`;
  const items = [...lines, ...(endedAt === null ? [] : [`${endedAt}: Operational again.`])];
  return `<p>${escapeHtml(message)}</p><ul>${items.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>${again}`;
}

/** Escapes text; replaces characters that XML 1.0 does not allow. */
const escapeXml = (text: string) =>
  escapeHtml(text.toWellFormed().replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, ' '));
