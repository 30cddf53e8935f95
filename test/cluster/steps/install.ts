import { readFile } from 'node:fs/promises';
import { images } from '../images.ts';
import { startPod } from '../start-pod.ts';
import {
  capture,
  check,
  clientPod,
  fullname,
  makeKey,
  noOutage,
  readyPods,
  regions,
  release,
  type Session,
  type Step,
} from '../session.ts';

const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted' };

/** Starts an idle pod with the image of the fronts outside the release, which runs the actions of a client. */
export async function startClient({ cluster }: Session): Promise<void> {
  const code = await readFile(new URL('../client.mjs', import.meta.url), 'utf8');
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: clientPod },
    data: { 'client.mjs': code },
  });
  await startPod(cluster, {
    name: clientPod,
    labels: { app: clientPod },
    container: {
      image: images.front,
      command: ['sleep', 'infinity'],
      env: [
        { name: 'FRONT', value: `http://${fullname}-front` },
        { name: 'ADMIN_TOKEN', valueFrom: { secretKeyRef: { name: `${fullname}-auth`, key: 'admin-token' } } },
      ],
      volumeMounts: [{ name: 'client', mountPath: '/client' }],
    },
    volumes: [{ name: 'client', configMap: { name: clientPod } }],
  });
}

export const installSteps: readonly Step[] = [
  {
    title: 'helm install with no values, in a namespace where Pod Security restricted is enforced',
    vital: true,
    run: async (session) => {
      const { cluster, chart, imageArgs } = session;
      await cluster.apply({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: cluster.namespace, labels: restricted },
      });
      const start = Date.now();
      await cluster.helm(['install', release, chart, ...imageArgs, '--wait', '--timeout', '8m']);
      return `everything ready after ${((Date.now() - start) / 1000).toFixed(1)} s`;
    },
  },
  {
    title: 'helm test captures in each region and format',
    run: async ({ cluster }) => {
      const output = await cluster.helm(['test', release, '--timeout', '5m']).catch(async (error: unknown) => {
        const logs = await cluster.kubectl(['logs', `${fullname}-test`]).catch(String);
        throw new Error(`${String(error)}\n${logs}`);
      });
      return /Phase: +Succeeded/.exec(output)?.[0];
    },
  },
  {
    title: 'a client gets files through the Service, from each region and in each format',
    vital: true,
    run: async (session) => {
      await startClient(session);
      await makeKey(session);
      const wanted = {
        png: ['image/png', '89504e47'],
        jpeg: ['image/jpeg', 'ffd8ff'],
        webp: ['image/webp', '52494646'],
        pdf: ['application/pdf', '25504446'],
      };
      const times: string[] = [];
      for (const region of regions) {
        for (const [format, [type, head = '']] of Object.entries(wanted)) {
          const request = { html: `<h1 lang=ja>こんにちは ${region}</h1>`, format, region, responseType: 'file' };
          const fact = await capture(session, request);
          check(
            fact.status === 200 && fact.type === type && fact.head?.startsWith(head) === true,
            `${region} ${format}: ${JSON.stringify(fact)}`,
          );
          times.push(`${region} ${format} ${fact.ms} ms`);
        }
      }
      return times.join(', ');
    },
  },
  {
    title: 'antiBot works with the full browser of the image',
    run: async (session) => {
      const fact = await capture(session, { html: '<h1>full browser</h1>', antiBot: true, responseType: 'file' });
      check(fact.status === 200, JSON.stringify(fact));
      return `${fact.ms} ms`;
    },
  },
  {
    title: '/status is operational',
    run: async (session) => {
      const shown = await noOutage(session);
      check(shown === 'operational', shown);
      return undefined;
    },
  },
  {
    title: 'no pod runs as root, has an unnecessary token, or can write outside its volumes',
    run: async (session) => {
      for (const [component, count] of [
        ['front', 2],
        ['renderer', 2],
        ['controller', 2],
      ] as const) {
        const [pod] = await readyPods(session, component, count);
        const probe =
          'const fs=require("fs");let w="no";try{fs.writeFileSync("/opt/webcapture/x","");w="yes"}catch{}' +
          ';console.log(process.getuid(),w,fs.existsSync("/var/run/secrets/kubernetes.io/serviceaccount/token"))';
        const seen = (await session.cluster.exec(pod?.metadata.name ?? '', ['node', '-e', probe])).trim();
        check(seen === `10001 no ${component === 'controller'}`, `${component}: ${seen}`);
      }
      return undefined;
    },
  },
];
