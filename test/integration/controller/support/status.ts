import type { ComponentStatus, StatusReport } from '@webcapture/shared/api/status.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { until } from '../../../harness/until.ts';

/** Returns the current report of the controller. */
export async function reportOf(session: NatsSession): Promise<StatusReport | undefined> {
  return (await new Entries(session, 'live').get<StatusReport>('status'))?.value;
}

async function componentOf(session: NatsSession, name: string): Promise<ComponentStatus | undefined> {
  return (await reportOf(session))?.components.find((component) => component.name === name);
}

/** Waits until a component has a status; returns the component and the time that it took. */
export async function untilShown(
  session: NatsSession,
  name: string,
  status: ComponentStatus['status'],
  deadlineMs = 30_000,
): Promise<{ component: ComponentStatus; tookMs: number }> {
  const start = performance.now();
  const component = await until(
    `${name} to be ${status}`,
    async () => {
      const found = await componentOf(session, name);
      return found?.status === status ? found : undefined;
    },
    { deadlineMs },
  );
  return { component, tookMs: Math.round(performance.now() - start) };
}
