import { expect, test } from 'vitest';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet({ renderers: {}, env: { WEBCAPTURE_EGRESS_ALLOW: '' } });
const site = useSite();

test.for(['127.0.0.1', 'localhost', 'LOCALHOST', 'localhost.', 'anything.localhost', '[::1]'])(
  'an operator who opens nothing does not even open %s',
  async (host) => {
    const visit = site().visit('/colour');
    const url = visit.url.replace('127.0.0.1', host);
    const refusal = await fleet().api.refused({ url });
    expect(refusal).toMatchObject({ status: 400, code: 'URL_BLOCKED' });
    expect(visit.requests).toEqual([]);
  },
);
