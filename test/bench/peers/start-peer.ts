import { startProcess } from '../../../deploy/local/process.ts';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import { registry } from '../../../deploy/tools/registry.ts';
import type { FoundTool, Tool } from '../../../deploy/tools/tool.ts';
import type { ToolPaths } from '../../harness/tools.ts';
import { until } from '../../harness/until.ts';
import type { Contender } from '../speed/contender.ts';
import { say } from '../speed/plan.ts';

export interface PeerOptions {
  readonly tools: ToolPaths;
  readonly slots: number;
  /** The files of the peer are in a folder of this one. */
  readonly tempFolder: string;
}

/** Starts peers sequentially. For each peer that fails to start, `leftOut` contains a line with the reason. */
export async function startPeers(
  starts: Readonly<Record<string, () => Promise<Contender>>>,
): Promise<{ readonly peers: readonly Contender[]; readonly leftOut: readonly string[] }> {
  const [peers, leftOut]: [Contender[], string[]] = [[], []];
  for (const [name, start] of Object.entries(starts)) {
    try {
      peers.push(await start());
    } catch (error) {
      const why = (error as Error).message.replaceAll(/\s+/g, ' ');
      leftOut.push(`Without ${name}: ${why}`);
    }
  }
  return { peers, leftOut };
}

/** Finds a peer in the cache, or installs it there. */
export function installPeer(tool: Tool): Promise<FoundTool> {
  return ensureTool(tool.name, { log: say, tools: [...registry, tool] });
}

export interface PeerCommand {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Variables in addition to those of this process. */
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** An address that returns a success when the peer is ready. */
  readonly health: string;
}

/** Starts a peer and waits until it is ready. It ends with `parts`, or with this process. Resolves to its pid. */
export async function startPeer(
  parts: AsyncDisposableStack,
  { name, command, args, env, cwd, health }: PeerCommand,
): Promise<number> {
  const lines: string[] = [];
  const child = await startProcess({
    name,
    command,
    args,
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
    graceOnLossMs: 0,
    onLine: (line) => {
      if (lines.push(line) > 10) lines.shift();
    },
  });
  let hasEnded = false;
  void child.exited.then(() => {
    hasEnded = true;
  });
  const stop = async () => void (await child.stop({ graceMs: 0 }));
  const isReady = async () => hasEnded || (await fetch(health, { signal: AbortSignal.timeout(2000) })).ok;
  try {
    await until(`${name} to be ready`, isReady, { deadlineMs: 60_000 });
    if (hasEnded) throw new Error(`${name} ended at its start`);
  } catch (error) {
    await stop();
    const [why, output] = [(error as Error).message, lines.join('\n') || '(it printed nothing)'];
    throw new Error(`${why}. Its last lines:\n${output}`, { cause: error });
  }
  parts.defer(stop);
  return child.pid;
}
