import process from 'node:process';
import { parseArgs } from 'node:util';
import { benchAttack } from './attack/attack.ts';
import { benchDistance } from './distance/distance.ts';
import { benchFiles } from './files/files.ts';
import { benchCacheHits } from './front/cache-hits.ts';
import { benchLimitChecks } from './front/limit-checks.ts';
import { benchListing } from './front/listing.ts';
import { benchOwnTime } from './front/own-time.ts';
import { goalsTable } from './goals.ts';
import { formatMarkdown } from './markdown.ts';
import { benchNeighbors } from './neighbors/neighbors.ts';
import { benchPages } from './pages/gallery.ts';
import { benchTilesCost } from './pages/tiles-cost.ts';
import { benchWholePages } from './pages/whole-pages.ts';
import { benchPaper } from './paper/paper.ts';
import { benchPeers } from './peers/peers.ts';
import { benchScale, scaleParts } from './scale/scale.ts';
import { benchSlots } from './slots/slots.ts';
import { benchSoak } from './soak/soak.ts';
import { benchSpeed, turnsNames, type TurnsName } from './speed/speed.ts';
import { benchStart } from './start/start.ts';
import { benchStorage } from './storage/storage.ts';
import { benchTimeline } from './timeline/timeline.ts';

const usage = `npm run bench [-- <part>…]: measures parts of the service and compares each with a peer or a goal in the same run.

  speed     captures, a Playwright script, and Chromium without a driver (40 minutes; two with --quick)
  peers     captures by the service, a Playwright script, Gotenberg and browserless, as a table, and the share of hard pages
            that each gets right; installs the latter two (40 minutes; two without hard pages with --quick; runs only if named)
  front     cache hits, the front's own time, listing, checks of limits
  goals     peers, whole, files, start and timeline, and a table of their goals (an hour; runs only if named)
  start     the start of the whole service until /status is 200, and its memory at rest (one minute)
  attack    captures of a client with a key during an attack by clients without one
  storage   both stores, with files of 300 KB and 10 MB
  files     processor time of captures whose file has 5 MB, by process (five minutes; runs only if named)
  distance  renderers 100 and 220 ms away from NATS, and one next to it (runs only if named)
  pages     captures of third-party pages and what a person sees, as a gallery (runs only if named)
  whole     third-party whole pages by the engine and by a careful script, with the longest waits (runs only if named)
  paper     the time of each step of a PDF, beside page.pdf() of a script (some minutes; runs only if named)
  tiles     whole pages in tiles, and the same pages with a grown viewport (runs only if named)
  slots     captures per second and memory of a renderer with 1 to 4 slots for two cores (some minutes; runs only if named)
  timeline  the time of each step of captures under load, as a table and a picture (runs only if named)
  neighbors  small captures next to hostile pages (some minutes; runs only if named)
  scale     costs of a large service (some minutes; runs only if named)
  soak      memory over many captures (an hour; runs only if named)

  --quick        of speed and peers: tiny as png and pdf, JS-heavy and the supplied card as png, in two blocks of
                 12 captures and short rounds; of slots and whole: one round; of paper and start: three; of files: one block
  --turns HOW    of speed, sequential captures: block (12 captures in a row, the default), capture, or both
  --isolation NAME  of speed: of the account that supplies its own HTML (account)
  --write        of speed, peers and slots: also writes the tables to docs/benchmarks.md and docs/benchmarks/
  --only NAME    of scale: ${scaleParts.join(', ')}; of pages and whole: those whose package or path contains it;
                 of neighbors: those whose name contains it; of speed and peers: those whose page and format contain it, e.g.
                 "tiny png", or for peers, "quality": only the hard pages
  --seconds N    of timeline: duration of the load (60)
  --captures N   ends the soak after N captures (2000)
  --minutes N    ends the soak after N minutes (60)
`;

const { values, positionals: asked } = readArguments();
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}

const parts: Readonly<Record<string, readonly (() => Promise<void>)[]>> = {
  speed: [
    () => {
      const { quick: isQuick, only, isolation, write } = values;
      return benchSpeed({ turns: values.turns as TurnsName, isQuick, only, isolation, write });
    },
  ],
  peers: [() => benchPeers({ isQuick: values.quick, only: values.only, write: values.write })],
  slots: [() => benchSlots({ isQuick: values.quick, write: values.write })],
  front: [benchCacheHits, benchOwnTime, benchListing, benchLimitChecks],
  scale: [() => benchScale(values.only)],
  timeline: [() => benchTimeline({ seconds })],
  neighbors: [() => benchNeighbors({ only: values.only })],
  pages: [() => benchPages({ only: values.only })],
  whole: [() => benchWholePages({ only: values.only, isQuick: values.quick })],
  paper: [() => benchPaper({ isQuick: values.quick })],
  tiles: [benchTilesCost],
  start: [() => benchStart({ isQuick: values.quick })],
  attack: [benchAttack],
  storage: [benchStorage],
  files: [() => benchFiles({ isQuick: values.quick })],
  distance: [benchDistance],
  soak: [() => benchSoak({ captures, minutes })],
};

const defaultParts = ['speed', 'front', 'start', 'attack', 'storage'];
const partsWithGoals = ['peers', 'whole', 'files', 'start', 'timeline'];

const [seconds, captures, minutes] = [readPositive('seconds'), readPositive('captures'), readPositive('minutes')];

const unknown = asked.filter((name) => !(name in parts) && name !== 'goals');
if (unknown.length > 0) refuse(`There is no part ${unknown.join(', ')}.`);
if (asked.includes('scale') && values.only !== undefined && !scaleParts.includes(values.only))
  refuse(`Scale has no part ${values.only}.`);
if (!turnsNames.some((name) => name === values.turns)) refuse(`--turns must be one of ${turnsNames.join(', ')}.`);
if (values.write && (values.quick || values.only !== undefined || values.turns === 'capture'))
  refuse('--write needs all measurements: leave out --quick, --only and --turns capture.');
const chosen = asked.length === 0 ? defaultParts : asked.flatMap((name) => (name === 'goals' ? partsWithGoals : name));
for (const name of new Set(chosen)) {
  for (const measure of parts[name] ?? []) await measure();
}
const reached = goalsTable();
if (reached !== undefined) process.stdout.write(`\n${await formatMarkdown(reached)}`);

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        only: { type: 'string' },
        quick: { type: 'boolean', default: false },
        turns: { type: 'string', default: 'block' },
        isolation: { type: 'string', default: 'account' },
        write: { type: 'boolean', default: false },
        seconds: { type: 'string', default: '60' },
        captures: { type: 'string', default: '2000' },
        minutes: { type: 'string', default: '60' },
      },
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function readPositive(name: 'seconds' | 'captures' | 'minutes'): number {
  const number = Number(values[name]);
  return number > 0 ? number : refuse(`--${name} must be a positive number.`);
}

function refuse(why: string): never {
  process.stderr.write(`${why}\n\n${usage}`);
  process.exit(2);
}
