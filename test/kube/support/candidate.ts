// A process that takes part in the election for a Lease and creates objects while it leads. The order in which the API server stored them
// shows who acted when. Its only argument is JSON.
import process from 'node:process';
import { CoreV1Api } from '@kubernetes/client-node';
import { Lease, type LeaseTimes } from '../../../services/controller/leader/lease.ts';
import { runElection } from '../../../services/controller/leader/election.ts';
import { isConflict, KubernetesClient, loadKubeconfig } from '../../../services/controller/kubernetes/client.ts';
import { kubernetesLeaseStore } from '../../../services/controller/kubernetes/lease.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import { delay } from '@webcapture/shared/runtime/deadline.ts';

export interface CandidateOptions {
  readonly name: string;
  readonly kubeconfig: string;
  readonly times: LeaseTimes;
}

const { name, kubeconfig, times } = JSON.parse(process.argv[2] ?? '') as CandidateOptions;
const client = new KubernetesClient({ load: () => loadKubeconfig([kubeconfig]) });
const log = createLogger({ service: 'candidate', pod: name, level: 'info' });
const lease = new Lease(kubernetesLeaseStore(client, { lease: 'test', release: 'test' }, times), name, times);
const aborter = new AbortController();
process.once('SIGTERM', () => aborter.abort());
let isToPause = false;
process.once('SIGUSR2', () => (isToPause = true));

log.info('taking part');
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
        // Acts are rare, so that a pause almost never occurs between the check of the Lease and the act.
        await delay(100, term.signal);
      }
    },
  },
  aborter.signal,
);
await client.close();

async function record(act: string): Promise<void> {
  const body = { metadata: { name: act, labels: { actor: name } } };
  await client.call('acting', times.requestMs, (api, namespace) =>
    api(CoreV1Api).createNamespacedConfigMap({ namespace, body }),
  );
}
