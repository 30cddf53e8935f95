// `npm run fuzz`: sends invalid and unusual inputs to all code that reads input. Exits with 1 if it finds a bug.
import { randomInt } from 'node:crypto';
import process from 'node:process';
import { inspect, parseArgs } from 'node:util';
import { type Finding, fuzz } from './fuzz.ts';
import { httpTargets } from './http-targets.ts';
import { parserTargets } from './parser-targets.ts';
import { sendToApp, sendToFront } from './send.ts';

const usage = `usage: npm run fuzz -- [--seed N] [--minutes N] [--only TARGET,…] [--front URL]
  --seed     the same inputs as a run that printed this seed
  --minutes  duration of the run (default 1)
  --only     some targets: ${[...httpTargets, ...parserTargets].map(({ name }) => name).join(', ')}
  --front    sends requests to a front that runs, instead of the application in this process
`;

/** Inputs for one target before the next target. */
const inputsPerRound = 500;

const say = (line: string) => process.stdout.write(`${line}\n`);

function readOptions() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      minutes: { type: 'string' },
      only: { type: 'string' },
      front: { type: 'string' },
    },
  });
  const all = values.front === undefined ? [...httpTargets, ...parserTargets] : httpTargets;
  const names = values.only?.split(',');
  const unknown = names?.filter((name) => !all.some((target) => target.name === name)) ?? [];
  const [seed, minutes] = [Number(values.seed ?? randomInt(2 ** 31)), Number(values.minutes ?? 1)];
  if (unknown.length > 0) throw new Error(`there is no target ${unknown.join(', ')}`);
  if (!Number.isInteger(seed)) throw new Error('--seed must be an integer');
  if (!(minutes > 0)) throw new Error('--minutes must be a number above 0');
  return { seed, minutes, front: values.front, targets: all.filter(({ name }) => names?.includes(name) ?? true) };
}

function tell({ target, seed, input, problem }: Finding): void {
  const shown = inspect(input, { maxStringLength: 500, maxArrayLength: 50, depth: 6, breakLength: 120 });
  say(`\n✗ ${target}: ${problem}\n  input: ${shown}\n  again: npm run fuzz -- --only ${target} --seed ${seed}`);
}

async function main(): Promise<number> {
  const { seed, minutes, front, targets } = readOptions();
  say(`seed ${seed}, ${minutes} min, ${targets.map(({ name }) => name).join(' ')}`);
  const local = front === undefined ? await sendToApp() : null;
  const send = local?.send ?? sendToFront(front ?? '');
  const found = new Set<string>();
  const start = performance.now();
  const end = start + minutes * 60_000;
  let inputs = 0;
  for (let round = 0; performance.now() < end && found.size < targets.length; round++) {
    for (const target of targets) {
      if (found.has(target.name) || performance.now() >= end) continue;
      const { inputs: tried, finding } = await fuzz(target, {
        send,
        isLocal: local !== null,
        seed: (seed + round) % 2 ** 31,
        count: inputsPerRound,
        timeLimitMs: end - performance.now(),
      });
      inputs += tried;
      if (finding === null) continue;
      found.add(target.name);
      tell(finding);
    }
  }
  await local?.app.close();
  const seconds = (performance.now() - start) / 1000;
  say(
    `\n${inputs} inputs in ${Math.round(seconds)} s, ${found.size === 0 ? 'nothing found' : `found: ${[...found].join(', ')}`}`,
  );
  return found.size === 0 ? 0 : 1;
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`fuzz: ${(error as Error).message}\n\n${usage}`);
  process.exit(2);
}
