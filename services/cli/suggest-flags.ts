import type { Command } from 'commander';

const maxSuggestions = 3;

/**
 * Returns the flags that an unknown one may be short for, as a sentence: --width is short for --viewport-width. Empty if there are none. commander
 * itself suggests flags of similar spelling.
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
