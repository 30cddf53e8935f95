// A process that stands for a Lease and, while it leads, makes one object after another: the order in which the API server
// took them shows who acted when. Its one argument is JSON.
import { Agent } from 'node:https';
import process from 'node:process';
import type { LeaseTimes } from '../../../services/controller/leader/lease.ts';
import { runElection } from '../../../services/controller/leader/election.ts';
import { isConflict } from '../../../services/controller/kube/api-error.ts';
import { KubeConnection } from '../../../services/controller/kube/connection.ts';
import { KubeLease } from '../../../services/controller/kube/kube-lease.ts';
import { createLogger } from '@webcapture/shared/telemetry/logger.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';

export interface CandidateOptions {
  readonly name: string;
  readonly server: string;
  readonly ca: string;
  readonly token: string;
  readonly namespace: string;
  readonly times: LeaseTimes;
}

const { name, server, ca, token, namespace, times } = JSON.parse(process.argv[2] ?? '') as CandidateOptions;
const agent = new Agent({ ca, keepAlive: true });
const connection = new KubeConnection({
  load: () =>
    Promise.resolve({
      server: new URL(server),
      namespace,
      agent,
      headers: () => Promise.resolve({ authorization: `Bearer ${token}` }),
    }),
});
const log = createLogger({ service: 'candidate', pod: name, level: 'info' });
const lease = new KubeLease(connection, 'test', name, times);
const aborter = new AbortController();
process.once('SIGTERM', () => aborter.abort());
let isToPause = false;
process.once('SIGUSR2', () => (isToPause = true));

log.info('standing');
await runElection(
  {
    what: 'the test',
    lease,
    times,
    log,
    lead: async (term) => {
      for (let act = 0; !term.signal.aborted; act++) {
        if (isToPause) {
          isToPause = false;
          process.kill(process.pid, 'SIGSTOP');
        }
        try {
          if (term.holds()) await record(`${name}-${process.pid}-${act}`);
        } catch (error) {
          if (!isConflict(error)) log.warn({ err: error }, 'an act failed');
        }
        // Rare enough that a pause hardly ever falls between a look at the Lease and the act.
        await delay(100, term.signal);
      }
    },
  },
  aborter.signal,
);
await connection.close();

async function record(act: string): Promise<void> {
  await connection.request({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/configmaps`,
    body: { metadata: { name: act, labels: { actor: name } } },
    limitMs: times.requestMs,
  });
}
