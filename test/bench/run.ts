import process from 'node:process';
import { benchCacheHits } from './front/cache-hits.ts';
import { benchLimitChecks } from './front/limit-checks.ts';
import { benchListing } from './front/listing.ts';
import { benchOwnTime } from './front/own-time.ts';
import { benchSpeed } from './speed/speed.ts';

/** `npm run bench -- <part>…`: measures parts of the service, each beside a peer in the same run. */
const parts: Readonly<Record<string, readonly (() => Promise<void>)[]>> = {
  speed: [benchSpeed],
  front: [benchCacheHits, benchOwnTime, benchListing, benchLimitChecks],
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in parts));
if (unknown.length > 0) {
  process.stderr.write(`There is no part ${unknown.join(', ')}; the parts are ${Object.keys(parts).join(', ')}.\n`);
  process.exit(2);
}
for (const name of asked.length === 0 ? Object.keys(parts) : asked) {
  for (const measure of parts[name] ?? []) await measure();
}
