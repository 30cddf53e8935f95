import { act, capture, check, isUp, until, type Session, type StatusFact } from './session.ts';

/** The promised limit: the death of a pod shows within 10 s. */
export const limitMs = 10_000;

/** A capture of 1.5 s; the client replaces `@` by a number. */
export const slow = JSON.stringify({ html: '<h1>@</h1>', delay: 1500, region: 'us-east' });

/** Returns the first fact after `from` in which the component has an outage. */
export function firstOutage(facts: readonly StatusFact[], component: string, from: number): StatusFact | undefined {
  return facts.find(
    ({ at, components }) => at >= from && components?.[component] !== undefined && !isUp(components[component]),
  );
}

/** Queues background captures, which must all complete although a process dies. */
export async function queueSome(session: Session, count: number): Promise<readonly string[]> {
  const uuids: string[] = [];
  for (let n = 0; n < count; n++) {
    const fact = await capture(session, { html: `<h1>background ${n}</h1>`, background: true, delay: 500 });
    check(fact.status === 200 && fact.uuid !== undefined, JSON.stringify(fact));
    uuids.push(fact.uuid);
  }
  return uuids;
}

/** Waits until the captures are completed. */
export async function allCompleted(session: Session, uuids: readonly string[]): Promise<void> {
  await until(
    `${uuids.length} background captures to complete`,
    async () => {
      const states = await act<{ state?: string }>(session, ['state', session.key, ...uuids]);
      const open = states.filter(({ state }) => state !== 'completed');
      if (open.length > 0) throw new Error(JSON.stringify(open.slice(0, 3)));
      return states.length === uuids.length;
    },
    180_000,
    2000,
  );
}
