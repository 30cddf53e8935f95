import { plainText } from '../text.ts';
import type { Entry } from './entries.ts';
import type { EntryState } from './journal.ts';

const style = `
:root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 90rem; padding: 1rem; }
ul { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); list-style: none; padding: 0; }
li { border: 1px solid #8886; border-radius: 6px; overflow: hidden; }
.picture { align-items: center; aspect-ratio: 16 / 9; background: #8882; display: flex; justify-content: center; overflow: hidden; }
img { align-self: start; width: 100%; }
.about { overflow-wrap: anywhere; padding: .5rem .75rem; }
.about p { margin: 0; }
.small { font-size: .85em; opacity: .8; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid #8886; overflow-wrap: anywhere; padding: .3rem .5rem; text-align: left; vertical-align: top; }
`;

/**
 * Renders a page that shows the results of a batch, for the output folder. It needs only the pictures, contains no script, and
 * loads nothing from the network.
 */
export function renderIndexPage(
  entries: readonly Entry[],
  states: ReadonlyMap<string, EntryState>,
  { done, at }: { readonly done: ReadonlySet<string>; readonly at: Date },
): string {
  const failed = entries.filter(({ id }) => !done.has(id) && states.get(id)?.failed !== undefined);
  const missing = entries.length - done.size - failed.length;
  const counts = [
    `${done.size} of ${entries.length} captured`,
    failed.length === 0 ? '' : `${failed.length} failed`,
    missing === 0 ? '' : `${missing} not captured yet`,
  ];
  const rows = failed.map((entry) => failureRow(entry, states.get(entry.id)));
  const tiles = entries.filter(({ id }) => done.has(id)).map((entry) => tile(entry, states.get(entry.id)));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self' file:; style-src 'unsafe-inline'">
<title>Captures</title>
<style>${style}</style>
</head>
<body>
<h1>Captures</h1>
<p>${counts.filter((each) => each !== '').join(', ')}. ${escape(at.toISOString())}</p>
${rows.length === 0 ? '' : `<h2>Failures</h2>\n<table>\n<tr><th>Page<th>Reason\n${rows.join('')}</table>\n`}<ul>
${tiles.join('')}</ul>
</body>
</html>
`;
}

function failureRow(entry: Entry, state: EntryState | undefined): string {
  const { code = '', message = '' } = state?.failed ?? {};
  return `<tr><td>${link(entry.url)}<td><b>${escape(code)}</b> ${escape(message)}\n`;
}

function tile(entry: Entry, state: EntryState | undefined): string {
  if (state?.captured === undefined) return '';
  const { title, width, height, format, remarks } = state.captured;
  const href = pathToHref(state.file);
  const other = format === 'pdf' ? 'PDF' : format === 'none' ? 'JSON' : undefined;
  const picture =
    other === undefined ? `<img src="${href}" alt="" loading="lazy" decoding="async">` : `<span>${other}</span>`;
  const size = format === 'none' ? '' : `, ${width} × ${height} px`;
  const notes = remarks.map((remark) => `<p class="small">${escape(remark)}</p>`).join('');
  return `<li><a class="picture" href="${href}" aria-label="${escape(state.file)}">${picture}</a>
<div class="about"><p><bdi>${escape(title === '' ? entry.url : title)}</bdi></p><p class="small">${link(entry.url)}</p>
<p class="small">${escape(state.file)}${size}</p>${notes}</div></li>
`;
}

/** Links only http and https addresses. */
function link(url: string): string {
  const text = `<bdi>${escape(url)}</bdi>`;
  const { protocol, href } = URL.parse(url) ?? { protocol: '', href: '' };
  return /^https?:$/.test(protocol) ? `<a href="${escape(href)}" rel="noreferrer noopener">${text}</a>` : text;
}

const pathToHref = (file: string) => file.split('/').map(encodeURIComponent).join('/');

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for any position in a page. Characters that would reorder the surrounding text are shown as their code. */
function escape(text: string): string {
  return plainText(text).replaceAll(/[&<>"']/g, (letter) => entities[letter] ?? '');
}
