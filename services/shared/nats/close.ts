import { withDeadline } from '../lifecycle/deadline.ts';
import type { NatsSession } from './connect.ts';

/** What is still to be sent is sent in no time, where there is somebody to send it to. */
const drainMs = 5000;

/**
 * Sends what waits to be sent and closes the connection. Without a server it closes at once: a drain would wait for one, as long
 * as it takes. Never throws.
 */
export async function closeNats(session: NatsSession): Promise<void> {
  try {
    if (session.connected()) await withDeadline(session.nc.drain(), drainMs, 'draining the connection to NATS');
  } catch {
    // It went away meanwhile.
  }
  await session.nc.close();
}
