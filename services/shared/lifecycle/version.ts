import manifest from '../package.json' with { type: 'json' };

/** The version of the software, the same for all services. */
export const version: string = manifest.version;
