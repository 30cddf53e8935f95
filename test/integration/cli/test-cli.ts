import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, inject } from 'vitest';
import type { UsageView } from '@webcapture/shared/api/account.ts';
import { freePort } from '../../harness/free-port.ts';
import { removeFolder } from '../../harness/temp-folder.ts';
import { adminToken, dataOf, openAccount, send } from '../front/accounts.ts';
import { startTestFront, type TestFront } from '../front/test-front.ts';
import { type CommandOptions, type CommandResult, runCommand, startCommand } from './command.ts';

/** A front with a stand-in renderer whose files can be fetched, and a working folder. */
export interface TestCli extends AsyncDisposable {
  readonly front: TestFront;
  readonly folder: string;
  /** The bundle for users, outside of the packages of the repository. */
  readonly program: NonNullable<CommandOptions['program']>;
  /** Opens a new account with its key, and reads its usage. */
  openAccount(limits?: object): Promise<CliAccount>;
}

export interface CliAccount {
  readonly key: string;
  run(args: readonly string[], options?: CommandOptions): Promise<CommandResult>;
  start(args: readonly string[], options?: CommandOptions): ReturnType<typeof startCommand>;
  usage(): Promise<UsageView>;
  suspend(): Promise<void>;
}

const root = new URL('../../..', import.meta.url);

const wide = { tokenQuota: 1e6, ratePerMinute: 1e6, burst: 1e6, maxInFlight: 1e5 };

/** Gives the tests of a file one command line. By default its stand-in renderer completes every job. */
export function useCli(): () => TestCli {
  let cli: TestCli;
  beforeAll(async () => {
    cli = await startTestCli();
  });
  afterAll(() => cli[Symbol.asyncDispose]());
  beforeEach(() => {
    cli.front.renderer.behavior = (job, renderer) => renderer.complete(job);
  });
  return () => cli;
}

async function startTestCli(): Promise<TestCli> {
  const port = await freePort();
  const front = await startTestFront({
    PORT: String(port),
    WEBCAPTURE_ADMIN_TOKEN: adminToken,
    WEBCAPTURE_CDN_URL: `http://127.0.0.1:${port}/files`,
  });
  const folder = await mkdtemp(join(inject('tempFolder'), 'cli-'));
  await promisify(execFile)(process.execPath, ['services/cli/build.ts', folder], { cwd: root });
  const program = [process.execPath, join(folder, 'webcapture.mjs')] as const;
  return {
    front,
    folder,
    program,
    async openAccount(limits = {}) {
      const { account, first } = await openAccount(front.url, { ...wide, ...limits });
      const withEnv = ({ env, ...options }: CommandOptions = {}): CommandOptions => ({
        cwd: folder,
        program,
        ...options,
        env: { WEBCAPTURE_URL: front.url, WEBCAPTURE_API_KEY: first.key, ...env },
      });
      return {
        key: first.key,
        run: (args, options) => runCommand(args, withEnv(options)),
        start: (args, options) => startCommand(args, withEnv(options)),
        usage: async () => dataOf<UsageView>(await send(`${front.url}/usage`, first.key)),
        async suspend() {
          const options = { method: 'PATCH', body: { suspended: true } };
          dataOf(await send(`${front.url}/admin/accounts/${account.id}`, adminToken, options));
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await front[Symbol.asyncDispose]();
      await removeFolder(folder);
    },
  };
}
