import { act, capture, check, stands, until, type Session, type StatusFact } from './session.ts';

/** The limit of the contract: a pod's death shows within 10 s. */
export const limitMs = 10_000;

/** A capture of 1.5 s; `@` is its number. */
export const slow = JSON.stringify({ html: '<h1>@</h1>', delay: 1500, region: 'us-east' });

/** The first fact of a component in trouble after `from`. */
export function firstTrouble(facts: readonly StatusFact[], component: string, from: number): StatusFact | undefined {
  return facts.find(
    ({ at, components }) => at >= from && components?.[component] !== undefined && !stands(components[component]),
  );
}

/** Background captures that were accepted while something dies must all be there at the end. */
export async function queueSome(session: Session, count: number): Promise<readonly string[]> {
  const uuids: string[] = [];
  for (let n = 0; n < count; n++) {
    const fact = await capture(session, { html: `<h1>background ${n}</h1>`, background: true, delay: 500 });
    check(fact.status === 200 && fact.uuid !== undefined, JSON.stringify(fact));
    uuids.push(fact.uuid);
  }
  return uuids;
}

/** Waits until they are. */
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
