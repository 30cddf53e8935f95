import { join } from 'node:path';
import {
  copySecretsToHub,
  copySecretsToSatellite,
  createNatsSecrets,
  deleteNatsSecrets,
  natsPasswords,
} from '../documented-secrets.ts';
import type { Cluster } from '../cluster.ts';
import { act, capture, check, makeKey, isUp, until, type Session, type StatusFact, type Step } from '../session.ts';
import {
  far,
  install,
  joining,
  linkUrl,
  near,
  ofSatellite,
  region,
  renamed,
  satelliteOf,
  startLink,
  startNats,
  unknown,
  untilReason,
  usersOf,
} from '../two-clusters.ts';
import { startClient } from './install.ts';

/** Returns the status and message of the satellite's region in GET /status. */
async function shown(session: Session): Promise<string> {
  const [fact] = await act<StatusFact>(session, ['status', '0.1']);
  return `${fact?.components?.[region]}: ${fact?.messages?.[region]}`;
}

export const untilShown = (session: Session, what: RegExp, deadlineMs = 60_000) =>
  until(
    `GET /status to show ${what} for the satellite's region`,
    async () => {
      const said = await shown(session);
      if (what.test(said)) return said;
      throw new Error(said);
    },
    deadlineMs,
  );

/** Restricts the pods of the namespace, and installs the CRDs. */
async function prepare(cluster: Cluster, { chart }: Session): Promise<void> {
  const restriction = 'pod-security.kubernetes.io/enforce=restricted';
  await cluster.kubectl(['label', 'namespace', cluster.namespace, restriction]);
  await cluster.kubectl(['apply', '--server-side', '-f', join(chart, 'crds/renderregions.yaml')]);
}

export const installHub: Step = {
  title: `a hub with ${near} and NATS over TLS is installed, with the Secrets of the documented commands`,
  vital: true,
  run: async (session) => {
    const { cluster } = session;
    await createNatsSecrets(session, usersOf(unknown, renamed));
    await copySecretsToHub(session);
    await prepare(cluster, session);
    await startNats(session, await natsPasswords(session));
    await startLink(session);
    await install(cluster, session, {
      ...joining('tls://nats:4222'),
      regions: [{ name: near }],
      otherRegions: [{ name: far, replicas: 1 }],
    });
    await copySecretsToSatellite(session, usersOf(unknown, renamed));
    await prepare(satelliteOf(session), session);
    await deleteNatsSecrets(session);
    await startClient(session);
    await makeKey(session);
    const fact = await capture(session, { html: '<h1>near</h1>', region: near });
    check(fact.status === 200 && fact.region === near, JSON.stringify(fact));
    const refused = await capture(session, { html: '<h1>far</h1>', region: far });
    check(refused.code === 'REGION_UNAVAILABLE', JSON.stringify(refused));
    return until(
      'GET /status to exclude the region',
      async () => {
        const [status] = await act<StatusFact>(session, ['status', '0.1']);
        const message = status?.messages?.['engine'] ?? '';
        const isOut = status !== undefined && status.components?.[region] === undefined && isUp(status.overall);
        return isOut && message.includes(`${far} is not installed yet`) && message;
      },
      60_000,
    );
  },
};

export const joinSatellite: Step = {
  title: `a satellite with ${far} joins the hub over TLS`,
  vital: true,
  run: async (session) => {
    const url = await linkUrl(session);
    const start = Date.now();
    await install(satelliteOf(session), session, { ...ofSatellite(url), regions: [{ name: far }] });
    const readyMs = Date.now() - start;
    const said = await untilShown(session, /^operational: 1 of 1 renderers healthy$/, 120_000);
    await untilReason(session, 'Operational');
    // The css is encrypted with the secrets-key, which was copied.
    const fact = await capture(session, { html: '<h1>far</h1>', css: 'h1 { color: red }', region: far });
    check(fact.status === 200 && fact.region === far, JSON.stringify(fact));
    return `ready after ${Math.round(readyMs / 1000)} s; /status shows "${said}"`;
  },
};
