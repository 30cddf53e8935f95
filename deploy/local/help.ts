import type { Variable } from '@webcapture/shared/runtime/variables.ts';
import { frontVariables } from '../../services/front/config.ts';
import { startVariables } from './settings.ts';

/** The most important variables; docs/configuration.md has all of them. */
const names = [
  'PORT',
  'WEBCAPTURE_HOST',
  'WEBCAPTURE_PUBLIC_URL',
  'WEBCAPTURE_REGIONS',
  'WEBCAPTURE_API_KEY',
  'WEBCAPTURE_ADMIN_TOKEN',
  'WEBCAPTURE_DATA_DIR',
  'WEBCAPTURE_NATS_URL',
  'WEBCAPTURE_GCS_BUCKET',
  'WEBCAPTURE_EGRESS_ALLOW',
  'WEBCAPTURE_LOG_LEVEL',
];

/** Variables whose default for `npm start` differs from that for a front in a cluster. */
const ownDefaults: Readonly<Record<string, string>> = {
  WEBCAPTURE_HOST: '127.0.0.1',
  WEBCAPTURE_PUBLIC_URL: 'http://127.0.0.1:<PORT>',
  WEBCAPTURE_API_KEY: 'a generated key, kept in the data folder',
  WEBCAPTURE_NATS_URL: 'its own nats-server',
  WEBCAPTURE_EGRESS_ALLOW: '127.0.0.0/8,::1/128',
};

/** Returns the text of `npm start -- --help`. */
export function help(): string {
  const known = new Map([...frontVariables, ...Object.values(startVariables)].map((each) => [each.name, each]));
  const variables = names.flatMap((name) => known.get(name) ?? []);
  return `
Usage: npm start
       npm start -- --watch
       VARIABLE=value npm start

Starts the whole service on this machine: NATS, the controller, the front, and the
renderers of each region. Gets what is missing first (nats-server, Chromium, fonts,
filter lists). When all is ready it prints a link to the dashboard. Ctrl-C stops it.

--watch restarts the services that an edit under services/ concerns, and builds the
dashboard again when its sources change. NATS keeps running, with its data.

Environment variables:

${variables.map(entry).join('\n\n')}

All of them: docs/configuration.md
`;
}

function entry({ name, type, defaultText, meaning }: Variable): string {
  const initial = ownDefaults[name] ?? plain(defaultText);
  const facts = `${plain(type)}${initial === '' ? '' : `; default: ${initial}`}`;
  return `  ${name}\n${[facts, plain(meaning)].map((text) => wrap(text, 80, '      ')).join('\n')}`;
}

/** Removes Markdown. */
const plain = (markdown: string) => markdown.replaceAll('`', '').replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1');

function wrap(text: string, width: number, indent: string): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line !== indent && line.length + word.length > width) {
      lines.push(line.trimEnd());
      line = indent;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()].join('\n');
}
