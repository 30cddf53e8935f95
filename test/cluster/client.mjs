// Runs in a pod of the cluster as a client of the service: captures go through the Service.
//   client.mjs key                       creates an account with high limits; prints its key
//   client.mjs capture KEY JSON          one capture; prints its result
//   client.mjs load KEY SECONDS WIDTH JSON   WIDTH concurrent captures without a pause; prints a line for each
//   client.mjs queue KEY SECONDS JSON REGION...   a background capture every 500 ms, rotating through the regions; prints a line for each
//   client.mjs usage KEY                  prints the tokens that the account has used
//   client.mjs retired                    prints the captures of removed regions
//   client.mjs status SECONDS            GET /status five times per second; prints a line for each change
//   client.mjs state KEY UUID...         prints the states of captures
//   client.mjs list KEY                  prints a line for each capture of the account
import { writeFileSync } from 'node:fs';

const { FRONT, ADMIN_TOKEN } = process.env;
const [action, ...args] = process.argv.slice(2);
const say = (fact) => void process.stdout.write(`${JSON.stringify(fact)}\n`);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function call(method, path, token, body, timeoutMs = 200_000) {
  const response = await fetch(`${FRONT}${path}`, {
    method,
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    body: isJson ? JSON.parse(bytes) : bytes,
  };
}

async function capture(key, request) {
  const start = Date.now();
  try {
    const { status, type, body } = await call('POST', '/capture', key, request);
    const isFile = Buffer.isBuffer(body);
    const { code, message } = (isFile ? null : body.error) ?? {};
    const { uuid, status: state, region, report } = (isFile ? null : body.data) ?? {};
    const head = isFile ? body.toString('hex', 0, 4) : undefined;
    return {
      at: start,
      ms: Date.now() - start,
      status,
      type,
      code,
      message,
      uuid,
      state,
      region,
      title: report?.title,
      head,
      size: isFile ? body.length : undefined,
    };
  } catch (error) {
    return {
      at: start,
      ms: Date.now() - start,
      status: 0,
      code: error.cause?.code ?? error.name,
      message: error.message,
    };
  }
}

const actions = {
  async key() {
    const account = await call('POST', '/admin/accounts', ADMIN_TOKEN, {
      name: 'cluster test',
      tokenQuota: 1_000_000,
      ratePerMinute: 100_000,
      burst: 100_000,
      maxInFlight: 1000,
      maxQueued: 10_000,
    });
    if (account.status >= 300) throw new Error(JSON.stringify(account.body));
    const key = await call('POST', '/admin/keys', ADMIN_TOKEN, {
      accountId: account.body.data.id,
      name: 'cluster test',
    });
    say({ key: key.body.data.key });
  },
  async capture(key, request) {
    say(await capture(key, JSON.parse(request)));
  },
  async load(key, seconds, width, request) {
    const end = Date.now() + Number(seconds) * 1000;
    let n = 0;
    const one = async () => {
      while (Date.now() < end) say(await capture(key, JSON.parse(request.replaceAll('@', String(n++)))));
    };
    await Promise.all(Array.from({ length: Number(width) }, one));
  },
  async queue(key, seconds, request, ...regions) {
    // The capture in progress is printed, too, because it is charged if it is accepted.
    let isOver = false;
    process.once('SIGTERM', () => (isOver = true));
    const end = Date.now() + Number(seconds) * 1000;
    for (let n = 0; Date.now() < end && !isOver; n++) {
      const region = regions[n % regions.length];
      say({ ...(await capture(key, { ...JSON.parse(request), background: true, region })), region });
      await sleep(500);
    }
  },
  async usage(key) {
    say((await call('GET', '/usage', key)).body.data);
  },
  async retired() {
    say((await call('GET', '/admin/overview', ADMIN_TOKEN)).body.data.retired);
  },
  async status(seconds) {
    const end = Date.now() + Number(seconds) * 1000;
    let last = '';
    while (Date.now() < end) {
      try {
        const { status, body } = await call('GET', '/status', undefined, undefined, 4000);
        const shown = {
          status,
          overall: body.status,
          components: Object.fromEntries(body.components.map((it) => [it.name, it.status])),
        };
        const text = JSON.stringify(shown);
        if (text !== last)
          say({
            at: Date.now(),
            ...shown,
            messages: Object.fromEntries(body.components.map((it) => [it.name, it.message])),
          });
        last = text;
      } catch (error) {
        say({ at: Date.now(), unreachable: error.cause?.code ?? error.message });
      }
      await sleep(200);
    }
  },
  async state(key, ...uuids) {
    for (const uuid of uuids) {
      const { status, body } = await call('GET', `/captures/${uuid}`, key);
      say({ uuid, status, state: body.data?.status, error: body.data?.error });
    }
  },
  async list(key) {
    let cursor = '';
    do {
      const { status, body } = await call('GET', `/captures?limit=100${cursor}`, key);
      if (status !== 200) throw new Error(JSON.stringify(body));
      for (const it of body.data.items) say({ uuid: it.uuid, status, state: it.status, error: it.error });
      cursor = body.data.nextCursor === null ? undefined : `&cursor=${encodeURIComponent(body.data.nextCursor)}`;
    } while (cursor !== undefined);
  },
};
// The test stops this process by its id: the process would continue without a reader.
writeFileSync(`/tmp/${action}.pid`, String(process.pid));
await actions[action](...args);
