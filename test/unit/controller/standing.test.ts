import { expect, test } from 'vitest';
import type { FleetConfig, FleetValues } from '@webcapture/shared/queue/fleet-config.ts';
import { standingOf } from '../../../services/controller/leader/fleet-record.ts';

const values = (regions: string): FleetValues => ({
  regions,
  storage: 'nats',
  publicUrl: 'http://localhost:3000',
  cdnUrl: 'http://localhost:3000/files',
  defaultLimits: '',
  streamReplicas: '1',
  streamMaxBytes: '',
});

const record = (regions: string, generation: number): FleetConfig => ({
  format: 1,
  hub: { id: 'ours', name: 'webcapture/wc', version: '1.0.0' },
  minSatelliteVersion: '0.2.0',
  values: values(regions),
  joined: [],
  generation,
  at: 0,
});

test.each([
  ['a controller of a fleet without a record', null, 'ours', null, 'agrees'],
  ['one with the values of the record', record('here', 3), 'ours', null, 'agrees'],
  ['one of another installation with the values of the record', record('here', 3), 'theirs', null, 'agrees'],
  ['one of another installation', record('there', 3), 'theirs', null, 'foreign'],
  ['one that does not know its installation yet', record('there', 3), null, null, 'foreign'],
  ['one that has started with other values', record('there', 3), 'ours', null, 'newer'],
  ['one whose values were in an earlier record', record('there', 3), 'ours', 2, 'superseded'],
  ['one whose values were in a later record than the one that is back', record('there', 3), 'ours', 3, 'newer'],
] as const)('%s', (_, found, id, generation, standing) => {
  expect(standingOf(found, { id, values: values('here'), generation })).toBe(standing);
});
