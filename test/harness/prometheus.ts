import { mkdtemp, writeFile } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { startProcess } from '../../deploy/local/process.ts';
import { ensureTool } from '../../deploy/tools/ensure-tool.ts';
import { freePort } from './free-port.ts';
import { once } from './once.ts';
import { until } from './until.ts';

/** Includes the download of the programs if they are missing. */
export const prometheusSetUpMs = 300_000;

const folderOfPrograms = once(async () => {
  const { path } = await ensureTool('prometheus', { log: (line) => process.stdout.write(`${line}\n`) });
  return path;
});

const program = async (name: 'prometheus' | 'promtool') => join(await folderOfPrograms(), name);

/** Runs promtool with `input`; returns its output if it finds an error, otherwise an empty text. */
export async function promtool(args: readonly string[], input = ''): Promise<string> {
  const running = promisify(execFile)(await program('promtool'), args, { timeout: 240_000 });
  // promtool may exit before it has read all input, so errors of writing to it are ignored.
  running.child.stdin?.on('error', () => undefined);
  running.child.stdin?.end(input);
  return running.then(
    () => '',
    (error: unknown) => {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      return `${stdout}${stderr}`.trim() || String(error);
    },
  );
}

export interface Scraped {
  /** The address of `/metrics` without its path. */
  readonly url: string;
  /** Labels that Kubernetes would add, e.g. `pod`. */
  readonly labels: Readonly<Record<string, string>>;
}

/** A sample of an instant query. */
interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

interface AlertRule {
  readonly name: string;
  readonly health: 'ok' | 'err' | 'unknown';
  /** RFC 3339; the year 1 before the first evaluation. */
  readonly lastEvaluation: string;
}

/** A real Prometheus that scrapes the targets once a second, starting five seconds after its start. */
export interface TestPrometheus extends AsyncDisposable {
  /**
   * Returns the samples of an expression, now or at a time in Unix seconds. Throws the error of Prometheus if the expression is
   * invalid.
   */
  query(expression: string, at?: number): Promise<readonly Sample[]>;
  /** Returns the evaluated alerts, and the result of the last evaluation of each. */
  alertRules(): Promise<readonly AlertRule[]>;
}

/**
 * Starts Prometheus in a new folder, with a rules file; it ends with this process.
 *
 * @param past samples of the past, as OpenMetrics with timestamps
 */
export async function startPrometheus(
  targets: readonly Scraped[],
  rules: object,
  past?: string,
): Promise<TestPrometheus> {
  const folder = await mkdtemp(join(inject('tempFolder'), 'prometheus-'));
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.json'],
    scrape_configs: [
      {
        job_name: 'webcapture',
        honor_labels: true,
        static_configs: targets.map(({ url, labels }) => ({ targets: [new URL(url).host], labels })),
      },
    ],
  };
  // JSON is valid YAML.
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  await writeFile(join(folder, 'rules.json'), JSON.stringify(rules));
  const data = join(folder, 'data');
  if (past !== undefined) {
    await writeFile(join(folder, 'past.txt'), past);
    const fault = await promtool(['tsdb', 'create-blocks-from', 'openmetrics', join(folder, 'past.txt'), data]);
    if (fault !== '') throw new Error(fault);
  }
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const lines: string[] = [];
  const server = await startProcess({
    name: 'prometheus',
    command: await program('prometheus'),
    args: [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${data}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    graceOnLossMs: 0,
    onLine: (line) => lines.push(line),
  });
  const ask = (path: string) => fetch(`${url}${path}`, { signal: AbortSignal.timeout(10_000) });
  try {
    await until('Prometheus to be ready', async () => (await ask('/-/ready')).ok);
  } catch (error) {
    await server.stop({ graceMs: 0 });
    throw new Error(`Prometheus did not start. Its output:\n${lines.slice(-10).join('\n')}`, { cause: error });
  }
  const answerOf = async <T>(what: string, path: string): Promise<T> => {
    const answer = (await (await ask(path)).json()) as { error?: string; data?: T };
    if (answer.data === undefined) throw new Error(`${what}: ${answer.error}`);
    return answer.data;
  };
  return {
    query: async (expression, at) => {
      const time = at === undefined ? '' : `&time=${at}`;
      const path = `/api/v1/query?query=${encodeURIComponent(expression)}${time}`;
      return (await answerOf<{ result: readonly Sample[] }>(expression, path)).result;
    },
    alertRules: async () => {
      const found = await answerOf<{ groups: readonly { rules: readonly AlertRule[] }[] }>(
        'alerts',
        '/api/v1/rules?type=alert',
      );
      return found.groups.flatMap((group) => group.rules);
    },
    [Symbol.asyncDispose]: async () => {
      await server.stop({ graceMs: 0 });
    },
  };
}
