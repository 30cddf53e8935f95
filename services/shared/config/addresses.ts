import type { EnvReader } from './env.ts';
import { portVariable, urlVariable } from './variables.ts';

/** How clients reach the service; without a slash at the end. Fronts and controllers must be told the same. */
export interface Addresses {
  readonly publicUrl: string;
  /** Files are at `<cdnUrl>/<name>`. */
  readonly cdnUrl: string;
}

export const addressVariables = {
  port: portVariable('PORT', {
    default: 3000,
    meaning:
      'Port on which the front serves clients. The controller uses it for the default of `WEBCAPTURE_PUBLIC_URL` only.',
  }),
  publicUrl: urlVariable('WEBCAPTURE_PUBLIC_URL', {
    default: 'http://localhost:3000',
    defaultText: '`http://localhost:<PORT>`',
    meaning: 'Address at which clients reach the fronts. Set it to the same value on fronts and controllers.',
  }),
  cdnUrl: urlVariable('WEBCAPTURE_CDN_URL', {
    default: 'http://localhost:3000/files',
    defaultText: '`<WEBCAPTURE_PUBLIC_URL>/files`',
    meaning:
      'Address at which clients fetch files: every `fileUrl` is this address, a slash and the name of the file. Set it to the same value on fronts and controllers.',
  }),
};

/** `port` is the one that the front listens on, for where nothing else is said. */
export function readAddresses(env: EnvReader, port: number): Addresses {
  const publicUrl = addressVariables.publicUrl.read(env, `http://localhost:${port}`);
  return { publicUrl, cdnUrl: addressVariables.cdnUrl.read(env, `${publicUrl}/files`) };
}
