import process from 'node:process';
import { parseArgs } from 'node:util';
import { benchCacheHits } from './front/cache-hits.ts';
import { benchLimitChecks } from './front/limit-checks.ts';
import { benchListing } from './front/listing.ts';
import { benchOwnTime } from './front/own-time.ts';
import { benchSoak } from './soak/soak.ts';
import { benchSpeed } from './speed/speed.ts';
import { benchStorage } from './storage/storage.ts';

const { values, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: {
    /** Of the soak: it ends after so many captures, or minutes. */
    captures: { type: 'string', default: '2000' },
    minutes: { type: 'string', default: '60' },
  },
});

/**
 * `npm run bench -- <part>…`: measures parts of the service, each beside a peer or a goal in the same run. Without a part
 * all but the soak, which takes an hour.
 */
const parts: Readonly<Record<string, readonly (() => Promise<void>)[]>> = {
  speed: [benchSpeed],
  front: [benchCacheHits, benchOwnTime, benchListing, benchLimitChecks],
  storage: [benchStorage],
  soak: [() => benchSoak({ captures: Number(values.captures), minutes: Number(values.minutes) })],
};

const unknown = asked.filter((name) => !(name in parts));
if (unknown.length > 0) {
  process.stderr.write(`There is no part ${unknown.join(', ')}; the parts are ${Object.keys(parts).join(', ')}.\n`);
  process.exit(2);
}
for (const name of asked.length === 0 ? ['speed', 'front', 'storage'] : asked) {
  for (const measure of parts[name] ?? []) await measure();
}
