import { mkdtemp } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { removeFolder } from '../../harness/temp-folder.ts';
import { ensureTestTools } from '../../harness/tools.ts';
import { describeMachine } from '../machine.ts';
import { formatMarkdown, writeBlock } from '../markdown.ts';
import { measureQuality, qualityGroups, qualityTable } from '../quality/quality.ts';
import { fleetContender, startBenchFleet } from '../speed/fleet-contender.ts';
import { perBlock } from '../speed/measure.ts';
import { benchPages, servePages } from '../speed/pages.ts';
import { configuredPeers } from '../speed/peer-contenders.ts';
import { measureSaturated, measureSequential, planOf, say, tasksOf, warmUp } from '../speed/plan.ts';
import { overviewFormats, overviewTable } from '../speed/report.ts';
import { startScriptContender } from '../speed/script-contender.ts';
import { startBrowserless } from './browserless.ts';
import { startGotenberg } from './gotenberg.ts';
import { notePeerGoals } from './peer-goals.ts';
import { startPeers } from './start-peer.ts';

export interface PeersOptions {
  readonly isQuick: boolean;
  /** Selects the tasks whose page and format contain this text, e.g. `tiny png`; `quality` selects only the check of the files. */
  readonly only?: string | undefined;
  /** Whether to write the table of speed to docs/benchmarks.md. */
  readonly write: boolean;
}

const qualityOnly = 'quality';

/**
 * Compares captures by the whole service with those by a script and by other services, which it starts: their speed, and the share of hard
 * pages that each captures right.
 */
export async function benchPeers(options: PeersOptions): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const tools = await ensureTestTools(say);
  const slots = availableParallelism();
  const plan = planOf(options);
  const origin = await servePages(parts);
  const tasks = tasksOf(benchPages, plan, (page) => ({ url: origin + page.path })).filter(({ format }) =>
    overviewFormats.includes(format),
  );
  const isTimed = options.only !== qualityOnly;
  const isChecked = !isTimed || (options.only === undefined && !options.isQuick);
  if (tasks.length === 0 && isTimed) throw new Error(`no page and format contain "${options.only}"`);
  const tempFolder = await mkdtemp(join(tmpdir(), 'webcapture-bench-'));
  parts.defer(() => removeFolder(tempFolder));
  const { peers, leftOut } = await startPeers({
    Gotenberg: () => startGotenberg(parts, { tools, slots, tempFolder }),
    browserless: () => startBrowserless(parts, { tools, slots, tempFolder }),
  });
  for (const line of leftOut) say(line);
  const fleet = fleetContender(await startBenchFleet(parts, { tools, slots }));
  const startScript = (kind: 'script' | 'careful') =>
    startScriptContender(parts, { kind, headlessShell: tools.headlessShell, spares: 0 });
  const script = await startScript('script');
  const others = [...peers, ...configuredPeers()];

  const text = [await describeMachine(tools)];
  if (isTimed) {
    const contenders = [fleet, script, ...others];
    await warmUp(contenders, tasks, plan);
    const sequential = await measureSequential(contenders, tasks, { plan, perTurn: perBlock });
    const saturated = await measureSaturated(contenders, tasks, { plan, slots });
    text.push(overviewTable({ contenders }, sequential, saturated, slots));
    if (options.write) await writeBlock('overview', text.join('\n\n'));
    notePeerGoals(fleet, sequential, saturated, slots);
  }
  if (isChecked) {
    // The script whose speed is measured waits for nothing, so a careful one is checked, too.
    const contenders = [fleet, script, await startScript('careful'), ...others];
    text.push(qualityTable(contenders, await measureQuality(contenders, qualityGroups, say)));
  }
  process.stdout.write(`\n${await formatMarkdown([...text, ...leftOut].join('\n\n'))}`);
}
