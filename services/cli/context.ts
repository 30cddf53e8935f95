import type { Terminal } from './terminal.ts';

/** Parameters of every command. */
export interface Context {
  readonly terminal: Terminal;
  readonly env: NodeJS.ProcessEnv;
  /** Aborts on Ctrl-C or SIGTERM, with a CliError as its reason. */
  readonly signal: AbortSignal;
  /** Sets the exit code of a command that does not throw. */
  readonly setExit: (kind: 'success' | 'negative') => void;
}
