import { Shutdown } from '@webcapture/shared/runtime/shutdown.ts';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import { recordingLog, type LogLine } from './recording-log.ts';
import { readControllerConfig } from '../../../../services/controller/config.ts';
import { startController } from '../../../../services/controller/controller.ts';
import { controllerTimes, type ControllerTimes } from '../../../../services/controller/times.ts';

/** A whole controller in the process of the test. */
export class TestController {
  readonly lines: LogLine[];
  readonly opsUrl: string;
  readonly #shutdown: Shutdown;

  private constructor(port: number, shutdown: Shutdown, lines: LogLine[]) {
    this.opsUrl = `http://127.0.0.1:${port}`;
    this.#shutdown = shutdown;
    this.lines = lines;
  }

  static async start(env: Record<string, string>, times: Partial<ControllerTimes> = {}): Promise<TestController> {
    const lines: LogLine[] = [];
    const log = recordingLog(lines);
    const shutdown = new Shutdown(log, 8000);
    const config = readControllerConfig({
      WEBCAPTURE_OPS_HOST: '127.0.0.1',
      WEBCAPTURE_OPS_PORT: '0',
      WEBCAPTURE_CANARY_INTERVAL: '0',
      ...env,
    });
    const port = await startController(
      config,
      { log, shutdown, metrics: createMetrics('controller') },
      { ...controllerTimes, ...times },
    );
    return new TestController(port, shutdown, lines);
  }

  /** Returns the value of a metric by its full name with labels, or undefined if it does not exist. */
  async metric(name: string): Promise<number | undefined> {
    const text = await (await fetch(`${this.opsUrl}/metrics`)).text();
    const plain = (line: string) => line.replace(/,?service="controller"/, '').replace('{}', '');
    const line = text.split('\n').find((candidate) => plain(candidate).startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  }

  async probe(path: '/livez' | '/readyz'): Promise<number> {
    return (await fetch(this.opsUrl + path)).status;
  }

  /** Returns the logged state changes of a component, such as `operational→major_outage`. */
  changes(component: string): string[] {
    return this.lines.filter((line) => line.component === component).map(({ was, now }) => `${was}→${now}`);
  }

  /** Throws if a part did not stop in order. */
  async stop(): Promise<void> {
    if (!(await this.#shutdown.run())) throw new Error(`not stopped in order: ${JSON.stringify(this.lines.slice(-3))}`);
  }
}
