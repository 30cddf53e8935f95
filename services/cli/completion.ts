import { Argument, Command, type Option } from 'commander';
import { captureOptions } from './capture/options.ts';
import type { Context } from './context.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

const help = `
  bash: webcapture completion bash > ~/.local/share/bash-completion/completions/webcapture
  zsh:  webcapture completion zsh > a file _webcapture in a folder of $fpath
  fish: webcapture completion fish > ~/.config/fish/completions/webcapture.fish`;

export function completionCommand({ terminal }: Context, program: Command): Command {
  return new Command('completion')
    .description('Print a script that completes commands and flags in a shell.')
    .addArgument(new Argument('<shell>').choices(shells))
    .addHelpText('after', help)
    .action((shell: Shell) => void terminal.stdout.write(scripts[shell](nodesOf(program))));
}

/** The completions after a command such as `captures list`. */
interface CompletionNode {
  /** Names of the command without the program; '' for the program itself. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly flags: readonly Flag[];
}

interface Flag {
  readonly long: string;
  readonly short: string | undefined;
  readonly description: string;
  readonly takesValue: boolean;
  /** Possible values; empty if any other value is allowed. */
  readonly values: readonly string[];
}

function nodesOf(command: Command, path: readonly string[] = []): CompletionNode[] {
  const commands = command.commands.filter((each) => each.name() !== 'help');
  const flags = command.options.filter(({ long }) => long !== undefined && long !== null).map(completionFlag);
  const helpFlag = { long: '--help', short: '-h', description: 'show this help', takesValue: false, values: [] };
  const node = {
    path: path.join(' '),
    commands: commands.map((each) => ({ name: each.name(), description: firstSentence(each.description()) })),
    flags: [...flags, helpFlag],
  };
  return [node, ...commands.flatMap((each) => nodesOf(each, [...path, each.name()]))];
}

function completionFlag(option: Option): Flag {
  const { long, short, argChoices, required, optional } = option;
  return {
    long: long ?? '',
    short: short ?? undefined,
    description: firstSentence(option.description),
    takesValue: required || optional,
    values: argChoices ?? enumOf(long ?? ''),
  };
}

function enumOf(flag: string): readonly string[] {
  const schema = captureOptions.find((each) => each.flag === flag)?.schema;
  return (schema?.enum ?? schema?.items?.enum ?? []).map(String);
}

/** Shells show one line. */
const firstSentence = (text: string) =>
  (text.split(/(?<=[.:;]) /, 1)[0] ?? '').replace(/[.:;]$/, '').replaceAll(/['"`$\\[\]]/g, '');

const scripts: Readonly<Record<Shell, (nodes: readonly CompletionNode[]) => string>> = { bash, zsh, fish };

function bash(nodes: readonly CompletionNode[]): string {
  const cases = nodes.map(({ path, commands, flags }) => {
    const words = [...commands.map(({ name }) => name), ...flags.flatMap(({ long, short }) => [long, short ?? ''])];
    return `    '${path}') words='${words.filter((word) => word !== '').join(' ')}' ;;`;
  });
  const values = new Map(nodes.flatMap(({ flags }) => flags).map((flag) => [flag.long, flag]));
  const valueCases = [...values.values()]
    .filter(({ takesValue }) => takesValue)
    .map(({ long, short, values: choices }) => {
      const pattern = short === undefined ? long : `${long}|${short}`;
      return choices.length === 0
        ? `    ${pattern}) COMPREPLY=($(compgen -f -- "$current")); return ;;`
        : `    ${pattern}) COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$current")); return ;;`;
    });
  const paths = nodes.map(({ path }) => `'${path}'`).join('|');
  return `# bash completion of webcapture: made by "webcapture completion bash".
_webcapture() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
    ${paths}) path="\${path:+$path }$word" ;;
    esac
  done
  case $previous in
${valueCases.join('\n')}
  esac
  case $path in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ $current == -* ]] || COMPREPLY+=($(compgen -f -- "$current"))
}
complete -o filenames -F _webcapture webcapture
`;
}

function zsh(nodes: readonly CompletionNode[]): string {
  const flagSpec = ({ long, short, description, takesValue, values }: Flag) => {
    const value = takesValue ? (values.length === 0 ? ':value:_files' : `:value:(${values.join(' ')})`) : '';
    const spec = (name: string) => `'*${name}[${description.replaceAll(':', ' ')}]${value}'`;
    return [spec(long), ...(short === undefined ? [] : [spec(short)])].join(' ');
  };
  const cases = nodes.map(({ path, commands, flags }) => {
    const described = commands.map(({ name, description }) => `'${name}:${description.replaceAll(':', ' ')}'`);
    const list =
      described.length === 0 ? `'*:file:_files'` : `'*:command:((${described.join(' ').replaceAll("'", '"')}))'`;
    return `  ('${path}') _arguments -S ${flags.map(flagSpec).join(' ')} ${list} ;;`;
  });
  const paths = nodes.map(({ path }) => `'${path}'`).join('|');
  return `#compdef webcapture
# zsh completion of webcapture: made by "webcapture completion zsh".
_webcapture() {
  local at='' word
  for word in "\${words[@]:1:$((CURRENT-2))}"; do
    case "\${at:+$at }$word" in
    (${paths}) at="\${at:+$at }$word" ;;
    esac
  done
  case $at in
${cases.join('\n')}
  esac
}
# As a file of $fpath, or as a script that is sourced.
if [ "$funcstack[1]" = _webcapture ]; then _webcapture "$@"; else compdef _webcapture webcapture; fi
`;
}

function fish(nodes: readonly CompletionNode[]): string {
  const lines = nodes.flatMap(({ path, commands, flags }) => {
    const condition = `-n '__webcapture_at "${path}"'`;
    const names = commands.map(
      ({ name, description }) => `complete -c webcapture ${condition} -f -a ${name} -d '${description}'`,
    );
    const options = flags.map(({ long, short, description, takesValue, values }) => {
      const value = takesValue ? (values.length === 0 ? ' -r' : ` -x -a '${values.join(' ')}'`) : '';
      const shortFlag = short === undefined ? '' : ` -s ${short.slice(1)}`;
      return `complete -c webcapture ${condition} -l ${long.slice(2)}${shortFlag}${value} -d '${description}'`;
    });
    return [...names, ...options];
  });
  const paths = nodes.map(({ path }) => `"${path}"`).join(' ');
  return `# fish completion of webcapture: made by "webcapture completion fish".
function __webcapture_at
  set -l path
  for word in (commandline -opc)[2..]
    contains -- "$path$word" ${paths}; and set path "$path$word "
  end
  set path (string trim -- "$path")
  test "$path" = "$argv[1]"
end
${lines.join('\n')}
`;
}
