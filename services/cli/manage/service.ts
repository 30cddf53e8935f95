import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceStatus } from '@webcapture/client';
import { Command } from 'commander';
import { addConnectionFlags, type ConnectionFlags, connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { errorLine, toCliError } from '../errors.ts';
import { json } from '../json.ts';
import { facts, table } from '../text.ts';
import { integer } from '../flag-values.ts';

export function usageCommand(context: Context): Command {
  const command = new Command('usage')
    .description('Show the tokens used in this month, the bytes stored, and the limits of the account.')
    .option('--json', 'print JSON')
    .action(async (flags: ConnectionFlags & { json?: boolean }) => {
      const { client } = await connect(context, flags);
      const usage = await client.getUsage(context);
      const rows = [
        ['tokens used', `${usage.tokensUsed} of ${usage.tokenQuota}`],
        ['tokens reserved', usage.tokensReserved],
        ['period', `${usage.periodStart} to ${usage.periodEnd}`],
        ['rate', `${usage.ratePerMinute} per minute`],
        ['in flight', usage.inFlight],
        ['queued', usage.queued],
        ['queued HTML', bytes(usage.queuedBytes, usage.maxQueuedBytes)],
        ['stored files', bytes(usage.storedBytes, usage.maxStoredBytes)],
        ['persisted files', bytes(usage.persistedBytes, usage.maxPersistedBytes)],
        ['in NATS', bytes(usage.embeddedBytes, usage.maxEmbeddedBytes)],
      ] as const;
      context.terminal.stdout.write(flags.json === true ? json(usage) : facts(rows));
    });
  return addConnectionFlags(command);
}

const bytes = (used: number, max: number | null) => (max === null ? `${used} bytes` : `${used} of ${max} bytes`);

export function devicesCommand(context: Context): Command {
  const command = new Command('devices')
    .description('List the devices that --device accepts, with their viewports and scales.')
    .option('--json', 'print JSON')
    .action(async (flags: ConnectionFlags & { json?: boolean }) => {
      const { client } = await connect(context, flags, { needsKey: false });
      const devices = await client.listDevices(context);
      const rows = devices.map(({ name, viewport, isMobile }) => [
        name,
        `${viewport.width} × ${viewport.height}`,
        viewport.deviceScaleFactor,
        isMobile ? 'mobile' : 'desktop',
      ]);
      const { stdout } = context.terminal;
      const header = ['DEVICE', 'VIEWPORT', 'SCALE', 'KIND'];
      stdout.write(flags.json === true ? json(devices) : table(header, rows, stdout.columns));
    });
  return addConnectionFlags(command);
}

interface StatusFlags extends ConnectionFlags {
  readonly watch?: boolean;
  readonly interval: number;
  readonly json?: boolean;
}

export function statusCommand(context: Context): Command {
  const command = new Command('status')
    .description('Show the status of the service and its components. Exit code 1: not operational.')
    .option('--watch', 'repeat until Ctrl-C')
    .option('--interval <seconds>', 'seconds between two requests', integer(1, 3600), 5)
    .option('--json', 'print JSON; with --watch, one line per request')
    .action((flags: StatusFlags) => (flags.watch === true ? watchStatus(context, flags) : showStatus(context, flags)));
  return addConnectionFlags(command);
}

async function showStatus(context: Context, flags: StatusFlags): Promise<void> {
  const { client } = await connect(context, flags, { needsKey: false });
  const status = await client.getStatus(context);
  context.terminal.stdout.write(flags.json === true ? json(status) : statusTable(context, status));
  if (status.status !== 'operational') context.setExit('negative');
}

/** Repeats the status: on a terminal in place, otherwise line by line. Continues if the service does not answer. */
async function watchStatus(context: Context, { interval, ...flags }: StatusFlags): Promise<void> {
  const { terminal, signal } = context;
  const { client } = await connect(context, flags, { needsKey: false, maxRetries: 0 });
  for (;;) {
    const clear = terminal.stdout.isTTY === true && flags.json !== true ? '\u001b[H\u001b[2J' : '';
    try {
      const status = await client.getStatus({ signal });
      const text = flags.json === true ? json(status, { indent: 0 }) : statusTable(context, status);
      terminal.stdout.write(`${clear}${text}`);
    } catch (error) {
      signal.throwIfAborted();
      terminal.stderr.write(`${clear}${errorLine(toCliError(error))}`);
    }
    await sleep(1000 * interval, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

function statusTable({ terminal }: Context, { status, components = [], lastCheckedAt }: ServiceStatus): string {
  const rows = components.map(({ name, status: each, responseTimeMs, message }) => [
    name,
    words(each),
    responseTimeMs === undefined ? '' : `${responseTimeMs} ms`,
    message,
  ]);
  const head = `The service is ${words(status)} (${lastCheckedAt}).\n`;
  return `${head}\n${table(['COMPONENT', 'STATUS', 'RESPONSE', 'MESSAGE'], rows, terminal.stdout.columns)}`;
}

const stateWords: Readonly<Record<ServiceStatus['status'], string>> = {
  operational: 'operational',
  degraded_performance: 'degraded',
  partial_outage: 'in a partial outage',
  major_outage: 'in a major outage',
};

const words = (status: ServiceStatus['status']) => stateWords[status];
