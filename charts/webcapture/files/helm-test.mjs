// Run by `helm test`: makes a capture in each region and format through the Service, as a client would, with an API key of the account
// helm-test. It supplies HTML, so that the test works in a cluster without internet access.
const { FRONT, ADMIN_TOKEN, REGIONS } = process.env;

const say = (line) => void process.stdout.write(`${line}\n`);
const signatures = { png: '89504e47', jpeg: 'ffd8ff', webp: '52494646', pdf: '25504446' };
const account = 'helm-test';

async function call(method, path, token, body) {
  const response = await fetch(`${FRONT}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
    signal: AbortSignal.timeout(100_000),
  });
  const type = response.headers.get('content-type') ?? '';
  const bytes = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${bytes.toString().slice(0, 500)}`);
  return type.includes('json') ? JSON.parse(bytes.toString()).data : bytes;
}

/** A Service may answer some seconds after its pods are ready, and regions after their renderers. */
async function patiently(what, attempt) {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (tries === 20) throw error;
      say(`${what}: ${error.cause?.code ?? error.message}; retrying`);
      await new Promise((resolve) => setTimeout(resolve, 3000));
    }
  }
}

async function findAccount() {
  for (let cursor = ''; ;) {
    const page = await call('GET', `/admin/accounts?limit=100${cursor}`, ADMIN_TOKEN);
    const found = page.items.find(({ name }) => name === account);
    if (found !== undefined || page.nextCursor === null) return found;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

const { id } =
  (await patiently('the fronts', findAccount)) ??
  (await call('POST', '/admin/accounts', ADMIN_TOKEN, { name: account }));
const key = await call('POST', '/admin/keys', ADMIN_TOKEN, { accountId: id, name: 'helm test' });
try {
  for (const region of REGIONS.split(',')) {
    for (const [format, signature] of Object.entries(signatures)) {
      const start = performance.now();
      const body = {
        html: `<h1>${region} ${format}</h1>`,
        format,
        region,
        responseType: 'file',
        viewport: { width: 320, height: 200 },
      };
      const bytes = await patiently(`${region} ${format}`, () => call('POST', '/capture', key.key, body));
      if (!bytes.toString('hex', 0, 4).startsWith(signature))
        throw new Error(`${region}: the response is not a ${format} file`);
      say(`${region} ${format}: ${bytes.length} bytes in ${Math.round(performance.now() - start)} ms`);
    }
  }
} finally {
  await call('DELETE', `/admin/keys/${key.id}`, ADMIN_TOKEN);
}
say('all regions rendered all formats');
