import type { EnvReader } from './env.ts';

/** How clients reach the service; without a slash at the end. Fronts and controllers must be told the same. */
export interface Addresses {
  readonly publicUrl: string;
  /** Files are at `<cdnUrl>/<name>`. */
  readonly cdnUrl: string;
}

/** `port` is the one that the front listens on, for where nothing else is said. */
export function readAddresses(env: EnvReader, port: number): Addresses {
  const publicUrl = env.httpUrl('WEBCAPTURE_PUBLIC_URL', `http://localhost:${port}`);
  return { publicUrl, cdnUrl: env.httpUrl('WEBCAPTURE_CDN_URL', `${publicUrl}/files`) };
}
