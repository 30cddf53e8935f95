import { join } from 'node:path';
import { nodeArguments, type ServiceName } from '@webcapture/shared/runtime/service-command.ts';
import { DiskWatch } from './disk-watch.ts';
import { startNats } from './nats.ts';
import { accountsOf, loginVariables, type NatsLogin, type NatsUsers } from './nats-users.ts';
import { keptPort } from './ports.ts';
import { startProcess } from './process.ts';
import { waitUntilReady } from './ready.ts';
import type { StartSettings } from './settings.ts';
import type { ProcessSpec } from './supervisor.ts';

export interface ServiceContext {
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
  readonly settings: StartSettings;
  readonly port: number;
  readonly apiKey: string;
  /** Value of `WEBCAPTURE_SECRETS_KEY`, for services that encrypt and decrypt secrets. */
  readonly secretsKey: string;
  readonly natsUrl: () => string;
  /** Operations ports by the name of the process. A restarted process keeps its port. */
  readonly opsPorts: Map<string, number>;
  /** Users of the private server; undefined with an existing one, whose login is in the environment. */
  readonly natsUsers: NatsUsers | undefined;
  readonly headlessShellPath: string;
  readonly chromiumPath: string;
  readonly filtersPath: string | undefined;
  readonly sandbox: 'on' | 'off';
  /** Code for the link to the dashboard; undefined without a link. */
  readonly signInCode: string | undefined;
  /** Receives each line that a service prints. */
  readonly output: (name: string, line: string) => void;
}

/** Variables of the environment that only some services may have. */
const notForAll = ['WEBCAPTURE_API_KEY', 'WEBCAPTURE_ADMIN_TOKEN', 'WEBCAPTURE_SECRETS_KEY', 'WEBCAPTURE_SIGN_IN_CODE'];

/** Time limit of the first start, which waits for the streams and for a browser on a cold disk. */
const readyDeadlineMs = 120_000;

/** Returns the spec of the private nats-server. It starts first, stops last, and keeps its first port. */
export function natsSpec(options: {
  readonly dataDir: string;
  readonly toolPath: string;
  readonly users: NatsUsers;
  /** Receives each line that the server prints. */
  readonly log: (line: string) => void;
  /** Receives lines about the disk. */
  readonly note: (line: string) => void;
  readonly onUrl: (url: string) => void;
}): ProcessSpec {
  let port: number | undefined;
  const config = `accounts: ${JSON.stringify(accountsOf(options.users.users), null, 2)}\n`;
  return {
    name: 'nats',
    startStage: 0,
    stopStage: 3,
    graceMs: 5000,
    launch: async (signal) => {
      const { dataDir, note } = options;
      const disk = new DiskWatch({ folder: dataDir, note, restart: () => void server.process.stop() });
      const log = (line: string) => {
        disk.readLine(line);
        options.log(line);
      };
      const server = await startNats({
        ...options,
        log,
        config,
        ...(port === undefined ? {} : { port }),
        signal,
      });
      ({ port } = server);
      options.onUrl(server.url);
      const ended = new AbortController();
      void server.process.exited.then(() => ended.abort());
      void disk.run(ended.signal);
      return { process: server.process, ready: () => Promise.resolve() };
    },
  };
}

/** Returns the specs of the front, the controller, and the renderers of each region. */
export function serviceSpecs(context: ServiceContext): readonly ProcessSpec[] {
  const { settings, env } = context;
  const renderers = settings.regions.flatMap(({ region, minRenderers }) =>
    Array.from({ length: minRenderers }, (_, index) =>
      serviceSpec(context, {
        service: 'renderer',
        name: minRenderers === 1 ? region : `${region}-${index}`,
        stopStage: 1,
        login: context.natsUsers?.login('renderer', region),
        env: () => ({
          ...withoutSecrets(env),
          WEBCAPTURE_REGION: region,
          WEBCAPTURE_POD: `${region}-${index}`,
          WEBCAPTURE_SECRETS_KEY: context.secretsKey,
          WEBCAPTURE_HEADLESS_SHELL_PATH: context.headlessShellPath,
          WEBCAPTURE_CHROMIUM_PATH: context.chromiumPath,
          WEBCAPTURE_CHROMIUM_SANDBOX: context.sandbox,
          ...(context.filtersPath === undefined ? {} : { WEBCAPTURE_FILTERS_PATH: context.filtersPath }),
        }),
      }),
    ),
  );
  const addresses = {
    PORT: String(context.port),
    WEBCAPTURE_PUBLIC_URL: settings.publicUrl ?? `http://127.0.0.1:${context.port}`,
  };
  const controller = serviceSpec(context, {
    service: 'controller',
    name: 'controller',
    stopStage: 2,
    login: context.natsUsers?.login('controller'),
    env: () => ({ ...withoutSecrets(env), ...addresses, WEBCAPTURE_POD: 'controller' }),
  });
  // The code is passed only once, because a restarted front does not know whether it has been used.
  let signInCode = context.signInCode;
  const front = serviceSpec(context, {
    service: 'front',
    name: 'front',
    stopStage: 0,
    login: context.natsUsers?.login('front'),
    env: () => {
      const code = signInCode;
      signInCode = undefined;
      return {
        ...env,
        ...addresses,
        ...(code === undefined ? {} : { WEBCAPTURE_SIGN_IN_CODE: code }),
        WEBCAPTURE_POD: 'front',
        WEBCAPTURE_HOST: settings.host,
        WEBCAPTURE_API_KEY: context.apiKey,
        WEBCAPTURE_SECRETS_KEY: context.secretsKey,
        WEBCAPTURE_HOME_REGION: settings.homeRegion,
      };
    },
  });
  return [controller, front, ...renderers];
}

interface Service {
  readonly service: ServiceName;
  readonly name: string;
  readonly stopStage: number;
  readonly login: NatsLogin | undefined;
  readonly env: () => NodeJS.ProcessEnv;
}

function serviceSpec(context: ServiceContext, { service, name, stopStage, login, env }: Service): ProcessSpec {
  const { options, program } = nodeArguments(service);
  return {
    name,
    service,
    startStage: 1,
    stopStage,
    graceMs: 10_000,
    launch: async (signal) => {
      const opsPort = await keptPort(context.opsPorts.get(name));
      context.opsPorts.set(name, opsPort);
      const process = await startProcess({
        name,
        command: globalThis.process.execPath,
        args: [...options, join(context.root, program)],
        cwd: context.root,
        env: {
          ...env(),
          WEBCAPTURE_NATS_URL: context.natsUrl(),
          ...(login === undefined ? {} : loginVariables(login)),
          WEBCAPTURE_OPS_HOST: '127.0.0.1',
          WEBCAPTURE_OPS_PORT: String(opsPort),
          WEBCAPTURE_REGIONS: context.settings.regions.map((it) => `${it.region}:${it.minRenderers}`).join(','),
          WEBCAPTURE_EGRESS_ALLOW: context.settings.egressAllow,
        },
        onLine: (line) => context.output(name, line),
      });
      const ended = new AbortController();
      void process.exited.then(() => ended.abort(new Error(`${name} ended`)));
      const life = AbortSignal.any([signal, ended.signal]);
      return {
        process,
        ready: (onNotReady) => waitUntilReady(opsPort, { deadlineMs: readyDeadlineMs, signal: life, onNotReady }),
      };
    },
  };
}

function withoutSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !notForAll.includes(name)));
}
