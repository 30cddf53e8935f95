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

/** This client needs no key. The front answers the request from memory, even if all other components are down. */
const anonymous = new Webcapture({ url: serviceUrl, maxRetries: 0 });

/** Shows an outage on every page, because a page that has loaded its content would not detect the outage. */
export function OutageMessage() {
  const { data } = useQuery((signal) => anonymous.getStatus({ signal }), [], { everyMs: checkMs });
  const down = (data?.components ?? []).flatMap(({ name, status }) =>
    status === 'major_outage' && Object.hasOwn(names, name) ? [names[name]] : [],
  );
  return (
    <div role="status">
      {down.length > 0 && (
        <div class="message is-warning">
          <p>
            There is an outage of {down.join(' and ')}. The content of this page may be outdated; it updates
            automatically when the service is back. <a href={`${serviceUrl}/status.html`}>Service status</a>
          </p>
        </div>
      )}
    </div>
  );
}
