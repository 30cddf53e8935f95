import { hostname } from 'node:os';
import { isNamePrefix, namePrefixRule } from '../nats/streams.ts';
import { type CaBundle, caBundleVariable, readCaBundle } from './ca-bundle.ts';
import { LoginFileError, type NatsLoginFiles, readLogin } from '../nats/login-files.ts';
import type { EnvReader } from './env.ts';
import { anyAddress, anyAddressText } from './listen-address.ts';
import { type InstalledRegion, parseRegions } from './regions.ts';
import {
  choiceVariable,
  optionalVariable,
  parsedVariable,
  portVariable,
  textVariable,
  urlVariable,
} from './variables.ts';

/** Configuration of every process. */
export interface CommonConfig {
  readonly nats: {
    readonly url: string;
    readonly user?: string;
    readonly password?: string;
    /** Files with the login, instead of `user` and `password`. */
    readonly loginFiles?: NatsLoginFiles;
    readonly tls?: NatsTls;
    /** The JetStream domain of the fleet; by default that of the servers. */
    readonly domain?: string;
    /** Prefix of all names of the fleet; empty by default. */
    readonly prefix: string;
  };
  /** The operations port: /metrics, /livez, /readyz. */
  readonly ops: { readonly host: string; readonly port: number };
  readonly logLevel: string;
  /** Name of this process in the fleet. */
  readonly pod: string;
  readonly regions: readonly InstalledRegion[];
  /** The operator's own certificate authorities. */
  readonly caBundle: CaBundle | undefined;
}

/** TLS of the connection to NATS. Files are read at each connection, so that they can be replaced. */
export interface NatsTls {
  /** Authorities of the servers' certificates; by default those that Node.js knows. */
  readonly caFile?: string;
  /** The client's certificate and its key. */
  readonly certFile?: string;
  readonly keyFile?: string;
  /** The name that the servers' certificates must have, which is sent as SNI. By default, it is the host of the address. */
  readonly serverName?: string;
  /** Whether TLS starts before the protocol of NATS, as for servers with `handshake_first`. */
  readonly handshakeFirst: boolean;
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

/** Variables of every service. */
export const commonVariables = {
  natsUrl: textVariable('WEBCAPTURE_NATS_URL', {
    default: 'nats://127.0.0.1:4222',
    meaning:
      'Addresses of the NATS servers, separated by commas. They must be version 2.14 or newer, with JetStream. An address may name a user and a password, as in `nats://user:password@host:4222`, where `WEBCAPTURE_NATS_USER` is not set. `tls://` requires TLS.',
  }),
  natsUser: optionalVariable('WEBCAPTURE_NATS_USER', {
    meaning: 'NATS user of this service. Set it together with `WEBCAPTURE_NATS_PASSWORD`.',
  }),
  natsPassword: optionalVariable('WEBCAPTURE_NATS_PASSWORD', {
    meaning: 'Password of the NATS user, or the content of its `.creds` file for servers in operator mode (JWT).',
  }),
  natsCredsFile: optionalVariable('WEBCAPTURE_NATS_CREDS_FILE', {
    meaning:
      'A `.creds` file with the JWT and the seed of a NATS user, for servers in operator mode. The service reads the files of a login at each connection, so they can be replaced while it runs. Set only one of `WEBCAPTURE_NATS_USER`, `WEBCAPTURE_NATS_CREDS_FILE` and `WEBCAPTURE_NATS_NKEY_SEED_FILE`. See [NATS of another provider](networks.md#nats-of-another-provider).',
  }),
  natsNkeySeedFile: optionalVariable('WEBCAPTURE_NATS_NKEY_SEED_FILE', {
    meaning: "File with the seed (`SU…`) of a NATS user's NKey.",
  }),
  natsJwtFile: optionalVariable('WEBCAPTURE_NATS_JWT_FILE', {
    meaning:
      'File with the JWT of the user of `WEBCAPTURE_NATS_NKEY_SEED_FILE`, for servers in operator mode, where JWT and seed are in two files.',
  }),
  natsCaFile: optionalVariable('WEBCAPTURE_NATS_CA_FILE', {
    defaultText: 'the authorities that Node.js knows',
    meaning:
      'File with the certificates of the authorities, in PEM, that sign the certificates of the NATS servers. This and the other variables for TLS, or an address that begins with `tls://`, make TLS required.',
  }),
  natsCertFile: optionalVariable('WEBCAPTURE_NATS_CERT_FILE', {
    meaning:
      'File with the client certificate, in PEM, that this service shows to NATS. Set it together with `WEBCAPTURE_NATS_KEY_FILE`.',
  }),
  natsKeyFile: optionalVariable('WEBCAPTURE_NATS_KEY_FILE', {
    meaning: 'File with the private key of the client certificate, in PEM.',
  }),
  natsTlsServerName: optionalVariable('WEBCAPTURE_NATS_TLS_SERVER_NAME', {
    defaultText: 'the host of the address',
    meaning: 'Name that the certificates of the NATS servers must have. It is sent as SNI.',
  }),
  natsTlsFirst: choiceVariable('WEBCAPTURE_NATS_TLS_FIRST', ['on', 'off'], {
    default: 'off',
    meaning:
      'Make the TLS handshake before anything else. Required by servers with `handshake_first`, and by load balancers that end TLS.',
  }),
  natsDomain: optionalVariable('WEBCAPTURE_NATS_DOMAIN', {
    defaultText: 'the domain of the servers of the address',
    meaning:
      'JetStream domain of the NATS servers of the fleet. Set it on a service that connects to a leaf node whose own JetStream has another domain.',
  }),
  caBundle: caBundleVariable,
  natsPrefix: parsedVariable('WEBCAPTURE_NATS_PREFIX', {
    type: '1 to 32 letters, digits, `-` or `_`',
    default: '',
    defaultText: 'none',
    parse: (prefix) => {
      if (isNamePrefix(prefix)) return prefix;
      throw new Error(`must be ${namePrefixRule}`);
    },
    meaning:
      'Prefix of the names of all streams, buckets and subjects. Installations with different prefixes can share a NATS account. Set it to the same value on all services, and never change it: an installation with another prefix is another one. See [Two installations in one account](networks.md#two-installations-in-one-account).',
  }),
  regions: parsedVariable('WEBCAPTURE_REGIONS', {
    type: 'list such as `us-east:1,eu-west:2`',
    default: 'us-east:1,eu-west:1',
    parse: parseRegions,
    meaning:
      'The installed regions, each with the number of renderers that it always keeps. A region with 0 may have no renderer; its captures then wait for one. Set it to the same value on all services.',
  }),
  pod: textVariable('WEBCAPTURE_POD', {
    default: hostname().replaceAll(/[^A-Za-z0-9_-]/g, '-'),
    defaultText: 'the host name',
    meaning: 'Name of this process in logs, heartbeats and leases. It must be unique in the fleet.',
  }),
  logLevel: choiceVariable('WEBCAPTURE_LOG_LEVEL', logLevels, {
    default: 'info',
    meaning: 'Lowest level that is logged. Logs are JSON lines on standard output.',
  }),
  opsHost: textVariable('WEBCAPTURE_OPS_HOST', {
    default: anyAddress,
    defaultText: anyAddressText,
    meaning: 'Address that the operations port listens on.',
  }),
  opsPort: portVariable('WEBCAPTURE_OPS_PORT', {
    default: 9090,
    defaultText: 'front `9090`, renderer `9091`, controller `9092`',
    meaning: 'The operations port: `/metrics`, `/livez` and `/readyz`. Do not expose it to clients.',
  }),
};

/** Reads the variables that all services share. Call it before `env.finish`. */
export function readCommonConfig(env: EnvReader, defaults: { opsPort: number }): CommonConfig {
  const pod = commonVariables.pod.read(env);
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(pod)) {
    env.problem('WEBCAPTURE_POD', 'must be 1 to 128 letters, digits, "-" or "_"');
  }
  const domain = commonVariables.natsDomain.read(env);
  if (domain !== undefined && !/^[A-Za-z0-9_-]{1,64}$/.test(domain)) {
    env.problem('WEBCAPTURE_NATS_DOMAIN', 'must be 1 to 64 letters, digits, "-" or "_"');
  }
  return {
    nats: {
      url: commonVariables.natsUrl.read(env),
      ...readNatsLogin(env),
      ...readNatsTls(env),
      ...(domain === undefined ? {} : { domain }),
      prefix: commonVariables.natsPrefix.read(env),
    },
    ops: { host: commonVariables.opsHost.read(env), port: commonVariables.opsPort.read(env, defaults.opsPort) },
    logLevel: commonVariables.logLevel.read(env),
    pod,
    regions: commonVariables.regions.read(env),
    caBundle: readCaBundle(env),
  };
}

function readNatsLogin(env: EnvReader): Pick<CommonConfig['nats'], 'user' | 'password' | 'loginFiles'> {
  const user = commonVariables.natsUser.read(env);
  const password = commonVariables.natsPassword.read(env);
  if ((user === undefined) !== (password === undefined)) {
    env.problem('WEBCAPTURE_NATS_USER', 'and WEBCAPTURE_NATS_PASSWORD must be set together');
  }
  const files = readNatsLoginFiles(env);
  if (files === undefined) return user !== undefined && password !== undefined ? { user, password } : {};
  const chosen = files.seed === undefined ? 'WEBCAPTURE_NATS_CREDS_FILE' : 'WEBCAPTURE_NATS_NKEY_SEED_FILE';
  const refuse = (name: string, rule: string) =>
    env.problem(name, `${rule} together with ${chosen}: log in to NATS in only one way`);
  if (user !== undefined || password !== undefined) refuse('WEBCAPTURE_NATS_USER', 'must not be set');
  if (commonVariables.natsUrl.read(env).includes('@')) refuse('WEBCAPTURE_NATS_URL', 'must not contain a user');
  if (files.creds !== undefined && files.seed !== undefined) refuse('WEBCAPTURE_NATS_CREDS_FILE', 'must not be set');
  return { loginFiles: files };
}

const loginFileRules = {
  creds: { variable: 'WEBCAPTURE_NATS_CREDS_FILE', rule: 'must name a .creds file' },
  seed: { variable: 'WEBCAPTURE_NATS_NKEY_SEED_FILE', rule: 'must name a file with the seed of a user' },
  jwt: { variable: 'WEBCAPTURE_NATS_JWT_FILE', rule: 'must name a file with the JWT of a user' },
} as const;

/** Reads the paths of the files and checks their content. A malformed file would otherwise be reported only at the first connection. */
function readNatsLoginFiles(env: EnvReader): NatsLoginFiles | undefined {
  const all = {
    creds: commonVariables.natsCredsFile.read(env),
    seed: commonVariables.natsNkeySeedFile.read(env),
    jwt: commonVariables.natsJwtFile.read(env),
  };
  const files: NatsLoginFiles = Object.fromEntries(Object.entries(all).filter(([, path]) => path !== undefined));
  if (Object.keys(files).length === 0) return undefined;
  if (files.jwt !== undefined && files.seed === undefined) {
    env.problem('WEBCAPTURE_NATS_JWT_FILE', 'needs WEBCAPTURE_NATS_NKEY_SEED_FILE: the seed of the user of the JWT');
  }
  try {
    readLogin(files);
  } catch (error) {
    if (!(error instanceof LoginFileError)) throw error;
    for (const { file, message } of error.problems) {
      const { variable, rule } = loginFileRules[file];
      env.problem(variable, `${rule}: ${message}`);
    }
  }
  return files;
}

function readNatsTls(env: EnvReader): { readonly tls?: NatsTls } {
  const files = {
    caFile: commonVariables.natsCaFile.read(env),
    certFile: commonVariables.natsCertFile.read(env),
    keyFile: commonVariables.natsKeyFile.read(env),
    serverName: commonVariables.natsTlsServerName.read(env),
  };
  const handshakeFirst = commonVariables.natsTlsFirst.read(env) === 'on';
  if ((files.certFile === undefined) !== (files.keyFile === undefined)) {
    env.problem('WEBCAPTURE_NATS_CERT_FILE', 'and WEBCAPTURE_NATS_KEY_FILE must be set together');
  }
  const set = Object.fromEntries(Object.entries(files).filter(([, value]) => value !== undefined));
  const isTlsAddress = /(?:^|,)\s*tls:\/\//.test(commonVariables.natsUrl.read(env));
  return isTlsAddress || handshakeFirst || Object.keys(set).length > 0 ? { tls: { ...set, handshakeFirst } } : {};
}

/** Addresses for clients, without a slash at the end. Fronts and controllers must have the same values. */
export interface Addresses {
  readonly publicUrl: string;
  /** Base URL of files: a file is at `<cdnUrl>/<name>`. */
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

/** @param port port of the front, for the default address */
export function readAddresses(env: EnvReader, port: number): Addresses {
  const publicUrl = addressVariables.publicUrl.read(env, `http://localhost:${port}`);
  return { publicUrl, cdnUrl: addressVariables.cdnUrl.read(env, `${publicUrl}/files`) };
}

interface NamedBucket {
  readonly bucket: string;
  /** Prefix of the names of all files in the bucket: `captures/`, or empty. */
  readonly prefix: string;
  /** Address of another server with the same API, without a slash at its end. */
  readonly endpoint?: string;
}

/** A bucket of Google Cloud Storage for files. With an endpoint, it is called without credentials. */
interface GcsConfig extends NamedBucket {
  /** Project for Google's library. Needed if the credentials do not contain it. */
  readonly project?: string;
}

/** A bucket of S3 for files. With an endpoint, the path of a URL contains the bucket. */
export interface S3Config extends NamedBucket {
  readonly region: string;
}

export type BucketConfig = GcsConfig | S3Config;

export const isS3 = (config: BucketConfig): config is S3Config => 'region' in config;

export interface StorageConfig {
  /** If undefined, files are stored in NATS. */
  readonly bucket: BucketConfig | undefined;
}

const prefixMeaning = 'Prefix of the names of all objects, such as `captures/`.';

export const storageVariables = {
  bucket: optionalVariable('WEBCAPTURE_GCS_BUCKET', {
    defaultText: 'none: files are kept in NATS',
    meaning:
      'Name of the Google Cloud Storage bucket that keeps the files, without `gs://`. See [storage](storage.md).',
  }),
  prefix: textVariable('WEBCAPTURE_GCS_PREFIX', { default: '', meaning: prefixMeaning }),
  project: optionalVariable('WEBCAPTURE_GCS_PROJECT', {
    defaultText: 'from the credentials',
    meaning: 'Google Cloud project, where the credentials do not name one.',
  }),
  endpoint: urlVariable('WEBCAPTURE_GCS_ENDPOINT', {
    default: '',
    defaultText: "Google's",
    meaning: 'Address of another server with the same JSON API, such as an emulator. It is called without credentials.',
  }),
  s3Bucket: optionalVariable('WEBCAPTURE_S3_BUCKET', {
    defaultText: 'none',
    meaning:
      'Name of the S3 bucket that keeps the files, without `s3://`, in place of `WEBCAPTURE_GCS_BUCKET`. See [storage](storage.md#a-bucket-of-s3).',
  }),
  s3Prefix: textVariable('WEBCAPTURE_S3_PREFIX', { default: '', meaning: prefixMeaning }),
  s3Region: textVariable('WEBCAPTURE_S3_REGION', {
    default: 'us-east-1',
    meaning: 'Region of the S3 bucket. Many servers other than Amazon accept any.',
  }),
  s3Endpoint: urlVariable('WEBCAPTURE_S3_ENDPOINT', {
    default: '',
    defaultText: "Amazon's",
    meaning: 'Address of another server with the S3 API. The bucket is then a part of the path, not of the host name.',
  }),
};

/** Reads the location of files, which all services share: a bucket, or by default the embedded store. */
export function readStorage(env: EnvReader): StorageConfig {
  const { bucket, prefix, project, endpoint, s3Bucket, s3Prefix, s3Region, s3Endpoint } = storageVariables;
  const gcs = readBucket(env, { bucket, prefix, endpoint });
  const s3 = readBucket(env, { bucket: s3Bucket, prefix: s3Prefix, endpoint: s3Endpoint });
  const [projectId, region] = [project.read(env), s3Region.read(env)];
  if (gcs !== undefined && s3 !== undefined) {
    env.problem(
      'WEBCAPTURE_S3_BUCKET',
      'must not be set together with WEBCAPTURE_GCS_BUCKET: files are kept in one bucket',
    );
  }
  if (gcs === undefined && projectId !== undefined) env.problem(project.name, `needs ${bucket.name}`);
  if (gcs !== undefined) return { bucket: { ...gcs, ...(projectId === undefined ? {} : { project: projectId }) } };
  return { bucket: s3 === undefined ? undefined : { ...s3, region } };
}

/** Reads the variables that buckets of both kinds have. */
function readBucket(
  env: EnvReader,
  variables: Pick<typeof storageVariables, 'bucket' | 'prefix' | 'endpoint'>,
): NamedBucket | undefined {
  const bucket = variables.bucket.read(env);
  const prefix = variables.prefix.read(env);
  const endpoint = variables.endpoint.read(env);
  const { name } = variables.bucket;
  if (bucket === undefined) {
    if (prefix !== '') env.problem(variables.prefix.name, `needs ${name}`);
    if (endpoint !== '') env.problem(variables.endpoint.name, `needs ${name}`);
    return undefined;
  }
  if (!/^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/.test(bucket)) {
    env.problem(name, `must be the name of a bucket, without gs://, s3:// or a path, not "${bucket}"`);
  }
  if (prefix !== '' && !/^(?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}\/){1,8}$/.test(prefix)) {
    env.problem(
      variables.prefix.name,
      `must be like captures/ or a/b/ (letters, digits, "-", "_", "."; a slash at its end, none at its start), not "${prefix}"`,
    );
  }
  return { bucket, prefix, ...(endpoint === '' ? {} : { endpoint }) };
}
