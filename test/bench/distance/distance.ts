import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { startFleet, type Fleet, type FleetOptions } from '../../harness/fleet.ts';
import { removeFolder } from '../../harness/temp-folder.ts';
import { ensureTestTools } from '../../harness/tools.ts';
import { percentilesOf } from '../http-load.ts';

/** One renderer next to NATS, and two with the round-trip times of another coast and of another continent. */
const renderers = [
  { region: 'us-east', roundTripMs: 0 },
  { region: 'eu-west', roundTripMs: 100 },
  { region: 'asia-southeast', roundTripMs: 220 },
] as const satisfies readonly { region: Region; roundTripMs: number }[];

const slots = 4;
const rounds = 30;
const blocks = 4;
const capturesInBlock = 40;
const goals = { roundTrips: 2, throughput: 0.9 } as const;

const stores = ['embedded', 'gcs'] as const satisfies readonly FleetOptions['store'][];
const answers = ['json', 'file'] as const;
type Answer = (typeof answers)[number];

const html =
  '<!doctype html><title>A tiny page</title><style>body { font: 20px sans-serif }</style><p>It says little, and looks plain.';

/** Measures the cost of distance: renderers near NATS and far from it alternate, with both stores and both response types. */
export async function benchDistance(): Promise<void> {
  const tools = await ensureTestTools((line) => process.stderr.write(`${line}\n`));
  process.stdout.write(
    `\nRenderers near NATS and far from it, ${slots} slots each, a tiny page as png: ${rounds} alternating captures each, then ${blocks} alternating blocks of ${capturesInBlock} captures from ${2 * slots} clients\n`,
  );
  let missed = 0;
  for (const store of stores) {
    await using parts = new AsyncDisposableStack();
    const tempFolder = await mkdtemp(join(tmpdir(), 'webcapture-bench-'));
    parts.defer(() => removeFolder(tempFolder));
    const fleet = parts.use(
      await startFleet(
        { tools, tempFolder },
        {
          store,
          slots,
          regions: renderers.map(({ region }) => `${region}:1`).join(','),
          roundTripMs: Object.fromEntries(renderers.map(({ region, roundTripMs }) => [region, roundTripMs])),
          env: {
            WEBCAPTURE_CANARY_INTERVAL: '0',
            WEBCAPTURE_DEFAULT_RATE_PER_MINUTE: '100000',
            WEBCAPTURE_DEFAULT_BURST: '100000',
          },
        },
      ),
    );
    for (const answer of answers) missed += await measure(fleet, store, answer);
  }
  process.stdout.write(missed === 0 ? 'All goals are met.\n' : `${missed} goals are missed.\n`);
  if (missed > 0) process.exitCode = 1;
}

/** Prints a line for each renderer, and returns the number of missed goals. */
async function measure(fleet: Fleet, store: string, answer: Answer): Promise<number> {
  const capture = (region: Region) => postCapture(fleet, region, answer);
  // The first captures are slower.
  for (const { region } of renderers) await Promise.all(Array.from({ length: 2 * slots }, () => capture(region)));
  const times = new Map<Region, number[]>(renderers.map(({ region }) => [region, []]));
  for (let round = 0; round < rounds; round++) {
    for (const { region } of rotated(round)) times.get(region)?.push(await timed(() => capture(region)));
  }
  const seconds = new Map<Region, number>(renderers.map(({ region }) => [region, 0]));
  for (let block = 0; block < blocks; block++) {
    for (const { region } of rotated(block)) {
      const ms = await timed(() => saturate(capturesInBlock, () => capture(region)));
      seconds.set(region, (seconds.get(region) ?? 0) + ms / 1000);
    }
  }
  let missed = 0;
  const p50Of = (region: Region) => percentilesOf(times.get(region) ?? []).p50;
  const rateOf = (region: Region) => (blocks * capturesInBlock) / (seconds.get(region) ?? Number.NaN);
  for (const { region, roundTripMs } of renderers) {
    const [p50, rate] = [p50Of(region), rateOf(region)];
    const what = `${store} ${answer}, ${roundTripMs === 0 ? 'near' : `${roundTripMs} ms away`}`;
    const line = `${what.padEnd(28)} p50 ${p50.toFixed(0).padStart(5)} ms  ${rate.toFixed(2).padStart(6)} per second`;
    if (roundTripMs === 0) {
      process.stdout.write(`${line}\n`);
      continue;
    }
    const roundTrips = (p50 - p50Of('us-east')) / roundTripMs;
    const ratio = rate / rateOf('us-east');
    const failed = [roundTrips > goals.roundTrips, ratio < goals.throughput].filter(Boolean).length;
    missed += failed;
    process.stdout.write(
      `${line}   ${roundTrips.toFixed(2)} more round trips (goal: at most ${goals.roundTrips.toFixed(1)}), ${ratio.toFixed(2)} of the throughput (goal: at least ${goals.throughput})${failed === 0 ? '' : '   MISSED'}\n`,
    );
  }
  return missed;
}

/** The order rotates, so that a renderer does not always run after the same one. */
const rotated = (turn: number) =>
  renderers.map((_, index) => renderers[(index + turn) % renderers.length] ?? renderers[0]);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Runs twice as many clients as slots. Each client sends its next request after a response. */
async function saturate(count: number, capture: () => Promise<void>): Promise<void> {
  let left = count;
  const client = async () => {
    while (left-- > 0) await capture();
  };
  await Promise.all(Array.from({ length: 2 * slots }, client));
}

async function postCapture({ url, key }: Fleet, region: Region, responseType: Answer): Promise<void> {
  const response = await fetch(`${url}/capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ html, region, responseType }),
    signal: AbortSignal.timeout(60_000),
  });
  const bytes = await response.arrayBuffer();
  if (!response.ok) throw new Error(`a capture returned ${response.status}: ${Buffer.from(bytes).toString()}`);
}
