export interface BannerOptions {
  readonly host: string;
  readonly port: number;
  readonly apiKey: string;
  /** Code with which the user signs in to the dashboard once. If undefined, the user needs the API key. */
  readonly signInCode: string | undefined;
  readonly dataDir: string;
  /** `gs://…` of the bucket; undefined if files are in the data folder. */
  readonly files: string | undefined;
  readonly regions: readonly string[];
  readonly natsUrl: string;
  /** Operations ports by the name of the process. */
  readonly opsPorts: ReadonlyMap<string, number>;
}

/** Returns the text that is printed when all processes are ready; the curl lines can be pasted into a shell. */
export function banner(options: BannerOptions): string {
  const { host, port, apiKey, signInCode, dataDir, files, regions } = options;
  const address = `http://${reachable(host)}:${port}`;
  const curl = (body: object, file: string) =>
    `curl -sS --fail-with-body ${address}/capture -H ${quote(`Authorization: Bearer ${apiKey}`)} ` +
    `-H 'Content-Type: application/json' -d ${quote(JSON.stringify(body))} -o ${file}`;
  return `
  webcapture is ready. Open the dashboard:

    ${address}/dashboard/${signInCode === undefined ? '' : `#code=${signInCode}`}

${signInCode === undefined ? '  Sign in with the API key.' : '  The link signs in by itself, once, in the next ten minutes, on this machine. Later, sign in with the API key.'}

    address   ${address}   (status: ${address}/status, reference: ${address}/docs)
    API key   ${apiKey}
    regions   ${regions.join(', ')}
    data      ${dataDir}${files === undefined ? '' : `\n    files     ${files}`}
    NATS      ${withoutLogin(options.natsUrl)}

  Operations ports, with /metrics, /readyz and /livez:

${opsLines(options.opsPorts)}

  Capture a page:
    ${curl({ url: 'https://example.com', responseType: 'file' }, 'capture.png')}

  Without internet access:
    ${curl({ html: '<h1>Hello</h1>', responseType: 'file' }, 'hello.png')}

  Ctrl-C stops everything.
`;
}

/** Returns a line for each process with its name, padded, and its address. */
function opsLines(ports: ReadonlyMap<string, number>): string {
  const names = [...ports.keys()].toSorted();
  const width = Math.max(...names.map((name) => name.length));
  return names.map((name) => `    ${name.padEnd(width)}   http://127.0.0.1:${ports.get(name)}`).join('\n');
}

/** The address of an existing server may contain a password. */
const withoutLogin = (natsUrl: string) => natsUrl.replaceAll(/(^|\/\/|,)[^@,/]*@/g, '$1');

/** Quotes an argument for a POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Returns an address for connections. It differs from the host to listen on if that means all addresses. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
