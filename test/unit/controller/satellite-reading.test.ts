import { describe, expect, test } from 'vitest';
import type { StatusReport } from '@webcapture/shared/api/status.ts';
import type { FleetConfig } from '@webcapture/shared/queue/fleet-config.ts';
import { notJoined, readSatellite, type SatelliteView } from '../../../services/controller/health/satellite-reading.ts';
import { fake } from '../../harness/fake.ts';
import { quietReport } from '../../harness/quiet-report.ts';

const lastCheckedAt = '2026-01-01T00:00:00Z';

const hubWith = (regions: string, storage = 'nats') =>
  ({
    format: 1,
    hub: { id: 'hub', name: 'webcapture/wc', version: '0.2.0' },
    minSatelliteVersion: '0.2.0',
    values: { regions, storage },
    at: 0,
  }) as unknown as FleetConfig;

const statusOf = (...regions: string[]): SatelliteView['status'] => {
  const components = regions.map((region) => ({
    name: `engine.${region}`,
    status: 'major_outage' as const,
    lastCheckedAt,
  }));
  return { report: { ...quietReport, components, overall: 'major_outage' }, ageMs: 0 };
};

/** A satellite with the region eu-west that has joined. */
const joined: SatelliteView = {
  connection: null,
  isConnected: true,
  fleetConfig: hubWith('us-east:1,eu-west:1'),
  unreadForMs: 2000,
  status: statusOf('us-east', 'eu-west'),
  upForMs: 500,
  staleMs: 30_000,
  fleet: fake({ fresh: () => [], silent: () => [] }),
  clusters: fake({ of: () => null }),
};

const read = (view: SatelliteView) =>
  readSatellite({ regions: [{ region: 'eu-west', minRenderers: 1 }], storage: { bucket: undefined } }, view, 0);

describe('a satellite', () => {
  test('has joined when the hub shows a status of its region', () => {
    expect(notJoined(read(joined))).toBeNull();
  });

  const waiting = /^waiting for the hub to show the status/;
  test.each<[string, Partial<SatelliteView>, RegExp]>([
    ['is connecting', { isConnected: false, fleetConfig: undefined, status: null }, waiting],
    ['has not read the configuration of the hub yet', { fleetConfig: undefined, status: null }, waiting],
    ['has read no status yet', { status: null }, waiting],
    ['has read a status from before the hub had the region', { status: statusOf('us-east') }, waiting],
    [
      'has a region that the hub does not have',
      { fleetConfig: hubWith('us-east:1') },
      /does not have the region eu-west/,
    ],
    ['keeps files in another store', { fleetConfig: hubWith('eu-west:1', 'gs://theirs/') }, /keeps files in nats/],
    [
      'is refused by NATS',
      { connection: { reason: 'AuthenticationFailed', message: 'NATS refuses satellite' } },
      /NATS refuses/,
    ],
  ])('has not joined while it %s', (_, changes, why) => {
    expect(notJoined(read({ ...joined, ...changes }))).toMatch(why);
  });

  const old = { ...joined.status, ageMs: 112_000 } as NonNullable<SatelliteView['status']>;
  test.each<[string, Partial<SatelliteView>, string]>([
    [
      'the hub, if its status does not change',
      { status: old },
      'this satellite is connected to NATS, but the hub webcapture/wc has written no status for 112 s; check the controllers of the hub',
    ],
    [
      'NATS, if it does not answer',
      { status: old, unreadForMs: 111_000 },
      'this satellite is connected to NATS, but NATS has not answered it for 111 s',
    ],
    [
      'its own connection, if that is lost',
      { status: old, unreadForMs: 111_000, connection: { reason: 'FleetUnreachable', message: 'the connection' } },
      'the connection',
    ],
  ])('names the side that is unreachable: %s', (_, changes, message) => {
    expect(read({ ...joined, ...changes }).problems.get('eu-west')).toEqual({ reason: 'FleetUnreachable', message });
  });

  test('shows the status of the hub for a region that is not installed yet', () => {
    const component = {
      name: 'engine.eu-west',
      status: 'major_outage' as const,
      message: 'not installed yet',
      lastCheckedAt,
    };
    const { report } = statusOf('us-east') ?? {};
    const status = { report: { ...(report as StatusReport), pending: [component] }, ageMs: 0 };
    expect(read({ ...joined, status }).report?.components).toEqual([component]);
  });

  test('has not joined before its first reading', () => {
    expect(notJoined(null)).toMatch(waiting);
  });
});
