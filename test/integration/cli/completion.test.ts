import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { devices } from '@webcapture/shared/api/devices.ts';
import { captureOptions, valuesOf } from '../../../services/cli/capture/options.ts';
import { runCommand } from './command.ts';

const run = promisify(execFile);
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(inject('tempFolder'), 'completion-'));
  await writeFile(join(folder, 'options.json'), '{}');
  await Promise.all(
    (['bash', 'zsh', 'fish'] as const).map(async (shell) => {
      const { stdout } = await runCommand(['completion', shell]);
      await writeFile(join(folder, shell), stdout);
    }),
  );
});

/** Completes the last of the words as a user would who presses Tab. */
type Complete = (words: readonly string[]) => Promise<string>;

const completeInBash: Complete = async (words) => {
  const script = `source ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _webcapture; printf '%s\\n' "\${COMPREPLY[@]}"`;
  // bash treats = as a separate word.
  const split = words.flatMap((word) => (word === '' ? [''] : word.split(/(=)/).filter((part) => part !== '')));
  return (await run('bash', ['-c', script, 'bash', ...split], { cwd: folder })).stdout;
};

const completeInFish: Complete = async (words) => {
  const script = 'source ./fish; complete -C $argv[1]';
  const { stdout } = await run('fish', ['--no-config', '-c', script, words.join(' ')], { cwd: folder });
  return stdout.replaceAll(/\t.*$/gm, '');
};

/** Types the words in an interactive zsh, in which `compadd` prints the matches. */
const zshScript = String.raw`
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PROMPT=; autoload -Uz compinit && compinit -u -D; source ./zsh'
zpty -w z 'compadd() { [[ $1 = -O || $* = *" -O "* || $* = *" -A "* || $* = *" -D "* ]] && { builtin compadd "$@"; return }
  typeset -a hits; builtin compadd -A hits "$@"; (( $#hits )) && print -rl -- "HIT "$^hits; builtin compadd "$@" }'
zpty -w z 'zle -C complete-word complete-word press-tab; press-tab() { print; _main_complete; print "TH""E END"; exit }'
zpty -w z 'bindkey "^I" complete-word; print "REA""DY"'
zpty -r z out '*READY*'
zpty -w -n z "$1"$'\t'
zpty -r z out '*THE END*'
print -r -- $out`;

const completeInZsh: Complete = async (words) => {
  const { stdout } = await run('zsh', ['-f', '-c', zshScript, 'zsh', words.join(' ')], { cwd: folder });
  const hits = [...stdout.matchAll(/^HIT (.*?)\r?$/gm)].map(([, hit = '']) => hit.replaceAll(/\\(.)/g, '$1'));
  return hits.join('\n');
};

const isInstalled = (shell: string) =>
  run(shell, ['--version']).then(
    () => true,
    () => false,
  );

const shells = [
  ['bash', completeInBash, true],
  ['fish', completeInFish, await isInstalled('fish')],
  ['zsh', completeInZsh, await isInstalled('zsh')],
] as const;

describe.each(shells)('%s completes', (_shell, complete, isThere) => {
  const page = 'https://example.com/';
  const capture = ['webcapture', 'capture', page];
  test.runIf(isThere).each<[what: string, words: string[], expected: string[]]>([
    ['commands', ['webcapture', 'capt'], ['capture', 'captures']],
    ['commands of commands', ['webcapture', 'captures', 're'], ['refresh']],
    ['flags', [...capture, '--viewport-w'], ['--viewport-width']],
    ['flags of an alias', ['webcapture', 'captures', 'show', '--ha'], ['--har']],
    ['values', [...capture, '--format', ''], ['png', 'jpeg', 'webp', 'pdf', 'none']],
    ['values after =', [...capture, '--format='], ['png', 'jpeg', 'webp', 'pdf', 'none']],
    ['a part of a value after =', [...capture, '--wait-until=netw'], ['networkidle']],
    ['values of a list', [...capture, '--extract', 'm'], ['markdown', 'metadata']],
    ['regions', [...capture, '--region', 'eu-'], ['eu-west', 'eu-central']],
    ['paper sizes', [...capture, '--pdf-paper', 'A4'], ['A4']],
    ['names with spaces', [...capture, '--device', 'iPhone\\ 15'], namesWith('iPhone 15')],
    ['names with parentheses', [...capture, '--device', 'iPad\\ \\(gen\\ 7'], namesWith('iPad (gen 7')],
    ['statuses of captures', ['webcapture', 'captures', 'list', '--status', 'f'], ['failed']],
    ['scopes', ['webcapture', 'keys', 'create', '--scopes', ''], ['capture', 'read', 'manage']],
    ['arguments', ['webcapture', 'completion', ''], ['bash', 'zsh', 'fish']],
    ['no files for a number', [...capture, '--viewport-width', ''], []],
    ['files of a flag', [...capture, '--options', 'opt'], ['options.json']],
    ['files of an argument', ['webcapture', 'batch', 'opt'], ['options.json']],
  ])('%s', async (_what, words, expected) => {
    const found = (await complete(words)).split('\n').map((line) => line.replace(/^--[\w-]+=(?=.)/, ''));
    expect([...new Set(found)].filter((each) => each !== '').toSorted()).toEqual(expected.toSorted());
  });
});

test('the values of every option with a fixed set are completed', async () => {
  const withValues = captureOptions.filter(({ schema }) => (schema.enum ?? schema.items?.enum) !== undefined);
  expect(withValues.length).toBeGreaterThanOrEqual(10);
  for (const { flag } of withValues) {
    expect((await completeInBash(['webcapture', 'capture', flag, ''])).trim().split('\n'), flag).toEqual(
      valuesOf(flag),
    );
  }
});

function namesWith(start: string): string[] {
  return [...devices.keys()].filter((name) => name.startsWith(start));
}
