import { Webcapture } from '@webcapture/client';
import { useQuery } from './query.ts';
import { serviceUrl } from './session.ts';

const checkMs = 10_000;

const names: Readonly<Record<string, string>> = {
  api: 'the API',
  queue: 'the queue',
  storage: 'the file storage',
  engine: 'all regions',
};

/** Needs no key, and is answered from memory, also when all else of the service is down. */
const anybody = new Webcapture({ url: serviceUrl, maxRetries: 0 });

/** Says on every page that the service is down: a page that has loaded what it shows would not notice. */
export function OutageNotice() {
  const { data } = useQuery((signal) => anybody.getStatus({ signal }), [], { everyMs: checkMs });
  const down = (data?.components ?? []).flatMap(({ name, status }) =>
    status === 'major_outage' && Object.hasOwn(names, name) ? [names[name]] : [],
  );
  return (
    <div role="status">
      {down.length > 0 && (
        <div class="notice is-warning">
          <p>
            There is an outage of {down.join(' and ')}. What this page shows may be old; it goes on by itself when the
            service is back. <a href={`${serviceUrl}/status.html`}>Status of the service</a>
          </p>
        </div>
      )}
    </div>
  );
}
