import type { Terminal } from './terminal.ts';

/** What every command is given. */
export interface Context {
  readonly terminal: Terminal;
  readonly env: NodeJS.ProcessEnv;
  /** Ends with Ctrl-C or SIGTERM, with a CliError as its reason. */
  readonly signal: AbortSignal;
  /** How the process is to end when the command throws nothing: 0, or what the command found. */
  readonly setExit: (kind: 'success' | 'negative') => void;
}
