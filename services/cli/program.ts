import { Command } from 'commander';
import { batchCommand } from './batch/command.ts';
import { captureCommand } from './capture/command.ts';
import { completionCommand } from './completion.ts';
import { diffCommand } from './diff.ts';
import { loginCommand } from './login.ts';
import type { Context } from './context.ts';
import { capturesCommand } from './manage/captures.ts';
import { keysCommand } from './manage/keys.ts';
import { statusCommand, usageCommand } from './manage/service.ts';
import packageJson from './package.json' with { type: 'json' };

const afterHelp = `
Every command explains itself: webcapture capture --help
Exit codes: 0 success, 1 the result is a no (pictures differ, captures of a batch failed), 2 usage, 3 request refused, 4 API key,
5 quota, 6 rate limit, 7 capture failed, 8 service unavailable, 9 not found, 10 file or disk, 130 interrupted.`;

/** All commands. Errors are thrown, not printed, and nothing ends the process. */
export function createProgram(context: Context): Command {
  const program = new Command('webcapture')
    .description('Captures web pages with a webcapture service.')
    .version(packageJson.version, '--version', 'print the version')
    .addHelpText('after', afterHelp);
  const commands = [
    captureCommand(context),
    batchCommand(context),
    diffCommand(context),
    capturesCommand(context),
    keysCommand(context),
    usageCommand(context),
    statusCommand(context),
    loginCommand(context),
    completionCommand(context, program),
  ];
  for (const command of commands) program.addCommand(command);
  for (const command of [program, ...program.commands.flatMap(withChildren)]) {
    command.exitOverride();
    command.configureOutput({
      writeOut: (text) => context.terminal.stdout.write(text),
      writeErr: (text) => context.terminal.stderr.write(text),
      // main.ts prints errors.
      outputError: () => undefined,
    });
    command.helpOption('-h, --help', 'show this help');
  }
  return program;
}

const withChildren = (command: Command): Command[] => [command, ...command.commands.flatMap(withChildren)];
