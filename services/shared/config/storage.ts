import type { EnvReader } from './env.ts';
import { optionalVariable, textVariable, urlVariable } from './variables.ts';

/** A bucket of Google Cloud Storage that files are kept in. */
export interface BucketConfig {
  readonly bucket: string;
  /** Of the names of all files in it: `captures/`, or empty. */
  readonly prefix: string;
  /** Another server than Google's, without a slash at its end: an emulator, which asks for no credentials. */
  readonly endpoint?: string;
  /** Told to Google's library, where it cannot find out by itself. */
  readonly project?: string;
}

export interface StorageConfig {
  /** Undefined: files are kept in NATS. */
  readonly bucket: BucketConfig | undefined;
}

export const storageVariables = {
  bucket: optionalVariable('WEBCAPTURE_GCS_BUCKET', {
    defaultText: 'none: files are kept in NATS',
    meaning:
      'Name of the Google Cloud Storage bucket that keeps the files, without `gs://`. See [storage](storage.md).',
  }),
  prefix: textVariable('WEBCAPTURE_GCS_PREFIX', {
    default: '',
    meaning: 'Prefix of the names of all objects, such as `captures/`.',
  }),
  project: optionalVariable('WEBCAPTURE_GCS_PROJECT', {
    defaultText: 'from the credentials',
    meaning: 'Google Cloud project, where the credentials do not name one.',
  }),
  endpoint: urlVariable('WEBCAPTURE_GCS_ENDPOINT', {
    default: '',
    defaultText: "Google's",
    meaning: 'Address of another server with the same JSON API, such as an emulator. It is called without credentials.',
  }),
};

/** Reads where files are kept, the same for every service: a bucket, or without one the embedded store. */
export function readStorage(env: EnvReader): StorageConfig {
  const bucket = storageVariables.bucket.read(env);
  const prefix = storageVariables.prefix.read(env);
  const endpoint = storageVariables.endpoint.read(env);
  const project = storageVariables.project.read(env);
  if (bucket === undefined) {
    const others = {
      WEBCAPTURE_GCS_PREFIX: prefix,
      WEBCAPTURE_GCS_ENDPOINT: endpoint,
      WEBCAPTURE_GCS_PROJECT: project,
    };
    for (const [name, value] of Object.entries(others)) {
      if (value) env.problem(name, 'needs WEBCAPTURE_GCS_BUCKET beside it: without a bucket, files are kept in NATS');
    }
    return { bucket: undefined };
  }
  if (!/^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/.test(bucket)) {
    env.problem('WEBCAPTURE_GCS_BUCKET', `must be the name of a bucket, without gs:// or a path, not "${bucket}"`);
  }
  if (prefix !== '' && !/^(?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}\/){1,8}$/.test(prefix)) {
    env.problem(
      'WEBCAPTURE_GCS_PREFIX',
      `must be like captures/ or a/b/ (letters, digits, "-", "_", "."; a slash at its end, none at its start), not "${prefix}"`,
    );
  }
  return {
    bucket: {
      bucket,
      prefix,
      ...(endpoint === '' ? {} : { endpoint }),
      ...(project === undefined ? {} : { project }),
    },
  };
}
