// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { regions, type Region } from '@webcapture/shared/runtime/regions.ts';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { resultSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import { natsConfigOf, passwordOf, secretKeyOf, startChartNats, type ChartNats } from '../../harness/chart-nats.ts';
import { envOf, find, helmDeadlineMs, planOf, podOf, render, type KubeObject } from '../../harness/helm.ts';
import { silentLog, streamSettings } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { permissions, subjectFor } from '../../../deploy/local/nats-users.ts';
import { provision } from '../../../services/controller/streams.ts';

let defaults: readonly KubeObject[];
beforeAll(async () => {
  defaults = await render();
}, helmDeadlineMs);

describe('the users of NATS', () => {
  const natsPod = (objects: readonly KubeObject[]) => podOf(find(objects, 'StatefulSet', 'wc-webcapture-nats'));
  const keysOf = (objects: readonly KubeObject[]) =>
    Object.fromEntries((natsPod(objects)?.containers[0]?.env ?? []).map((it) => [it.name, secretKeyOf(it)?.key]));
  const keyOfEach = (names: readonly Region[]) =>
    Object.fromEntries([
      ['CONTROLLER_PASSWORD', 'controller-password'],
      ['FRONT_PASSWORD', 'front-password'],
      ...names.map((it) => [`RENDERER_${it.toUpperCase().replace('-', '_')}_PASSWORD`, `renderer-${it}-password`]),
    ]) as Readonly<Record<string, string>>;

  test('exist for each service and for the renderers of each region, each with its own password', () => {
    const generated = planOf(defaults).secrets.find(({ name }) => name === 'wc-webcapture-nats-auth');
    const keys = {
      ...keyOfEach(regions),
      BACKUP_PASSWORD: 'backup-password',
      OPERATOR_PASSWORD: 'operator-password',
    };
    expect(keysOf(defaults)).toEqual(keys);
    expect(generated?.keys.toSorted()).toEqual(Object.values(keys).toSorted());
    for (const region of ['us-east', 'eu-west']) {
      const env = podOf(find(defaults, 'Deployment', `wc-webcapture-renderer-${region}`))?.containers[0]?.env ?? [];
      expect(env.flatMap((it) => secretKeyOf(it) ?? [])).toEqual([
        { name: 'wc-webcapture-nats-auth', key: `renderer-${region}-password` },
        { name: 'wc-webcapture-auth', key: 'secrets-key', optional: true },
      ]);
    }
  });

  test(
    'of a new region exist already, so that the embedded server is not restarted',
    async () => {
      const added = await render({ regions: [{ name: 'us-west' }, { name: 'eu-west' }, { name: 'us-east' }] });
      expect(find(added, 'StatefulSet', 'wc-webcapture-nats')).toEqual(
        find(defaults, 'StatefulSet', 'wc-webcapture-nats'),
      );
    },
    helmDeadlineMs,
  );

  test(
    'are those of the installed regions if the operator sets the passwords',
    async () => {
      const otherRegions = [{ name: 'asia-east', replicas: 1 }];
      const own = await render({ nats: { existingSecret: 'mine' }, otherRegions });
      expect(keysOf(own)).toEqual(keyOfEach(['asia-east', 'eu-west', 'us-east']));
      const used = own.flatMap((it) => podOf(it)?.containers ?? []).flatMap(({ env = [] }) => env);
      const passwords = used.flatMap((it) => secretKeyOf(it) ?? []).filter(({ key }) => key.endsWith('-password'));
      expect(new Set(passwords.map(({ name }) => name))).toEqual(new Set(['mine']));
    },
    helmDeadlineMs,
  );

  test(
    'a new region of another cluster restarts no renderer, and controllers know that it is elsewhere',
    async () => {
      const more = await render({ otherRegions: [{ name: 'asia-east', replicas: 1 }] });
      const renderer = (of: readonly KubeObject[]) => find(of, 'Deployment', 'wc-webcapture-renderer-us-east');
      expect(renderer(more)).toEqual(renderer(defaults));
      expect(envOf(find(more, 'Deployment', 'wc-webcapture-controller'))).toMatchObject({
        WEBCAPTURE_REGIONS: 'us-east:1,eu-west:1,asia-east:1',
        WEBCAPTURE_OTHER_REGIONS: 'asia-east',
      });
    },
    helmDeadlineMs,
  );

  describe('on a server with the configuration of the chart', () => {
    let nats: ChartNats;
    const open: NatsSession[] = [];
    beforeAll(async () => {
      nats = await startChartNats(defaults);
      const controller = await signIn('controller');
      await provision(controller.jsm, streamSettings, ['us-east', 'eu-west']);
    });
    afterAll(async () => {
      await Promise.all(open.map(({ nc }) => nc.close()));
      await nats.server.stop({ graceMs: 0 });
    });

    /** Connects as a pod of a Deployment. `overrides` make it use another identity. */
    async function signIn(
      deployment: string,
      overrides: { user?: string; inboxPrefix?: string; url?: string } = {},
    ): Promise<NatsSession> {
      const object = find(defaults, 'Deployment', `wc-webcapture-${deployment}`);
      const { WEBCAPTURE_NATS_USER: user = '', WEBCAPTURE_REGION: region } = envOf(object);
      const variable = podOf(object)?.containers[0]?.env?.find(({ name }) => name === 'WEBCAPTURE_NATS_PASSWORD');
      const session = await connectNats({
        url: nats.url,
        user,
        password: passwordOf(defaults, variable && secretKeyOf(variable)),
        inboxPrefix: `_INBOX.${region === undefined ? deployment : `renderer.${region}`}`,
        name: 'test',
        log: silentLog,
        signal: AbortSignal.timeout(30_000),
        ...overrides,
      });
      open.push(session);
      return session;
    }

    test('has every subject of the list of permissions, for each region', () => {
      // Satellites use NATS servers of the operator.
      const { satellite: _, ...ofHub } = permissions;
      const subjects = Object.entries(ofHub).flatMap(([service, user]) =>
        [...user.publish, ...user.subscribe]
          .flatMap((it) => it.subjects)
          .flatMap((subject) =>
            service === 'renderer' ? regions.map((region) => subjectFor(subject, { region })) : subjectFor(subject, {}),
          ),
      );
      const config = natsConfigOf(defaults);
      expect(subjects.filter((subject) => !config.includes(JSON.stringify(subject)))).toEqual([]);
      expect(config).not.toMatch(/\{(?:region|prefix)\}/);
      const streamed = permissions.renderer.publish.filter(({ responses }) => responses === 'stream');
      const exported = [...config.matchAll(/service: "([^"]+)", response_type: stream,/g)].map(
        ([, subject]) => subject,
      );
      expect(exported).toEqual(
        regions
          .toSorted()
          .flatMap((region) => streamed.flatMap((it) => it.subjects).map((it) => subjectFor(it, { region }))),
      );
    });

    test('controllers and fronts share the secret of job tickets, regardless of which creates it', async () => {
      const ticket = { account: 'a', uuid: 'u', revision: 0, region: 'us-east', object: 'u.png' } as const;
      const signed = await new Tickets(await signIn('controller')).sign(ticket);
      expect(await new Tickets(await signIn('front')).open(signed)).toEqual(ticket);
    });

    test.each<[Region, Region]>([
      ['us-east', 'eu-west'],
      ['eu-west', 'us-east'],
    ])('renderers of %s can publish results of their region, but not of %s', async (region, other) => {
      const renderer = await signIn(`renderer-${region}`);
      expect((await renderer.js.publish(resultSubject(region, 'u'), '{}')).stream).toBe(streamNames.results);
      for (const subject of [resultSubject(other, 'u'), `$KV.live.fleet.${other}.p`, `files.part.${other}.p`]) {
        await expect(renderer.js.publish(subject, '{}')).rejects.toThrow(/permissions violation/i);
      }
      const otherRenderer = await signIn(`renderer-${region}`, { inboxPrefix: `_INBOX.renderer.${other}` });
      await expect(otherRenderer.js.publish(resultSubject(region, 'v'), '{}')).rejects.toThrow(
        /permissions violation/i,
      );
    });

    test('responses to requests of renderers stay in their account', async () => {
      const controller = await signIn('controller');
      const heard: string[] = [];
      controller.nc.subscribe('$KV.live.leader', { callback: (_, message) => void heard.push(message.string()) });
      await controller.nc.flush();
      const renderer = await signIn('renderer-us-east');
      await renderer.js.publish('files.part.us-east.a.b.0', 'part');
      const read = '$JS.API.DIRECT.GET.FILES.files.html.us-east.missing';
      renderer.nc.publish(read, '', { reply: '$KV.live.leader' });
      renderer.nc.publish('files.part.us-east.a.b.1', 'part', { reply: '$KV.live.leader' });
      await renderer.nc.request(read, '');
      await controller.js.publish('$KV.live.leader', 'last');
      await until('the last message', () => heard.includes('last'));
      expect(heard).toEqual(['last']);
    });

    test.each(['renderer-eu-west', 'renderer', 'front', 'controller'])(
      'the password of renderers of us-east is refused for the user %s',
      async (user) => {
        await expect(signIn('renderer-us-east', { user })).rejects.toThrow(/authorization/i);
      },
    );
  });
});
