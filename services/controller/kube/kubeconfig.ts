import { Agent, type AgentOptions, type RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import type { KubeAccess } from './access.ts';

/**
 * The access that kubeconfig files describe, with whatever they name: certificates, tokens, commands that make them. Requests of
 * the client library itself are not used: each makes a pool of connections of its own that nobody closes.
 */
export async function loadKubeconfig(files: readonly string[], namespace: string | undefined): Promise<KubeAccess> {
  const { KubeConfig: Config } = await import('@kubernetes/client-node');
  const read = (file: string) => {
    const config = new Config();
    config.loadFromFile(file);
    return config;
  };
  const [config = new Config(), ...others] = files.map(read);
  for (const other of others) config.mergeConfig(other);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('KUBECONFIG names no cluster: set a current context in it');
  if (cluster.proxyUrl !== undefined) {
    throw new Error('KUBECONFIG names a proxy-url, which is not supported: reach the API server without');
  }
  const options = await optionsOf(config);
  return {
    server: new URL(cluster.server),
    namespace: namespace ?? config.getContextObject(config.getCurrentContext())?.namespace ?? 'default',
    agent: new Agent({ ...connectionOf(options), keepAlive: true }),
    headers: async () => headersOf(await optionsOf(config)),
  };
}

async function optionsOf(config: KubeConfig): Promise<RequestOptions> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  return options;
}

function connectionOf({ ca, cert, key, rejectUnauthorized, servername }: RequestOptions): AgentOptions {
  const given = Object.entries({ ca, cert, key, rejectUnauthorized, servername });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

function headersOf({ headers, auth }: RequestOptions): Record<string, string> {
  const given = Object.entries(headers ?? {}).map(([name, value]) => [name, String(value).trim()]);
  if (typeof auth === 'string') given.push(['Authorization', `Basic ${Buffer.from(auth).toString('base64')}`]);
  return Object.fromEntries(given) as Record<string, string>;
}
