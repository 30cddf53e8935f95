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

/** Needs no key. The front answers from memory, even when all other components are down. */
const anybody = new Webcapture({ url: serviceUrl, maxRetries: 0 });

/** Shows an outage on every page: a page that has loaded its content would not detect it. */
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
