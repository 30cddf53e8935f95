import { capture, check, fullname, readyPods, type Session, type Step } from '../session.ts';

/** Tries a TCP connection from a pod. Returns `open` or the error code; `TIMEOUT` means that packets are dropped. */
async function reach({ cluster }: Session, pod: string, host: string, port: number): Promise<string> {
  const code =
    `const s=require("net").connect({host:${JSON.stringify(host)},port:${port}});` +
    'const end=(w)=>{console.log(w);process.exit()};s.once("connect",()=>end("open"));' +
    's.once("error",(e)=>end(e.code));setTimeout(()=>end("TIMEOUT"),3000)';
  return (await cluster.exec(pod, ['node', '-e', code])).trim();
}

interface ServiceList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly spec: { readonly clusterIP: string };
  }[];
}

export const networkSteps: readonly Step[] = [
  {
    title: 'a renderer reaches NATS, but not the API server, the fronts, the controllers or other pods',
    run: async (session) => {
      const { cluster } = session;
      const [renderer] = await readyPods(session, 'renderer', 2);
      const from = renderer?.metadata.name ?? '';
      const { items } = await cluster.get<ServiceList>(['services']);
      const address = (name: string) => items.find(({ metadata }) => metadata.name === name)?.spec.clusterIP ?? name;
      const client = (await cluster.get<{ status: { podIP: string } }>(['pod', 'client'])).status.podIP;
      const seen = {
        nats: await reach(session, from, `${fullname}-nats`, 4222),
        natsMonitor: await reach(session, from, `${fullname}-nats-0.${fullname}-nats-headless`, 8222),
        apiServer: await reach(session, from, 'kubernetes.default.svc', 443),
        front: await reach(session, from, address(`${fullname}-front`), 80),
        controller: await reach(session, from, address(`${fullname}-controller`), 9092),
        pod: await reach(session, from, client, 80),
        // An address for documentation: no host has it, but no policy blocks it either.
        outside: await reach(session, from, '198.51.100.1', 80),
      };
      check(seen.nats === 'open', `NATS: ${JSON.stringify(seen)}`);
      for (const name of ['natsMonitor', 'apiServer', 'front', 'controller', 'pod'] as const) {
        check(seen[name] === 'TIMEOUT', `${name} is not closed: ${JSON.stringify(seen)}`);
      }
      return JSON.stringify(seen);
    },
  },
  {
    title: 'pods outside the release reach only the fronts',
    run: async (session) => {
      const [renderer] = await session.cluster.pods('renderer');
      const seen = {
        front: await reach(session, 'client', `${fullname}-front`, 80),
        nats: await reach(session, 'client', `${fullname}-nats`, 4222),
        controller: await reach(session, 'client', `${fullname}-controller`, 9092),
        renderer: await reach(session, 'client', renderer?.status.podIP ?? '', 9091),
      };
      check(seen.front === 'open', JSON.stringify(seen));
      check(
        seen.nats === 'TIMEOUT' && seen.controller === 'TIMEOUT' && seen.renderer === 'TIMEOUT',
        JSON.stringify(seen),
      );
      return JSON.stringify(seen);
    },
  },
  {
    title: 'the service itself also refuses to capture an internal address',
    run: async (session) => {
      const inside = await capture(session, { url: 'http://10.96.0.1/' });
      check(inside.status === 400 && inside.code === 'URL_BLOCKED', JSON.stringify(inside));
      const named = await capture(session, { url: `http://${fullname}-front.${session.cluster.namespace}.svc/` });
      check(named.status === 400 && named.code === 'URL_BLOCKED', JSON.stringify(named));
      return `${inside.message} ${named.message}`;
    },
  },
];
