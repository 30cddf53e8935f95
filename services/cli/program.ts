import { Command, Help } from 'commander';
import { batchCommand } from './batch/command.ts';
import { captureCommand } from './capture/command.ts';
import { isSwitch } from './capture/flags.ts';
import { completionCommand } from './completion.ts';
import { addConnectionFlags, type ConnectionFlags, requireConnection } from './connection.ts';
import { diffCommand } from './diff.ts';
import { loginCommand } from './login.ts';
import type { Context } from './context.ts';
import { capturesCommand } from './manage/captures.ts';
import { keysCommand } from './manage/keys.ts';
import { sessionsCommand } from './manage/sessions.ts';
import { devicesCommand, statusCommand, usageCommand } from './manage/service.ts';
import packageJson from './package.json' with { type: 'json' };

const afterHelp = `
For the usage of a command: webcapture capture --help

Exit codes:
    0  success
    1  the check failed: pictures differ, captures of a batch failed, the service is not operational
    2  usage               3  request refused     4  API key             5  quota
    6  rate limit          7  capture failed      8  service unavailable
    9  not found          10  file or disk      130  interrupted (Ctrl-C)`;

/** Creates the program with all commands. Errors are thrown, not printed, and no command exits the process. */
export function createProgram(context: Context): Command {
  const program = new Command('webcapture')
    .description('Capture web pages with a webcapture service.')
    .version(packageJson.version, '--version', 'print the version')
    .addHelpText('after', afterHelp);
  const commands = [
    captureCommand(context),
    batchCommand(context),
    diffCommand(context),
    capturesCommand(context),
    sessionsCommand(context),
    keysCommand(context),
    usageCommand(context),
    statusCommand(context),
    devicesCommand(context),
    mcpCommand(context),
    loginCommand(context),
    completionCommand(context, program),
  ];
  for (const command of commands) program.addCommand(command);
  for (const command of [program, ...program.commands.flatMap(withChildren)]) {
    command.exitOverride();
    command.configureHelp(helpStyle);
    command.configureOutput({
      getOutHelpWidth: () => context.terminal.stdout.columns ?? pipedWidth,
      getErrHelpWidth: () => context.terminal.stdout.columns ?? pipedWidth,
      writeOut: (text) => context.terminal.stdout.write(text),
      writeErr: (text) => context.terminal.stderr.write(text),
      // main.ts prints errors.
      outputError: () => undefined,
    });
    command.helpOption('-h, --help', 'show this help');
  }
  return program;
}

function mcpCommand({ env, terminal, signal }: Context): Command {
  const command = new Command('mcp')
    .description('Serve the Model Context Protocol on stdin and stdout, for desktop clients that start a program.')
    .action(async (flags: ConnectionFlags) => {
      const connection = await requireConnection(env, flags);
      // The module is imported on demand, because the protocol's library takes more time to load than all other modules.
      const { runMcp } = await import('./mcp.ts');
      await runMcp({ ...connection, input: terminal.stdin, output: terminal.stdout, errors: terminal.stderr, signal });
    });
  return addConnectionFlags(command);
}

/** Width of the help in columns if stdout is not a terminal. */
const pipedWidth = 100;

/** Width of the column of flags and commands. Longer ones get a separate line. */
const termColumns = 30;

const helpStyle: Partial<Help> = {
  optionTerm: (option) => (isSwitch(option) ? option.flags.replace('--', '--[no-]') : new Help().optionTerm(option)),
  padWidth: () => termColumns,
  formatItem(term, termWidth, description, helper) {
    const indent = ' '.repeat(termWidth + 4);
    const width = Math.max(40, (helper.helpWidth ?? pipedWidth) - indent.length);
    const text = helper.boxWrap(description, width).replaceAll('\n', `\n${indent}`);
    const isLong = helper.displayWidth(term) > termWidth;
    return isLong ? `  ${term}\n${indent}${text}` : `  ${term.padEnd(termWidth)}  ${text}`;
  },
};

const withChildren = (command: Command): Command[] => [command, ...command.commands.flatMap(withChildren)];

const maxSuggestions = 3;

/**
 * Returns a sentence with the flags that an unknown flag may be short for: --width is short for --viewport-width. Returns an empty text if
 * there are none. The library commander itself suggests flags of similar spelling.
 *
 * @param message of commander's error
 */
export function suggestFlags(message: string, program: Command): string {
  const unknown = /^error: unknown option '--([\w-]+)[^']*'$/.exec(message)?.[1];
  if (unknown === undefined) return '';
  const flags = program.commands.flatMap(({ options }) => options.map(({ long }) => long ?? ''));
  const longer = [...new Set(flags)].filter((flag) => flag.endsWith(`-${unknown}`)).slice(0, maxSuggestions);
  return longer.length === 0 ? '' : ` (Did you mean ${longer.join(' or ')}?)`;
}
