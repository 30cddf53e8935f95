// Compares files and records by hand: `node services/controller/reconcile/main.ts --help`.
import { openStore } from '@webcapture/shared/files/open-store.ts';
import { isNotProvisioned } from '@webcapture/shared/nats/api-errors.ts';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { inboxPrefixOf, setNamePrefix, streamNames } from '@webcapture/shared/nats/streams.ts';
import { ConfigError, type Environment } from '@webcapture/shared/runtime/env.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { createLogger, redactUrls } from '@webcapture/shared/runtime/logger.ts';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import { configExitCode } from '@webcapture/shared/runtime/run-service.ts';
import { type ControllerConfig, readControllerConfig } from '../config.ts';
import { exitCodes, parseOptions, Report, runCommand, usage } from './command.ts';

const connectMs = 10_000;

/** Silent, because stdout contains only the report. */
const log = createLogger({ service: 'reconcile', pod: 'reconcile', level: 'silent' });

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
// The reader of the report has closed the pipe: `npm run reconcile | head`.
process.stdout.once('error', () => stopping.abort()).on('error', () => undefined);

process.exitCode = await main(process.argv.slice(2), process.env);

async function main(args: readonly string[], env: Environment): Promise<number> {
  let options;
  try {
    options = parseOptions(args);
  } catch (error) {
    return fail(`${messageOf(error)}\n\n${usage}`, 2);
  }
  if (options.help) {
    process.stdout.write(usage);
    return exitCodes.fine;
  }
  try {
    const { nats, storage } = readControllerConfig(env);
    setNamePrefix(nats.prefix);
    await using connection = await connect(nats);
    const { session } = connection;
    // Fail early if this is the wrong NATS server; later errors would be less clear.
    await session.jsm.streams.info(streamNames.db);
    const report = new Report((line) => void process.stdout.write(`${line}\n`), options.json);
    await using files = await openFiles(storage, session, options.delete);
    const { store } = files;
    return await runCommand(options, { session, store, report, signal: stopping.signal });
  } catch (error) {
    return fail(messageOf(error), error instanceof ConfigError ? configExitCode : exitCodes.trouble);
  }
}

async function connect(nats: ControllerConfig['nats']) {
  const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(connectMs)]);
  // The NATS user of controllers may receive replies only under this prefix.
  const options = { ...nats, name: 'webcapture reconcile', inboxPrefix: inboxPrefixOf('controller'), log, signal };
  const session = await connectNats(options).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    throw new Error(`no NATS server answers at ${redactUrls(nats.url)}: set WEBCAPTURE_NATS_URL`);
  });
  return { session, [Symbol.asyncDispose]: () => session.nc.close() };
}

/** Opens the store of the services. Throws if it is unavailable. */
async function openFiles(storage: ControllerConfig['storage'], session: NatsSession, remove: boolean) {
  const needs = remove ? (['get', 'list', 'delete'] as const) : (['get', 'list'] as const);
  const opened = await openStore(storage, { session, log, metrics: createMetrics('reconcile'), needs });
  const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(connectMs)]);
  let waitsFor = 'waiting for the bucket';
  await opened.ready({ signal, onWait: (what) => (waitsFor = what) }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    throw new Error(`timed out ${waitsFor}`);
  });
  return { store: opened.store, [Symbol.asyncDispose]: () => Promise.resolve(opened.close()) };
}

/** Returns a message for operators; for a failed store, the message of the cause. */
function messageOf(error: unknown): string {
  if (isNotProvisioned(error)) return 'there are no streams of webcapture on this NATS server: is it the right one?';
  if (error instanceof ServiceError) return `the store failed: ${messageOf(error.cause)}`;
  return error instanceof Error ? error.message : String(error);
}

function fail(text: string, code: number): number {
  process.stderr.write(`reconcile: ${text.trimEnd()}\n`);
  return code;
}
